//! `jumplabel-optional.h`: one header in another project, with the library and without it.

use std::path::{Path, PathBuf};
use std::process::Command;

use jumplabel_testing::breadth;

use crate::prefix::{file, prefix, printed, scratch, succeeds};

/// A directory that contains only the header.
pub fn vendored(name: &str) -> PathBuf {
    let directory = scratch(name);
    std::fs::copy(file("include/jumplabel-optional.h"), directory.join("jumplabel-optional.h")).unwrap();
    directory
}

/// A compiler's command, with all warnings as errors. `flags` are separated by blanks.
pub fn compiler(name: &str, flags: &str) -> Command {
    let mut command = Command::new(name);
    command.args(["-Wall", "-Wextra", "-Wshadow", "-pedantic", "-Werror", "-pthread"]);
    command.args(flags.split_whitespace());
    command
}

/// Modes of compilers without the library, as such projects use them.
const WITHOUT: [(&str, &str); 12] = [
    ("gcc", "-std=c99 -O2"),
    ("g++", "-x c++ -std=c++11 -O2"),
    ("clang-16", "-std=gnu89 -O2 -Wno-c99-extensions"),
    ("gcc", "-std=c99 -O2 -ffunction-sections -fdata-sections -Wl,--gc-sections"),
    ("gcc", "-std=gnu89 -O0"),
    ("gcc", "-std=gnu11 -O2 -flto"),
    ("gcc", "-std=c11 -O2 -static"),
    ("g++", "-x c++ -std=gnu++14 -Os"),
    ("g++", "-x c++ -std=c++20 -O2 -fPIC -pie"),
    ("clang-16", "-std=c99 -O2"),
    ("clang++-16", "-x c++ -std=c++11 -O1"),
    ("clang-16", "-std=c11 -O2 -ffunction-sections -fdata-sections -Wl,--gc-sections -fuse-ld=lld-16"),
];

/// Modes of compilers with the library, in languages that its headers support.
const WITH: [(&str, &str); 4] = [
    ("gcc", "-std=c11 -O2"),
    ("g++", "-x c++ -std=c++17 -O2"),
    ("clang-16", "-std=gnu11 -O2"),
    ("gcc", "-std=c11 -O2 -ffunction-sections -fdata-sections -Wl,--gc-sections"),
];

/// Builds a program of tests/c in `directory`, with one call of the compiler.
pub fn build(directory: &Path, compiler: &mut Command, files: &[&str], with: bool) -> PathBuf {
    let program = directory.join("program");
    compiler.arg("-I").arg(directory).args(files.iter().map(|name| file("tests/c").join(name)));
    compiler.arg("-o").arg(&program);
    if with {
        linked(compiler);
    }
    succeeds(compiler);
    program
}

/// Adds the installed headers and libraries.
pub fn linked(compiler: &mut Command) {
    let lib = prefix().join("lib");
    compiler.arg("-I").arg(prefix().join("include")).arg("-L").arg(&lib);
    compiler.args(["-ljumplabel-agent", "-ljumplabel"]).arg(format!("-Wl,-rpath,{}", lib.display()));
}

pub fn says(program: &Path, words: &str) {
    assert_eq!(printed(&succeeds(&mut Command::new(program))), words, "{}", program.display());
}

/// The same program, with the library and without it. `__has_include` decides.
#[test]
fn the_same_with_and_without() {
    let directory = vendored("optional");
    for files in [&["optional.c", "optional_other.c"][..], &["optional_threads.c"]] {
        for (name, flags) in breadth::some_of(4, &WITHOUT) {
            says(&build(&directory, &mut compiler(name, flags), files, false), "ok 0\n");
        }
        for (name, flags) in breadth::some_of(2, &WITH) {
            says(&build(&directory, &mut compiler(name, flags), files, true), "ok 1\n");
        }
        // The installed headers are found, but the language is too old for them, or the project does not want them.
        for (name, flags) in
            [("gcc", "-std=c99"), ("g++", "-x c++ -std=c++11"), ("gcc", "-std=c11 -DJUMPLABEL_OPTIONAL_USE=0")]
        {
            says(&build(&directory, &mut compiler(name, flags), files, true), "ok 0\n");
        }
    }
}

/// The start variable has the same effects with the library and without it.
#[test]
fn start_variable() {
    let directory = vendored("optional-variable");
    for with in [false, true] {
        let program =
            build(&directory, &mut compiler("gcc", "-std=c11 -O2"), &["optional.c", "optional_other.c"], with);
        let run = |variable: &str| {
            let mut command = Command::new(&program);
            printed(&succeeds(command.arg("list").env("JUMPLABEL", variable)))
        };
        let value = |text: &str, key: &str| text.lines().find_map(|line| line.strip_prefix(key).map(str::to_owned));
        let set = |variable: &str, key: &str| value(&run(variable), &format!("{key} "));
        let on = Some("on".to_owned());
        let off = Some("off".to_owned());
        assert_eq!(set("", "net.off"), off);
        assert_eq!(set("net.*=on", "net.off"), on);
        assert_eq!(set(" net.?ff+1 ,on=off", "on"), off);
        assert_eq!(set("hooks[1]=on", "hooks[1]"), on);
        assert_eq!(set("hooks[1]=on", "hooks[2]"), off);
        assert_eq!(set("file:optional_other.c=off", "other.elsewhere"), off);
        assert_eq!(set("file:c/optional.c:1-9=on", "net.off"), off);
        assert_eq!(set("file:*/optional.c:1-99+1", "net.off"), on);
        for (wrong, said) in [
            ("nobody=on", "jumplabel: `nobody=on`: nothing matches; JUMPLABEL=help lists what there is\n"),
            ("on=", "value is missing"),
            ("file:x.c:9-1=on", "the last line is in front of the first"),
            ("file:x.c:9-x=on", "FIRST-LAST"),
            ("on=5", "jumplabel: `on=5`: "),
            ("on-1,on-1", "jumplabel: `on-1`: "),
            ("@/nowhere/keys", "jumplabel: /nowhere/keys: No such file"),
        ] {
            let text = run(wrong);
            assert!(text.contains(said), "{with} {wrong}: {text}");
        }
        // One refused key of an item leaves all as they were.
        assert_eq!(set("on+1,*=off", "net.filters[0]"), on);
        let keys = directory.join("keys.conf");
        std::fs::write(&keys, "# a comment=on\n\n  net.off=on\nnobody=on").unwrap();
        let text = run(&format!("@{}", keys.display()));
        assert!(text.contains("net.off on\n") && text.contains("keys.conf:4: `nobody=on`: "), "{text}");
        let help = run("help");
        assert!(help.contains("KEY ") && help.contains("net.filters[1]") && help.contains("optional.c:"), "{help}");
        assert!(!help.contains("net.off off\n"), "main ran: {help}");
    }
}

/// The source of the program in docs/c.md that contains these words.
fn source_with(words: &str, directory: &Path) -> PathBuf {
    let document = std::fs::read_to_string(file("../../docs/c.md")).unwrap();
    let mut programs = document.split("```c\n").filter_map(|rest| rest.split_once("```"));
    let (program, _) = programs.find(|(program, _)| program.contains(words)).unwrap();
    let source = directory.join("program.c");
    std::fs::write(&source, program).unwrap();
    source
}

/// The first program in docs/c.md.
#[test]
fn the_document() {
    let directory = vendored("optional-document");
    let source = source_with("net.trace", &directory);
    for with in [false, true] {
        let program = build(&directory, &mut compiler("gcc", "-std=gnu11"), &[source.to_str().unwrap()], with);
        says(&program, "work(2)\n");
        let mut command = Command::new(&program);
        assert_eq!(printed(&succeeds(command.env("JUMPLABEL", "net.*=on"))), "work(1)\nwork(2)\n");
    }
}

/// The program in docs/c.md with a function that is called after changes.
#[test]
fn hears() {
    let directory = vendored("optional-hears");
    let source = source_with("jumplabel_on_change", &directory);
    for with in [false, true] {
        let program = build(&directory, &mut compiler("gcc", "-std=gnu11"), &[source.to_str().unwrap()], with);
        says(&program, "appendonly yes\n");
    }
}

/// Objects that must not be linked together: the linker names the reason. Each file has its own flags.
fn refused(name: &str, files: &[(&str, &str)], flags: &str, words: &[&str]) {
    let directory = vendored(name);
    let mut link = compiler("gcc", flags);
    for (at, (source, flags)) in files.iter().enumerate() {
        let object = directory.join(format!("{at}.o"));
        let mut compile = compiler("gcc", "-std=c11 -O2 -ffunction-sections -fdata-sections -c");
        compile.args(flags.split_whitespace()).arg("-I").arg(&directory).arg("-I").arg(prefix().join("include"));
        succeeds(compile.arg(file("tests/c").join(source)).arg("-o").arg(&object));
        link.arg(object);
    }
    link.arg("-o").arg(directory.join("program"));
    linked(&mut link);
    let output = link.output().unwrap();
    let said = printed(&output);
    assert_eq!(output.status.success(), words.is_empty(), "{files:?}: {said}");
    assert!(words.iter().all(|word| said.contains(word)), "{said}");
}

/// The library in one of two files only; two versions; no file, or two files, with the implementation.
#[test]
fn mixed() {
    const MISSING: &str = "JUMPLABEL_OPTIONAL_IMPLEMENTATION_is_missing_for_version_1_with";
    let with = "-DJUMPLABEL_OPTIONAL_USE=1";
    let without = "-DJUMPLABEL_OPTIONAL_USE=0";
    let (main, other) = ("optional.c", "optional_other.c");
    let implements = "-DJUMPLABEL_OPTIONAL_USE=0 -DJUMPLABEL_OPTIONAL_IMPLEMENTATION";
    refused("optional-a", &[(main, with), (other, with)], "", &[]);
    refused("optional-b", &[(main, without), (other, without)], "-Wl,--gc-sections", &[]);
    refused("optional-c", &[(main, with), (other, without)], "", &[&format!("{MISSING}out_the_library")]);
    refused("optional-d", &[(main, without), (other, with)], "", &[&format!("{MISSING}_the_library")]);
    refused("optional-e", &[(main, without), (other, with)], "-Wl,--gc-sections", &[&format!("{MISSING}_the_library")]);
    let both = ["JUMPLABEL_OPTIONAL_IMPLEMENTATION_is_in_two_files"];
    refused("optional-f", &[(main, without), (other, implements)], "", &both);
    // Another version of the header, which another part of the program has copied.
    let newer = scratch("optional-newer").join("newer.h");
    let text = std::fs::read_to_string(file("include/jumplabel-optional.h")).unwrap();
    std::fs::write(&newer, text.replace("for_version_1", "for_version_2")).unwrap();
    let include = format!("{without} -include {}", newer.display());
    let words = ["JUMPLABEL_OPTIONAL_IMPLEMENTATION_is_missing_for_version_2_without_the_library"];
    refused("optional-g", &[(main, without), (other, &include)], "", &words);
}

/// Wrong arguments do not compile: keys without `&`, and other types.
#[test]
fn wrong_types() {
    let directory = vendored("optional-types");
    let source = directory.join("wrong.c");
    for (body, compiles) in [
        ("static_branch_unlikely(&key)", true),
        ("static_branch_unlikely(key)", false),
        ("static_branch_unlikely(&number)", false),
        ("static_branch_likely(&key.key)", false),
        ("static_branch_inc(&number)", false),
    ] {
        let text = format!(
            "#include \"jumplabel-optional.h\"\nint number;\nDEFINE_STATIC_KEY_FALSE(key);\nint check(void)\n{{\n\treturn {body};\n}}\n"
        );
        std::fs::write(&source, text).unwrap();
        for (name, flags) in [("gcc", "-std=c99"), ("g++", "-x c++ -std=c++11")] {
            let mut command = compiler(name, flags);
            let output = command.arg("-fsyntax-only").arg("-I").arg(&directory).arg(&source).output().unwrap();
            assert_eq!(output.status.success(), compiles, "{name} {body}: {}", printed(&output));
        }
    }
}

/// The branches for MSVC, as far as clang can compile them: MSVC's C library is not available here.
#[test]
fn msvc() {
    let directory = vendored("optional-msvc");
    for header in ["errno.h", "intrin.h", "process.h", "stdio.h", "stdlib.h", "string.h"] {
        std::fs::copy(file("tests/c/msvc.h"), directory.join(header)).unwrap();
    }
    for language in ["-x c", "-x c++ -std=c++14"] {
        let mut clang = Command::new("clang-16");
        clang.args([
            "--target=x86_64-pc-windows-msvc",
            "-fms-compatibility-version=19.20",
            "-nostdlibinc",
            "-Wall",
            "-Werror",
        ]);
        clang.args(["-Wno-builtin-requires-header", "-Wno-incompatible-library-redeclaration", "-c"]);
        clang.args(language.split(' ')).arg("-isystem").arg(&directory).arg("-I").arg(&directory);
        succeeds(clang.arg(file("tests/c/optional.c")).arg("-o").arg(directory.join("optional.obj")));
        let object = std::fs::read(directory.join("optional.obj")).unwrap();
        for found in [".CRT$XCT", ".CRT$XCU", "/FAILIFMISMATCH:\"jumplabel-optional.h=version 1 without the library\""]
        {
            assert!(object.windows(found.len()).any(|bytes| bytes == found.as_bytes()), "{language}: {found}");
        }
    }
}

/// Programs for Windows, built by mingw and run by Wine, if both are installed.
#[test]
fn windows() {
    let directory = vendored("optional-windows");
    for (name, flags) in
        [("x86_64-w64-mingw32-gcc", "-std=c99 -O2"), ("x86_64-w64-mingw32-g++", "-x c++ -std=c++11 -O2")]
    {
        let Some(wine) = wine().filter(|_| breadth::has(name)) else { return };
        let mut command = compiler(name, flags);
        let program = build(&directory, command.arg("-static"), &["optional.c", "optional_other.c"], false);
        let run = |variable: &str, words: &[&str]| {
            let mut command = Command::new(wine);
            command.arg(program.with_extension("exe")).args(words).env("WINEPREFIX", directory.join("wine"));
            command.env("WINEDLLOVERRIDES", "mscoree=;mshtml=;winemenubuilder.exe=");
            command.env("WINEDEBUG", "-all").env("JUMPLABEL", variable);
            printed(&succeeds(&mut command)).replace('\r', "")
        };
        assert!(run("", &[]).contains("ok 0\n"));
        assert!(run("net.off=on", &["list"]).contains("net.off on\n"));
        assert!(run("help", &[]).contains("other.elsewhere"));
    }
}

fn wine() -> Option<&'static str> {
    ["/usr/lib/wine/wine64", "wine64"].into_iter().find(|&name| breadth::has(name))
}

/// The header is one file of limited length.
#[test]
fn size_of_the_header() {
    let text = std::fs::read_to_string(file("include/jumplabel-optional.h")).unwrap();
    assert!(text.lines().count() <= 900, "{}", text.lines().count());
    assert!(text.starts_with("/* SPDX-License-Identifier: MIT OR Apache-2.0 */"));
}
