//! Lints of a crate that uses our macros.
#![cfg(all(target_arch = "x86_64", target_os = "linux", jumplabel_sites, not(any(miri, jumplabel_dylib))))]

use jumplabel_testing::cargo::{self, Build};

/// test-crates/linted, whose `lib.rs` says what is denied: no lint speaks of what a macro of ours expands to. The twin is a loop like
/// those of that crate whose condition is no check.
#[test]
fn the_macros_are_silent_under_clippy() {
    for flags in ["", "--cfg jumplabel_fallback", "--cfg jumplabel_short"] {
        cargo::run(Build::of("linted").env("RUSTFLAGS", flags).command("clippy").arg("--quiet"));
    }
    let twin = Build::of("linted").env("RUSTFLAGS", "--cfg twin").command("clippy").arg("--quiet").output().unwrap();
    let said = cargo::printed(&twin);
    assert!(!twin.status.success() && said.contains("while_immutable_condition"), "{said}");
}
