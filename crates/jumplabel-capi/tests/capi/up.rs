//! UP mode in C and C++: tests/c/up.c.

use std::process::Command;

use crate::compiler::{Compiler, GCC, Language};
use crate::prefix::{printed, scratch, succeeds};

/// The operations in both modes, for all ways of compiling.
#[test]
fn operations() {
    let directory = scratch("up");
    for compiler in Compiler::ALL {
        for language in [Language::C, Language::Cxx] {
            let runner = directory.join("librunner.so");
            compiler.build(language, "-O2 -fPIC -shared", &["up_runner.c"], "", &runner);
            for flags in ["-O0", "-O2 -fPIE -pie", "-O2 -fno-pie -no-pie", "-O2 -flto", "-O2 -DJUMPLABEL_PRECISE_TABLE"]
            {
                let program = directory.join("operations");
                compiler.build(language, flags, &["up.c"], "-lrunner -ljumplabel -ldl", &program);
                let said = printed(&succeeds(Command::new(&program).arg("operations")));
                assert_eq!(said, "ok\n", "{compiler:?} {language:?} {flags}");
            }
        }
    }
}

/// Threads of a library that does not know jumplabel are caught, and no update is lost; nor in a program without UP mode. The twin is in UP mode, and
/// does not catch threads.
#[test]
fn threads_of_a_library() {
    let directory = scratch("up-threads");
    for (compiler, language) in Compiler::ALL.into_iter().flat_map(|it| [(it, Language::C), (it, Language::Cxx)]) {
        compiler.build(language, "-O2 -fPIC -shared", &["up_runner.c"], "", &directory.join("librunner.so"));
        let run = |flags: &str, what: &str| {
            let program = directory.join("threads");
            compiler.build(language, flags, &["up.c"], "-lrunner -ljumplabel -ldl", &program);
            printed(&succeeds(Command::new(program).arg(what)))
        };
        assert_eq!(run("-O2 -DINTERPOSE", "threads"), "ok\n", "{compiler:?} {language:?}");
        assert_eq!(run("-O2", "threads"), "ok\n", "{compiler:?} {language:?}");
        // The program itself finds out whether its threads ran at the same time.
        let said = run("-O2", "lost");
        assert!(said.starts_with("lost ") || said.starts_with("not shown"), "{compiler:?} {language:?}: {said}");
        println!("{compiler:?} {language:?}: {}", said.trim_end());
    }
}

/// A plugin that uses libjumplabel.so, and one with its own instance of the library, in programs of both kinds.
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

/// If the prefixes cannot be put back, no thread starts. If they cannot be removed, they stay.
#[test]
fn refused() {
    let directory = scratch("up-refused");
    GCC.build(Language::C, "-O2 -fPIC -shared", &["up_runner.c"], "", &directory.join("librunner.so"));
    let program = directory.join("refused");
    GCC.build(Language::C, "-O2 -DINTERPOSE", &["up.c"], "-lrunner -ljumplabel -ldl", &program);
    let run = |what: &str| printed(&succeeds(Command::new(&program).arg(what)));
    assert_eq!(run("refused"), "ok\n");
    let denied = Command::new(&program).arg("denied").env("JUMPLABEL_WRITER", "none").output().unwrap();
    assert_eq!(printed(&denied), "ok\n");
}

/// The assembler complains if an instruction cannot have the prefix.
#[test]
fn not_lockable() {
    let directory = scratch("up-not-lockable");
    let source = directory.join("moves.c");
    let text = "#include <jumplabel.h>\nint main(void)\n{\n\tint a = 1;\n\t__asm__(LOCK_PREFIX \"INSTRUCTION $0, %0\" : \"+m\"(a));\n\treturn a - 1;\n}\n";
    for (instruction, is_lockable) in [("orl", true), ("movl", false)] {
        std::fs::write(&source, text.replace("INSTRUCTION", instruction)).unwrap();
        let mut command = GCC.command(Language::C, "-O2 -c -o");
        let output = command.arg(directory.join("moves.o")).arg(&source).output().unwrap();
        assert_eq!(output.status.success(), is_lockable, "{instruction}: {}", printed(&output));
    }
}
