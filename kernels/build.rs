//! Gives the linker its script, and compiles the part that is in C.

use std::env::var;
use std::path::PathBuf;

fn main() {
    let of = |name: &str| var(name).expect("cargo says this");
    let arch = of("CARGO_CFG_TARGET_ARCH");
    let script = PathBuf::from(of("CARGO_MANIFEST_DIR")).join("src/arch").join(&arch).join("link.ld");
    println!("cargo::rerun-if-changed={}", script.display());
    println!("cargo::rerun-if-env-changed=MERGED_TABLE");
    let mut text = std::fs::read_to_string(&script).expect("a script for each arch");
    if var("MERGED_TABLE").is_ok() {
        // This makes a mistake that kernels easily make: without these lines, nobody knows where the table is.
        let kept = "__jump_table : { KEEP(*(__jump_table)) }";
        assert!(text.contains("*(.rodata ") && text.contains(kept));
        text = text.replace(kept, "").replace("*(.rodata ", "*(__jump_table) *(.rodata ");
    }
    let used = PathBuf::from(of("OUT_DIR")).join("link.ld");
    std::fs::write(&used, text).expect("the directory is cargo's");
    println!("cargo::rustc-link-arg-bins=-T{}", used.display());
    // The tests that this kernel shares with user space use this cfg.
    println!("cargo::rustc-check-cfg=cfg(jumplabel_sites)");
    println!("cargo::rustc-cfg=jumplabel_sites");
    if arch == "x86" {
        // This is a target of Linux. Its linker is the compiler of C, which would make a program for Linux.
        for argument in ["-nostdlib", "-static", "-no-pie", "-Wl,--build-id=none"] {
            println!("cargo::rustc-link-arg-bins={argument}");
        }
    }
    if arch == "x86_64" {
        // The compiler assumes that programs of this target are moved when they start.
        println!("cargo::rustc-link-arg-bins=--no-pie");
        compile();
    }
}

/// A kernel uses no red zone, because interrupts write there, and no vector registers.
fn compile() {
    println!("cargo::rerun-if-changed=src/unit.c");
    let mut compiler = cc::Build::new();
    compiler.compiler("cc").file("src/unit.c").include("../crates/jumplabel-capi/include").pic(false).opt_level(2);
    for flag in ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-ffreestanding", "-mno-red-zone", "-mgeneral-regs-only"]
    {
        compiler.flag(flag);
    }
    compiler.compile("unit");
}
