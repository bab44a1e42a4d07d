//! Gives the linker its script, and compiles the part of the kernel that is in C.

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
        // This repeats a mistake that kernels easily make: without this line of the script, the table has no bounds.
        let kept = "__jump_table : { KEEP(*(__jump_table)) }";
        assert!(text.contains("*(.rodata ") && text.contains(kept));
        text = text.replace(kept, "").replace("*(.rodata ", "*(__jump_table) *(.rodata ");
    }
    let used = PathBuf::from(of("OUT_DIR")).join("link.ld");
    std::fs::write(&used, text).expect("the directory is cargo's");
    println!("cargo::rustc-link-arg-bins=-T{}", used.display());
    // The tests that this kernel shares with user space ask for this cfg.
    println!("cargo::rustc-check-cfg=cfg(jumplabel_sites)");
    println!("cargo::rustc-cfg=jumplabel_sites");
    if arch == "x86" {
        // The target is one of Linux, and its linker is the C compiler. Without these arguments, it would make a program for Linux.
        for argument in ["-nostdlib", "-static", "-no-pie", "-Wl,--build-id=none"] {
            println!("cargo::rustc-link-arg-bins={argument}");
        }
    }
    if arch == "x86_64" {
        // For this target, the compiler makes position-independent programs by default.
        println!("cargo::rustc-link-arg-bins=--no-pie");
        compile();
    }
}

/// Compiles unit.c. A kernel uses no red zone, because interrupts overwrite it, and no vector registers.
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
