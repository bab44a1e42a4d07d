//! Instructions that depend on the processor: tests/c/alternative.c.

use std::process::Command;

use crate::compiler::{Compiler, Language};
use crate::prefix::{printed, scratch, succeeds};

/// Before and after, and refused beside a thread; in each way of compiling.
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
