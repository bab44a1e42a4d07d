//! Gives the linker its script, and the addresses of the kernel's symbols.

use std::env::var;

fn main() {
    let of = |name: &str| var(name).expect("cargo says this");
    println!("cargo::rustc-check-cfg=cfg(jumplabel_dylib)");
    println!("cargo::rerun-if-changed=link.ld");
    println!("cargo::rerun-if-env-changed=KERNEL_SYMBOLS");
    println!("cargo::rustc-link-arg-bins=-T{}/link.ld", of("CARGO_MANIFEST_DIR"));
    // On x86, the linker is the C compiler; elsewhere, it is a plain linker.
    let prefix = if of("CARGO_CFG_TARGET_ARCH") == "x86" { "-Wl," } else { "" };
    for symbol in var("KERNEL_SYMBOLS").unwrap_or_default().split_whitespace() {
        println!("cargo::rustc-link-arg-bins={prefix}--defsym={symbol}");
    }
    // The first arguments are those of ../build.rs. Here, core was compiled for Linux, and refers to the function that unwinding needs.
    let arguments: &[&str] = match &*of("CARGO_CFG_TARGET_ARCH") {
        "x86" => &["-nostdlib", "-static", "-no-pie", "-Wl,--build-id=none", "-Wl,--defsym=rust_eh_personality=0"],
        "x86_64" => &["--no-pie"],
        _ => &[],
    };
    arguments.iter().for_each(|argument| println!("cargo::rustc-link-arg-bins={argument}"));
}
