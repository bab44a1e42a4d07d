//! Alternatives: instructions that depend on the processor: tests/c/alternative.c.

use std::process::Command;

use crate::compiler::{Compiler, GCC, Language};
use crate::prefix::{printed, scratch, succeeds};

/// The instructions before and after they are applied, for all ways of compiling. With a second thread, this is refused.
#[test]
fn applied() {
    let program = scratch("alternatives").join("program");
    for compiler in Compiler::ALL {
        for language in [Language::C, Language::Cxx] {
            for flags in [
                "-O0 -g",
                "-O2 -fPIE -pie",
                "-O2 -static",
                "-O2 -flto",
                "-O2 -DJUMPLABEL_PRECISE_TABLE",
                "-O2 -masm=intel",
                "-O2 -DJUMPLABEL_FALLBACK",
            ] {
                compiler.build(language, flags, &["alternative.c"], "-ljumplabel -lpthread -ldl", &program);
                for arguments in [&[][..], &["beside-a-thread"]] {
                    let said = printed(&succeeds(Command::new(&program).args(arguments)));
                    assert_eq!(said, "ok\n", "{compiler:?} {language:?} {flags}");
                }
            }
        }
    }
}

/// Alternatives of two objects are applied together, or not at all: tests/c/alternative_hidden.c.
#[test]
fn hidden_in_one_of_two_objects() {
    let directory = scratch("alternatives-hidden");
    let [library, program] = ["libhidden.so", "program"].map(|name| directory.join(name));
    let source = &["alternative_hidden.c"];
    GCC.build(Language::C, "-O2 -fPIC -shared -DLIBRARY", source, "", &library);
    GCC.build(Language::C, "-O2 -fPIE -pie", source, "-lhidden -ljumplabel", &program);
    assert_eq!(printed(&succeeds(&mut Command::new(&program))), "ok\n");
}
