//! Probes of `<sys/sdt.h>` with `<jumplabel/sdt.h>`, and headers that `dtrace -h` makes of tests/c/sdt.d. The notes must be the same, and checks must
//! follow the semaphores (tests/c/sdt.c, with the tracer of tests/c/usdt.h).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use jumplabel_testing::breadth;

use crate::compiler::{CLANG, Compiler, Language};
use crate::prefix::{file, files, prefix, printed, scratch, succeeds};

const LANGUAGES: [Language; 2] = [Language::C, Language::Cxx];

/// The compilers, languages and flags to test: all flags for the two main compilers, one for the others.
fn ways(all: &'static [&'static str]) -> impl Iterator<Item = (Compiler, Language, &'static str)> {
    let of = move |compilers: Vec<Compiler>, flags: &'static [&'static str]| {
        compilers.into_iter().flat_map(move |compiler| {
            LANGUAGES.into_iter().flat_map(move |language| flags.iter().map(move |&flags| (compiler, language, flags)))
        })
    };
    of(Compiler::ALL.to_vec(), all).chain(of(Compiler::others().collect(), &all[..1]))
}

/// A directory with sdt_probes.h, and the object file with the semaphores that `dtrace -G` makes. `None` if there is no dtrace.
fn directory(name: &str) -> Option<PathBuf> {
    if !breadth::has("dtrace") {
        println!("skipped: needs dtrace, of systemtap-sdt-dev");
        return None;
    }
    let directory = scratch(name);
    for (flag, output) in [("-h", "sdt_probes.h"), ("-G", "semaphores.o")] {
        let mut dtrace = Command::new("dtrace");
        succeeds(dtrace.current_dir(&directory).arg(flag).arg("-s").arg(file("tests/c/sdt.d")).arg("-o").arg(output));
    }
    Some(directory)
}

/// The flag with which <sys/sdt.h> is ours, from the headers in `include`.
fn ours(include: &Path) -> String {
    format!("-I {}", include.join("jumplabel/sdt").display())
}

/// Compiles a source of tests/c to an object file.
fn object(compiler: Compiler, language: Language, flags: &str, source: &str, directory: &Path) -> PathBuf {
    let object = directory.join(format!("{source}.o"));
    let mut command = compiler.command(language, flags);
    command.arg("-Wno-pedantic").arg("-I").arg(directory).arg("-c").arg(file("tests/c").join(source));
    succeeds(command.arg("-o").arg(&object));
    object
}

/// Provider, name and arguments of each note, sorted.
fn notes(file: &Path) -> Vec<String> {
    let text = printed(&succeeds(Command::new("readelf").arg("-nW").arg(file)));
    let mut notes: Vec<_> = text
        .split("stapsdt ")
        .skip(1)
        .map(|note| {
            let of = |what: &str| note.split(what).nth(1).unwrap().lines().next().unwrap().trim_end().to_string();
            format!("{}:{} {}", of("Provider: "), of("Name: "), of("Arguments: "))
        })
        .collect();
    notes.sort_unstable();
    notes
}

/// A note without the places of its arguments, which depend on the code around it, and so on the checks.
fn sizes(note: &str) -> String {
    note.replace(", ", ",").split(' ').map(|word| word.split('@').next().unwrap()).collect::<Vec<_>>().join(" ")
}

/// A program of sdt.c and sdt_other.c. The second of the flags is for sdt_other.c.
fn program(
    compiler: Compiler,
    language: Language,
    [flags, other]: [&str; 2],
    include: &Path,
    directory: &Path,
) -> PathBuf {
    let program = directory.join("program");
    let flags = format!("-DTRACED {flags} -I {}", directory.display());
    let other = format!("{other} -Wno-pedantic -I {}", directory.display());
    let second = directory.join("other.o");
    let mut command = compiler.command_with(include, language, &other);
    succeeds(command.arg("-c").arg(file("tests/c/sdt_other.c")).arg("-o").arg(&second));
    let library = prefix().join("lib");
    let mut command = compiler.command_with(include, language, &format!("{flags} {}", ours(include)));
    command.arg(file("tests/c/sdt.c")).args(["-x", "none"]).arg(&second).arg(directory.join("semaphores.o"));
    command.arg("-o").arg(&program).arg("-L").arg(&library).arg(format!("-Wl,-rpath,{}", library.display()));
    succeeds(command.args(["-ljumplabel", "-ldl"]));
    program
}

/// The notes are those of `<sys/sdt.h>`: the same probes, sizes and types, and the same places if the code around a probe is the same. Without sites,
/// in older languages, and with other compilers, the header is the system's.
#[test]
fn same_notes() {
    let Some(directory) = directory("sdt-notes") else { return };
    let include = prefix().join("include");
    let mut places = [0, 0];
    for (compiler, language, flags) in ways(&["-O2", "-O0", "-O2 -fPIC", "-O1 -fno-pie"]) {
        let what = format!("{compiler:?} {language:?} {flags}");
        let compiled = |more: &str| notes(&object(compiler, language, &format!("{flags} {more}"), "sdt.c", &directory));
        let (system, own) = (compiled(""), compiled(&ours(&include)));
        assert!(system.len() >= 22, "{what}: {system:?}");
        let of_sizes = |notes: &[String]| notes.iter().map(|note| sizes(note)).collect::<Vec<_>>();
        assert_eq!(of_sizes(&system), of_sizes(&own), "{what}");
        places[0] += system.iter().zip(&own).filter(|(one, other)| one == other).count();
        places[1] += system.len();
        // The sizes are the same if the header is included directly, before any <sys/sdt.h>. In the cases that follow, it includes the system's
        // header.
        assert_eq!(of_sizes(&compiled("-include jumplabel/sdt.h")), of_sizes(&own), "{what}");
        let old = if language == Language::C { "-std=gnu89" } else { "-std=c++11" };
        for more in ["-DJUMPLABEL_FALLBACK", old] {
            assert_eq!(compiled(&format!("{} {more}", ours(&include))), system, "{what} {more}");
        }
        let loading = compiled(&format!("{} -DJUMPLABEL_SDT_LOADS", ours(&include)));
        assert_eq!(of_sizes(&loading), of_sizes(&own), "{what}");
    }
    assert!(places[0] * 2 > places[1], "{places:?}");
}

/// In object files for other instruction sets, the notes are the same, except for `char`, which is unsigned there, and for the places.
#[test]
fn on_other_instruction_sets() {
    let Some(directory) = directory("sdt-others") else { return };
    let ours = ours(&prefix().join("include"));
    let of_sizes = |object: &Path| -> Vec<_> {
        notes(object).iter().map(|note| sizes(note)).filter(|note| !note.starts_with("sdt:small ")).collect()
    };
    let expected = of_sizes(&object(CLANG, Language::C, &format!("-O2 {ours}"), "sdt.c", &directory));
    assert!(expected.len() >= 21, "{expected:?}");
    for gnu in ["aarch64-linux-gnu", "riscv64-linux-gnu"] {
        // clang needs the headers, too.
        if !breadth::has_gcc(gnu) {
            continue;
        }
        for compiler in [format!("{gnu}-gcc"), format!("{} --target={gnu}", CLANG.c)] {
            for flags in ["-O0", "-O2", "-O2 -fPIC"] {
                let object = directory.join("object.o");
                let mut words = compiler.split(' ');
                let mut command = Command::new(words.next().unwrap());
                command.args(words).args(flags.split(' ')).args(["-std=c11", "-Wall", "-Wextra", "-Werror"]);
                command.args(ours.split(' ')).arg("-I").arg(&directory).arg("-c").arg(file("tests/c/sdt.c"));
                succeeds(command.arg("-o").arg(&object));
                assert_eq!(of_sizes(&object), expected, "{compiler} {flags}");
            }
        }
    }
}

/// Semaphores are raised as tracers do it. Then only the checks of that probe are on, in all files, and its arguments arrive.
#[test]
fn tracers() {
    let Some(directory) = directory("sdt-tracers") else { return };
    let include = prefix().join("include");
    let ours = ours(&include);
    let others = [format!("-O2 {ours}"), "-O2".into(), format!("-O2 {ours} -DJUMPLABEL_PRECISE_TABLE")];
    for (compiler, language, flags) in ways(&[
        "-O2",
        "-O0",
        "-O2 -fPIC",
        "-O2 -fno-pie -no-pie",
        "-O1 -flto",
        "-O2 -DJUMPLABEL_SHORT",
        "-O2 -DJUMPLABEL_SDT_WATCH",
    ]) {
        for other in if flags == "-O2" { &others[..] } else { &others[..1] } {
            let program = program(compiler, language, [flags, other], &include, &directory);
            let output = succeeds(&mut Command::new(&program));
            assert_eq!(printed(&output), "ok\n", "{compiler:?} {language:?} {flags}; {other}");
        }
    }
}

/// Probes and keys of a shared library belong to it, also with JUMPLABEL_LOCAL_KEYS.
#[test]
fn in_a_library() {
    let Some(directory) = directory("sdt-library") else { return };
    let include = prefix().join("include");
    let ours = ours(&include);
    let (library, main) = (directory.join("libsdt.so"), directory.join("main.c"));
    std::fs::write(&main, "int library_main(void);\nint main(void)\n{\n\treturn library_main();\n}\n").unwrap();
    for (compiler, language, more) in ways(&["-O2", "-O2 -DJUMPLABEL_LOCAL_KEYS"]) {
        let flags = format!("{more} -fPIC -shared -Dmain=library_main");
        let own = program(compiler, language, [&flags, &format!("{more} -fPIC {ours}")], &include, &directory);
        std::fs::rename(own, &library).unwrap();
        let name = main.to_str().unwrap();
        let program = compiler.build(language, "-O2", &[name], "-lsdt", &directory.join("main"));
        assert_eq!(printed(&succeeds(&mut Command::new(program))), "ok\n", "{compiler:?} {language:?} {more}");
    }
}

/// Tools find the probes in the file.
#[test]
fn tools_list_them() {
    let Some(directory) = directory("sdt-tools") else { return };
    let include = prefix().join("include");
    for compiler in Compiler::ALL {
        let program = program(compiler, Language::C, ["-O2", &format!("-O2 {}", ours(&include))], &include, &directory);
        let shown = notes(&program);
        assert!(shown.iter().any(|note| note.starts_with("sdt:packet__sent 8@") && note.contains(" -2@")), "{shown:?}");
        if !breadth::has("bpftrace") {
            println!("skipped: needs bpftrace");
            continue;
        }
        let listed =
            printed(&succeeds(Command::new("bpftrace").arg("-l").arg(format!("usdt:{}:sdt:*", program.display()))));
        let names: BTreeSet<_> = shown.iter().filter_map(|note| note.split(' ').next()).collect();
        assert_eq!(names.len(), 22, "{names:?}");
        for name in names {
            assert!(listed.lines().any(|line| line.ends_with(&format!(":{name}"))), "{name}: {listed}");
        }
    }
}

/// The instructions of the function `other_packet` of sdt_other.c.
fn checked(compiler: Compiler, language: Language, flags: &str, directory: &Path) -> String {
    let object = object(compiler, language, flags, "sdt_other.c", directory);
    let text = printed(&succeeds(Command::new("objdump").args(["-dr", "--no-show-raw-insn"]).arg(object)));
    text.split("<other_packet>:").nth(1).unwrap().split("\n\n").next().unwrap().to_string()
}

/// A check does not load the semaphore. A check of the system's header does, and one of ours does if this is requested.
#[test]
fn a_check_is_one_nop() {
    let Some(directory) = directory("sdt-nop") else { return };
    let ours = ours(&prefix().join("include"));
    for (compiler, language, flags) in ways(&["-O2", "-O2 -fPIC"]) {
        let with = |more: &str| checked(compiler, language, &format!("{flags} {more}"), &directory);
        let (own, what) = (with(&ours), format!("{compiler:?} {language:?} {flags}"));
        assert!(own.contains("nopl") && !own.contains("semaphore"), "{what}: {own}");
        for more in ["", &format!("{ours} -DJUMPLABEL_SDT_LOADS"), &format!("{ours} -DJUMPLABEL_FALLBACK")] {
            let other = with(more);
            assert!(other.contains("sdt_packet__sent_semaphore"), "{what} {more}: {other}");
        }
    }
}

/// The rule for `__builtin_expect`: only a plain name that ends in `_semaphore` is a check (tests/c/sdt_expectations.c).
#[test]
fn expectations() {
    let directory = scratch("sdt-expectations");
    let include = prefix().join("include");
    for (compiler, language, flags) in ways(&["-O2", "-O0"]) {
        let code = |more: &str| {
            let object = directory.join("object.o");
            let mut command = compiler.command_with(&include, language, &format!("{flags} {} {more}", ours(&include)));
            succeeds(command.arg("-c").arg(file("tests/c/sdt_expectations.c")).arg("-o").arg(&object));
            printed(&succeeds(Command::new("objdump").args(["-dr", "--no-addresses"]).arg(object)))
        };
        let (with, without) = (code(""), code("-DJUMPLABEL_SDT_LOADS"));
        assert!(without.contains("<f>:") || without.contains("<_Z1f"), "{without}");
        assert_eq!(with, without, "{compiler:?} {language:?} {flags}");
    }
}

/// The program above notices headers with errors.
#[test]
fn broken_twins() {
    let Some(directory) = directory("sdt-twins") else { return };
    let original = prefix().join("include");
    let twins = [
        // The errors: the key's record does not say that it follows a semaphore; the key follows another one; each file has its own key; a note has
        // no semaphore.
        ("2:.long 0,0,1,32,0;", "2:.long 0,0,1,0,0;"),
        ("semaphore \"-.,0\\n.size", "\"sdt_none_semaphore-.,0\\n.size"),
        ("\\n.weak \" key \"\\n.hidden \" key \"\\n.type", "\\n.type"),
        ("JUMPLABEL_SYMBOL_(\"_semaphore\"), #provider, #name, ", "\"0\", #provider, #name, "),
    ];
    for (from, to) in twins {
        let twin = directory.join("twin");
        for path in files(&original) {
            let text = std::fs::read_to_string(&path).unwrap();
            let relative = path.strip_prefix(&original).unwrap();
            let text = if relative == Path::new("jumplabel/sdt.h") {
                assert!(text.contains(from), "{from}");
                let text = text.replace(from, to);
                if from.contains("weak") {
                    text.replace(",\\\"awG\\\",\\\"progbits\\\",\" key \",comdat", ",\\\"aw\\\"")
                } else {
                    text
                }
            } else {
                text
            };
            let into = twin.join(relative);
            std::fs::create_dir_all(into.parent().unwrap()).unwrap();
            std::fs::write(into, text).unwrap();
        }
        let flags = ["-O2", &format!("-O2 {}", ours(&twin))];
        let program = program(CLANG, Language::C, flags, &twin, &directory);
        let output = Command::new("timeout").arg("20").arg(program).output().unwrap();
        assert!(!output.status.success(), "{to}");
    }
}
