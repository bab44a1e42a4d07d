//! Misuse is a compile-time error whose message helps. The messages are the compiler's, so they are compared for one version
//! of it; `TRYBUILD=overwrite cargo test --test compile_fail` writes them anew.
#![cfg(all(jumplabel_sites, not(jumplabel_dylib)))]

/// The compiler that the .stderr files were written with.
const VERSION: &str = "rustc 1.95.";

#[test]
fn misuse_does_not_compile() {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = std::process::Command::new(rustc).arg("--version").output().unwrap().stdout;
    let version = String::from_utf8_lossy(&version);
    if !version.starts_with(VERSION) {
        println!("skipped: the messages are those of {VERSION}x, this is {version}");
        return;
    }
    let cases = trybuild::TestCases::new();
    cases.pass("tests/compile_pass/*.rs");
    cases.compile_fail("tests/compile_fail/*.rs");
}
