//! Arms that are one call of a cold function: docs/features.md, "Arms out of line".

use std::process::Command;

use crate::compiler::{CLANG, Compiler, GCC, Language};
use crate::prefix::{file, printed, scratch, succeeds};

/// The number of bytes of the function that come before its check.
fn before_the_check(compiler: Compiler, flags: &str) -> usize {
    let program = scratch("arms").join(format!("arms-{}-{:?}", compiler.c, std::thread::current().id()));
    let program = compiler.build(Language::C, &format!("-O2 {flags}"), &["arms.c"], "-ljumplabel", &program);
    let said = printed(&succeeds(&mut Command::new(program)));
    let bytes = said.lines().next().and_then(|line| line.parse().ok());
    assert_eq!(said.lines().nth(1), Some("1 + 3"), "{compiler:?} {flags}: {said}");
    bytes.expect("a number")
}

/// If the arm is out of line, a function saves fewer registers before its check; with gcc, none.
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

/// The same for an arm that calls a function without the attribute `cold`. gcc saves nothing, because the labels tell it that the arm is rare. clang
/// before 19 saves fewer registers if saving has a cost (-regalloc-csr-first-time-cost).
#[test]
fn rare() {
    const ARM: &str = "-DARM=__attribute__((noinline))";
    const PRICE: &str = "-mllvm -regalloc-csr-first-time-cost=10";
    for compiler in Compiler::ALL.into_iter().chain(Compiler::others()) {
        let bytes = before_the_check(compiler, ARM);
        if compiler.c.starts_with("gcc") {
            println!("{}: {bytes} bytes in front of the check", compiler.c);
            assert_eq!(bytes, 0, "{compiler:?}");
        } else {
            let priced = before_the_check(compiler, &format!("{ARM} {PRICE}"));
            println!("{}: {bytes} bytes in front of the check; {priced} with {PRICE}", compiler.c);
            assert!(priced <= bytes && priced < 10, "{compiler:?}: {priced} and {bytes}");
        }
    }
}

/// The size that gcc estimates for a function when it decides on inlining, in halves of an instruction.
fn estimate(compiler: Compiler, flags: &str) -> usize {
    let dump = scratch("arms").join(format!("{}.fnsummary", compiler.c));
    let flags = format!("-O2 {flags} -c -o /dev/null -fdump-ipa-fnsummary={}", dump.display());
    succeeds(compiler.command(Language::C, &flags).arg(file("tests/c/estimated.c")));
    let text = std::fs::read_to_string(&dump).expect("a dump");
    let summary = text.split("IPA function summary for estimated/").nth(1).expect("the function");
    let size = summary.lines().find_map(|line| line.trim().strip_prefix("self size:")).expect("a size");
    size.split_whitespace().next().and_then(|size| size.parse().ok()).expect("a number")
}

/// Three checks make a function larger by their arms, but not by tests of their results. Loads make it larger than that.
#[test]
fn estimated() {
    for compiler in Compiler::ALL.into_iter().chain(Compiler::others()).filter(|compiler| compiler.c.starts_with("gcc"))
    {
        let [bare, keys, loads] = ["-DBARE", "", "-DJUMPLABEL_FALLBACK"].map(|flags| estimate(compiler, flags));
        println!("{}: a function of {bare} is one of {keys} with three checks, and of {loads} with loads", compiler.c);
        assert!(bare < keys && keys <= bare + 3 * 6 && keys + 3 * 3 <= loads, "{compiler:?}: {bare}, {keys}, {loads}");
    }
}

/// With `-Og`, too, nothing tests the result of a check.
#[test]
fn with_less_optimisation() {
    let program = scratch("arms").join("arms-og");
    let program = GCC.build(Language::C, "-Og", &["arms.c"], "-ljumplabel", &program);
    let mut objdump = Command::new("objdump");
    let listed = printed(&succeeds(objdump.args(["-d", "--no-show-raw-insn", "--disassemble=add"]).arg(program)));
    assert!(listed.contains("nopl") && !listed.contains("test "), "{listed}");
}
