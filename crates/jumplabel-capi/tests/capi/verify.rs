//! tests/c/verify.c: sites that something else has changed.

use std::process::Command;

use crate::compiler::{Compiler, Language};
use crate::prefix::{printed, scratch, succeeds};

#[test]
fn strayed() {
    let program = scratch("verify").join("program");
    for compiler in Compiler::ALL {
        compiler.build(Language::C, "-O2", &["verify.c"], "-ljumplabel", &program);
        assert_eq!(printed(&succeeds(&mut Command::new(&program))), "ok\n", "{compiler:?}");
    }
}
