//! Names for elements of arrays of keys: tests/c/key_names.c, with the library, and with copies of two headers alone.

use std::path::{Path, PathBuf};
use std::process::Command;

use jumplabel_testing::breadth;

use crate::compiler::{Compiler, Language};
use crate::prefix::{file, printed, scratch, succeeds};

/// Modes of compilers in which only jumplabel-optional.h works.
const OLD: [(&str, &str); 7] = [
    ("gcc", "-std=c99 -O2"),
    ("gcc", "-std=gnu89 -O0"),
    ("g++", "-x c++ -std=c++11 -O2"),
    ("clang-16", "-std=gnu89 -O2 -Wno-c99-extensions"),
    ("clang-16", "-std=c99 -O0"),
    ("clang++-16", "-x c++ -std=c++11 -O1"),
    ("gcc", "-std=c11 -O2 -ffunction-sections -fdata-sections -Wl,--gc-sections"),
];

/// A directory that contains only the two headers.
fn vendored(name: &str) -> PathBuf {
    let directory = scratch(name);
    for header in ["jumplabel-optional.h", "jumplabel/key_names.h"] {
        let from = file("include").join(header);
        std::fs::copy(&from, directory.join(from.file_name().unwrap())).unwrap();
    }
    directory
}

/// A compiler's command that finds the copies, and not the library.
fn without(directory: &Path, (compiler, flags): (&str, &str)) -> Command {
    let mut command = Command::new(compiler);
    command.args([
        "-Wall",
        "-Wextra",
        "-Wshadow",
        "-pedantic",
        "-Werror",
        "-DOPTIONAL",
        "-DJUMPLABEL_OPTIONAL_USE=0",
        "-I",
    ]);
    command.arg(directory).args(flags.split_whitespace());
    command
}

/// The program lists the name, path and state of each key, in any order (link-time optimisation changes it). Two keys are set by their names.
fn lists(program: &Path) {
    let said = |variable: &str| printed(&succeeds(Command::new(program).env("JUMPLABEL", variable)));
    let sorted = |text: &str| {
        let mut words: Vec<_> = text.split_whitespace().map(str::to_string).collect();
        words.sort_unstable();
        words
    };
    let expected = |debug: u8, low: u8, end: &str| {
        sorted(&format!(
            "hot[LL_DEBUG]/hot[LL_DEBUG]={debug} hot[LL_VERBOSE]/hot[LL_VERBOSE]=0 hot[LL_NOTICE]/hot[LL_NOTICE]=1 \
             net.layers[LOW]/layers[LOW]={low} net.layers[HIGH]/layers[HIGH]=1 some[1]/some[1]=0 some[3]/some[3]=0 \
             many[last]/many[last]=0 net.trace/trace=0 40 {end}"
        ))
    };
    assert_eq!(sorted(&said("")), expected(0, 1, ""), "{}", program.display());
    assert_eq!(sorted(&said("hot[LL_DEBUG]=on,net.layers[LOW]=off")), expected(1, 0, "debug"), "{}", program.display());
    let help = said("help");
    assert!(help.contains("hot[LL_VERBOSE]") && !help.contains("hot[1]"), "{help}");
}

#[test]
fn with_the_library() {
    let program = scratch("key-names").join("program");
    for compiler in Compiler::ALL.into_iter().chain(Compiler::others()) {
        for language in [Language::C, Language::Cxx] {
            for flags in ["-O2", "-O0", "-O2 -fPIC", "-O2 -flto", "-O2 -DJUMPLABEL_FALLBACK"] {
                compiler.build(language, flags, &["key_names.c"], "-ljumplabel-agent -ljumplabel", &program);
                lists(&program);
            }
        }
    }
}

#[test]
fn without_it() {
    let directory = vendored("key-names-optional");
    let program = directory.join("program");
    for &mode in breadth::some_of(3, &OLD) {
        succeeds(without(&directory, mode).arg(file("tests/c/key_names.c")).arg("-o").arg(&program));
        lists(&program);
    }
}

/// The number of strings must be that of the elements.
#[test]
fn misuse() {
    let directory = vendored("key-names-misuse");
    let source = directory.join("misuse.c");
    for (strings, is_right) in [("\"a\", \"b\"", true), ("\"a\"", false), ("\"a\", \"b\", \"c\"", false)] {
        let text = format!(
            "#include \"jumplabel-optional.h\"\n#include \"key_names.h\"\nstatic DEFINE_STATIC_KEY_ARRAY_FALSE(two, 2);\n\
             RECORD_STATIC_KEY_STRINGS(two, \"two\", {strings});\n"
        );
        std::fs::write(&source, text).unwrap();
        for mode in OLD {
            let output = without(&directory, mode).arg("-c").arg(&source).arg("-o").arg("/dev/null").output().unwrap();
            let said = printed(&output);
            assert_eq!(output.status.success(), is_right, "{mode:?} {strings}: {said}");
            assert!(is_right || said.contains("jumplabel_one_string_for_each_element"), "{mode:?} {strings}: {said}");
        }
    }
}

/// The program in docs/c.md, with the library and without the copies. (The core's `documents` builds it with the copies.)
#[test]
fn the_document() {
    let directory = scratch("key-names-document");
    let document = std::fs::read_to_string(file("../../docs/c.md")).unwrap();
    let program = document.split("```c\n").find(|block| block.contains("JUMPLABEL_KEYS(levels")).unwrap();
    let program = program.split("```").next().unwrap();
    let program = program
        .replace("#include \"jumplabel-optional.h\"", "#include <stdio.h>\n#include <jumplabel/agent.h>")
        .replace("#include \"key_names.h\"", "#include <jumplabel/key_names.h>");
    let source = directory.join("program.c");
    std::fs::write(&source, program).unwrap();
    let program = directory.join("program");
    for compiler in Compiler::ALL {
        let source = source.to_str().unwrap();
        compiler.build(Language::C, "-O2", &[source], "-ljumplabel-agent -ljumplabel", &program);
        let said = |variable: &str| printed(&succeeds(Command::new(&program).env("JUMPLABEL", variable)));
        assert_eq!([said(""), said("hot[LL_DEBUG]=on")].concat(), "001\n101\n");
    }
}
