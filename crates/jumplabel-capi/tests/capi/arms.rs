//! An arm that is one call of a cold function: docs/features.md, "Arms out of line".

use std::process::Command;

use crate::compiler::{CLANG, Compiler, GCC, Language};
use crate::prefix::{printed, scratch, succeeds};

/// How many bytes of the function lie in front of its check.
fn before_the_check(compiler: Compiler, flags: &str) -> usize {
    let program = scratch("arms").join(format!("arms-{}", compiler.c));
    let program = compiler.build(Language::C, &format!("-O2 {flags}"), &["arms.c"], "-ljumplabel", &program);
    let said = printed(&succeeds(&mut Command::new(program)));
    let bytes = said.lines().next().and_then(|line| line.parse().ok());
    assert_eq!(said.lines().nth(1), Some("1 + 3"), "{compiler:?} {flags}: {said}");
    bytes.expect("a number")
}

/// For an arm that is out of line, a function saves less in front of its check: nothing with gcc.
#[test]
fn out_of_line() {
    assert_eq!(before_the_check(GCC, ""), 0);
    let preserves = "-DARM=__attribute__((cold,noinline,preserve_most))";
    for (compiler, flags) in [(GCC, ""), (CLANG, preserves)] {
        let [arm, plain] = [flags, "-DPLAIN"].map(|flags| before_the_check(compiler, flags));
        assert!(
            arm < plain,
            "{compiler:?}: {arm} bytes in front of the check, and {plain} with the arm in the function"
        );
    }
}
