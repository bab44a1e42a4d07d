//! PostgreSQL's probes: its own declarations (probes.d), the header and the semaphores that `dtrace` makes of them, and a file that uses every macro
//! as PostgreSQL does. The notes are the same as with `<sys/sdt.h>`, and each semaphore is a key.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use jumplabel_testing::breadth;

use crate::sources;
use crate::story::{installed, printed, scratch, succeeds};

/// The probes in declarations: their names in C, and the types of their arguments. The declarations define names for types, such as `Oid`.
fn probes(declarations: &str) -> Vec<(String, Vec<String>)> {
    let defined = |of: &str| {
        let of_this =
            |line: &str| Some(line.strip_prefix("#define ")?.strip_prefix(of)?.strip_prefix(' ')?.trim().to_owned());
        declarations.lines().find_map(of_this).unwrap_or(of.to_owned())
    };
    let of = |text: &str| {
        let (name, arguments) = text.split_once('(').unwrap();
        let arguments = arguments.split_once(')').unwrap().0.split(',').map(|one| defined(one.trim()));
        (name.trim().replace("__", "_").to_uppercase(), arguments.filter(|one| !one.is_empty()).collect())
    };
    declarations.lines().filter_map(|line| line.trim().strip_prefix("probe ")).map(of).collect()
}

/// A program that fires each probe in the two ways that PostgreSQL has: behind a check, and without one. It prints its number of keys.
fn program(declarations: &str) -> String {
    let mut text =
        "#include <stdio.h>\n#include \"probes.h\"\n#ifdef KEYS\n#include <jumplabel.h>\n#endif\n".to_owned();
    // PostgreSQL has this macro, and <jumplabel/sdt.h> has one of the same name as the function in it.
    text += "#define likely(x) __builtin_expect((x) != 0, 1)\n";
    text += "void fire(long n);\nvoid fire(long n)\n{\n";
    for (name, types) in probes(declarations) {
        let values: Vec<_> = types.iter().map(|of| format!("({of})n")).collect();
        let fired = format!("POSTGRESQL_{name}({})", values.join(", "));
        writeln!(text, "\tif (POSTGRESQL_{name}_ENABLED())\n\t\t{fired};\n\tif (likely(n))\n\t\t{fired};").unwrap();
    }
    text + "}\nint main(int argc, char **argv)\n{\n\t(void)argv;\n\tfire(argc);\n#ifdef KEYS\n\
            \tprintf(\"%ld keys\\n\", jumplabel_for_each_key(0, 0));\n#endif\n\treturn 0;\n}\n"
}

/// The notes of a file: provider and name, and the size and sign of each argument.
fn notes(file: &Path) -> Vec<String> {
    let text = printed(&succeeds(Command::new("readelf").arg("-nW").arg(file)));
    let of = |note: &str| {
        let field = |name: &str| note.split(name).nth(1).unwrap().lines().next().unwrap().trim().to_owned();
        let sizes: Vec<_> =
            field("Arguments:").split('@').map(|part| part.rsplit(' ').next().unwrap().to_owned()).collect();
        // What follows the last @ is a place.
        format!("{}:{} {}", field("Provider:"), field("Name:"), sizes[..sizes.len() - 1].join(" "))
    };
    let mut notes: Vec<_> = text.split("stapsdt ").skip(1).map(of).collect();
    notes.sort_unstable();
    notes
}

#[test]
#[ignore = "downloads PostgreSQL's sources: make programs"]
fn probes_of_postgresql() {
    let folder = scratch("postgresql");
    let declared = sources::unpacked("postgresql-15").join("src/backend/utils/probes.d");
    let declarations = fs::read_to_string(&declared).unwrap();
    let count = probes(&declarations).len();
    assert!(count > 50, "{count}");
    for (flag, made) in [("-h", "probes.h"), ("-G", "semaphores.o")] {
        let mut dtrace = Command::new("dtrace");
        succeeds(dtrace.current_dir(&folder).args(["-C", flag, "-s"]).arg(&declared).args(["-o", made]));
    }
    let source = folder.join("probes.c");
    fs::write(&source, program(&declarations)).unwrap();
    let (include, lib) = (installed().join("include"), installed().join("lib"));
    for compiler in ["gcc", "clang-16", "clang-19"].into_iter().filter(|name| breadth::has(name)) {
        let built = |name: &str, flags: &[&str]| {
            let program = folder.join(name);
            let mut command = Command::new(compiler);
            command.args(["-std=gnu11", "-O2", "-Wall", "-Werror"]).args(flags).arg("-I").arg(&folder).arg(&source);
            command.arg(folder.join("semaphores.o")).arg("-o").arg(&program).arg("-L").arg(&lib);
            succeeds(command.arg(format!("-Wl,-rpath,{}", lib.display())).arg("-ljumplabel"));
            program
        };
        let system = built("system", &[]);
        let ours = [format!("-I{}", include.join("jumplabel/sdt").display()), format!("-I{}", include.display())];
        let own = built("own", &[&ours[0], &ours[1], "-DKEYS"]);
        let (expected, found) = (notes(&system), notes(&own));
        assert_eq!(expected.len(), 2 * count, "{compiler}: each macro is used twice");
        assert!(expected.contains(&"postgresql:transaction__start 4".to_owned()), "{expected:?}");
        assert_eq!(found, expected, "{compiler}");
        assert_eq!(printed(&succeeds(&mut Command::new(own))), format!("{count} keys\n"), "{compiler}");
        println!("{compiler}: {count} probes of PostgreSQL are {count} keys and {} notes", found.len());
    }
}

#[test]
fn declarations_of_probes() {
    let text = "#define Oid unsigned int\nprovider postgresql {\n\tprobe lock__wait(Oid, const char *);\n\n\tprobe done();\n};\n";
    let of = |name: &str, types: &[&str]| (name.to_owned(), types.iter().map(|&of| of.to_owned()).collect());
    assert_eq!(probes(text), [of("LOCK_WAIT", &["unsigned int", "const char *"]), of("DONE", &[])]);
    let program = program(text);
    assert!(program.contains("POSTGRESQL_LOCK_WAIT((unsigned int)n, (const char *)n);"), "{program}");
}
