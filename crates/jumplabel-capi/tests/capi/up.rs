//! UP mode from C and C++: tests/c/up.c.

use std::process::Command;

use crate::compiler::{Compiler, GCC, Language};
use crate::prefix::{printed, scratch, succeeds};

/// Both modes, in each way of compiling.
#[test]
fn operations() {
    let directory = scratch("up");
    for compiler in Compiler::ALL {
        for language in [Language::C, Language::Cxx] {
            let runner = directory.join("librunner.so");
            compiler.build(language, "-O2 -fPIC -shared", &["up_runner.c"], "", &runner);
            for flags in ["-O0", "-O2 -fPIE -pie", "-O2 -fno-pie -no-pie", "-O2 -flto", "-O2 -DJUMPLABEL_COMPACT_TABLE"]
            {
                let program = directory.join("operations");
                compiler.build(language, flags, &["up.c"], "-lrunner -ljumplabel -ldl", &program);
                let said = printed(&succeeds(Command::new(&program).arg("operations")));
                assert_eq!(said, "ok\n", "{compiler:?} {language:?} {flags}");
            }
        }
    }
}

/// Threads of a library that knows nothing of this one are caught; the twin is a program that nobody has told.
#[test]
fn threads_of_a_library() {
    let directory = scratch("up-threads");
    for (compiler, language) in Compiler::ALL.into_iter().flat_map(|it| [(it, Language::C), (it, Language::Cxx)]) {
        compiler.build(language, "-O2 -fPIC -shared", &["up_runner.c"], "", &directory.join("librunner.so"));
        let run = |flags: &str| {
            let program = directory.join("threads");
            compiler.build(language, flags, &["up.c"], "-lrunner -ljumplabel -ldl", &program);
            printed(&succeeds(Command::new(program).arg("threads")))
        };
        assert_eq!(run("-O2 -DINTERPOSE"), "ok\n", "{compiler:?} {language:?}");
        // With one processor, nothing can be lost.
        if std::thread::available_parallelism().is_ok_and(|processors| processors.get() > 1) {
            assert!(run("-O2").starts_with("lost "), "{compiler:?} {language:?}");
        }
    }
}

/// A plugin that has the library from libjumplabel.so, and one with a copy of its own, in programs of both sorts.
#[test]
fn loaded_late() {
    let directory = scratch("up-late");
    let copy = "-Wl,-Bstatic -ljumplabel -Wl,-Bdynamic";
    GCC.build(Language::C, "-O2 -fPIC -shared", &["up_runner.c"], "", &directory.join("librunner.so"));
    for of_plugin in ["-ljumplabel", copy] {
        let plugin = directory.join("plugin.so");
        GCC.build(Language::C, "-O2 -fPIC -shared", &["up_plugin.c"], of_plugin, &plugin);
        for of_program in ["-ljumplabel", copy] {
            let program = directory.join("late");
            GCC.build(Language::C, "-O2", &["up.c"], &format!("-lrunner {of_program} -ldl"), &program);
            let said = printed(&succeeds(Command::new(&program).arg("late").arg(&plugin)));
            assert_eq!(said, "ok\n", "{of_plugin} {of_program}");
        }
    }
}

/// Where no writer works, no thread starts; and an object that would lose updates ends the process, and says why.
#[test]
fn refused() {
    let directory = scratch("up-refused");
    GCC.build(Language::C, "-O2 -fPIC -shared", &["up_runner.c"], "", &directory.join("librunner.so"));
    let plugin = directory.join("plugin.so");
    GCC.build(Language::C, "-O2 -fPIC -shared", &["up_plugin.c"], "-ljumplabel", &plugin);
    let program = directory.join("refused");
    let build = |flags: &str| GCC.build(Language::C, flags, &["up.c"], "-lrunner -ljumplabel -ldl", &program);
    let run = |words: &[&str]| Command::new(&program).args(words).env("JUMPLABEL_WRITER", "none").output().unwrap();
    build("-O2 -DINTERPOSE");
    let output = run(&["refused"]);
    assert!(output.status.success() && printed(&output) == "ok\n", "{}", printed(&output));
    build("-O2");
    let output = run(&["aborts", plugin.to_str().unwrap()]);
    assert!(!output.status.success() && printed(&output).contains("they cannot be put in: "), "{}", printed(&output));
}
