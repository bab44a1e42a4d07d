//! Misuse is a compile-time error with a helpful message. The compiler writes the messages, so the test compares them for one version only;
//! `TRYBUILD=overwrite cargo test --test compile_fail` writes them anew.
#![cfg(all(jumplabel_sites, not(jumplabel_dylib)))]

/// The version of the compiler that wrote the .stderr files.
const VERSION: &str = "rustc 1.95.";

/// True if this compiler is that version.
fn is_known() -> bool {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = std::process::Command::new(rustc).arg("--version").output().unwrap().stdout;
    let version = String::from_utf8_lossy(&version);
    if !version.starts_with(VERSION) {
        println!("skipped: the messages are those of {VERSION}x, this is {version}");
    }
    version.starts_with(VERSION)
}

#[test]
fn misuse_does_not_compile() {
    if is_known() {
        let cases = trybuild::TestCases::new();
        cases.pass("tests/compile_pass/*.rs");
        cases.compile_fail("tests/compile_fail/*.rs");
    }
}

/// `cargo check` refuses an element that does not exist. trybuild runs `cargo check` only if no case must pass, so this is a separate test.
#[test]
fn an_element_that_is_not_there_does_not_pass_cargo_check() {
    if is_known() {
        trybuild::TestCases::new().compile_fail("tests/check_fail/*.rs");
    }
}
