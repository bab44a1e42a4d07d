//! Restored sites (tests/c/verify.c), and pages that stay writable (tests/c/left_writable.c): both are reported although the call succeeds.

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

#[test]
fn left_writable() {
    let program = scratch("left-writable").join("program");
    for compiler in Compiler::ALL {
        compiler.build(Language::C, "-O2", &["left_writable.c"], "-ljumplabel", &program);
        assert_eq!(printed(&succeeds(&mut Command::new(&program))), "ok\n", "{compiler:?}");
    }
}
