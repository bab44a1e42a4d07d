//! N-way switches in C and C++: tests/c/switches.c, and the code that compilers make of a switch.

use std::process::Command;

use crate::compiler::{Compiler, Language};
use crate::prefix::{file, printed, scratch, succeeds};

const BOTH: [&str; 2] = ["switches.c", "switched.c"];

/// All in one program, and with the mode in a shared library, to which another library's switches refer by a slot.
#[test]
fn all_arms() {
    let directory = scratch("switches");
    let program = directory.join("program");
    let run = |what: &str| {
        let said = printed(&succeeds(&mut Command::new(&program)));
        assert!(said.starts_with("ok "), "{what}: {said}");
    };
    for compiler in Compiler::ALL {
        for language in [Language::C, Language::Cxx] {
            for flags in
                ["-O0", "-O2", "-O2 -flto", "-O2 -DJUMPLABEL_PRECISE_TABLE -fPIE -pie", "-O2 -DJUMPLABEL_FALLBACK"]
            {
                compiler.build(language, flags, &BOTH, "-ljumplabel", &program);
                run(&format!("{compiler:?} {language:?} {flags}"));
            }
            for flags in ["-O0", "-O2"] {
                let shared = format!("{flags} -fPIC -shared");
                compiler.build(language, &shared, &["switched.c"], "-ljumplabel", &directory.join("libswitched.so"));
                let flags = format!("{flags} -DJUMPLABEL_FOREIGN_KEYS");
                compiler.build(language, &flags, &["switches.c"], "-lswitched -ljumplabel", &program);
                run(&format!("{compiler:?} {language:?} {flags} shared"));
            }
        }
    }
}

/// `switch (static_switch(...))` is only the site's jump: nothing is compared, and no number is loaded.
#[test]
fn jumps_are_threaded() {
    let directory = scratch("switches-code");
    let object = directory.join("object");
    for compiler in Compiler::ALL {
        for optimisation in ["-O1", "-O2", "-Os"] {
            let mut command = compiler.command(Language::C, optimisation);
            succeeds(command.arg("-c").arg(file("tests/c/switched.c")).arg("-o").arg(&object));
            let code = printed(&succeeds(Command::new("objdump").args(["-d", "--disassemble=switched"]).arg(&object)));
            // The site's stub comes after the function, and contains comparisons.
            let function = code.split("<switched>:").nth(1).unwrap().split("cmpb").next().unwrap();
            let one_of = |words: &[&str]| function.lines().any(|line| words.iter().any(|word| line.contains(word)));
            assert!(one_of(&["jmp"]) && one_of(&["0xa,%eax", "$0xa"]), "{compiler:?} {optimisation}: {code}");
            assert!(!one_of(&["cmp", "test", "$0x0,", "$0x1,", "xor"]), "{compiler:?} {optimisation}: {code}");
        }
    }
}

/// Wrong uses do not compile, and the compiler says why.
#[test]
fn misuse() {
    let directory = scratch("switches-misuse");
    let source = directory.join("source");
    let fails = [
        ("DEFINE_STATIC_MODE(mode, 9, 0);", "a static mode has 2 to 8 modes"),
        ("DEFINE_STATIC_MODE(mode, 1, 0);", "a static mode has 2 to 8 modes"),
        ("DEFINE_STATIC_MODE(mode, 3, 3);", "the first is one of them"),
        ("DECLARE_STATIC_MODE(mode, 3, 1); DEFINE_STATIC_MODE(mode, 3, 2);", "jumplabel_modes_of_mode_"),
        (
            "DEFINE_STATIC_MODE(mode, 3, 1); int f(void); int f(void) { return static_switch(mode, 4); }",
            "how many modes it has",
        ),
        (
            "DEFINE_STATIC_MODE(mode, 8, 1); int f(void); int f(void) { return static_switch(mode, 9); }",
            "how many modes it has",
        ),
    ];
    for compiler in Compiler::ALL {
        for language in [Language::C, Language::Cxx] {
            for flags in ["", "-DJUMPLABEL_FALLBACK"] {
                for (text, words) in fails {
                    std::fs::write(&source, format!("#include <jumplabel.h>\n{text}\n")).unwrap();
                    let mut command = compiler.command(language, flags);
                    let output =
                        command.arg("-c").arg(&source).arg("-o").arg(directory.join("object")).output().unwrap();
                    let said = printed(&output);
                    assert!(
                        !output.status.success() && said.contains(words),
                        "{compiler:?} {language:?} {text}: {said}"
                    );
                }
            }
        }
    }
}
