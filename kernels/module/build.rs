//! Hands the linker its script, and the kernel's symbols.

use std::env::var;

fn main() {
    let of = |name: &str| var(name).expect("cargo says this");
    println!("cargo::rustc-check-cfg=cfg(jumplabel_dylib)");
    println!("cargo::rerun-if-changed=link.ld");
    println!("cargo::rerun-if-env-changed=KERNEL_SYMBOLS");
    println!("cargo::rustc-link-arg-bins=-T{}/link.ld", of("CARGO_MANIFEST_DIR"));
    for symbol in var("KERNEL_SYMBOLS").unwrap_or_default().split_whitespace() {
        println!("cargo::rustc-link-arg-bins=--defsym={symbol}");
    }
    if of("CARGO_CFG_TARGET_ARCH") == "x86_64" {
        println!("cargo::rustc-link-arg-bins=--no-pie");
    }
}
