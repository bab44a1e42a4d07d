//! Gives the linker the script of this kernel, `../src/arch/riscv64/link.ld`, with another start address: without firmware, a kernel begins at the
//! start of memory.

use std::env::var;
use std::path::PathBuf;

fn main() {
    let of = |name: &str| PathBuf::from(var(name).expect("cargo says this"));
    let script = of("CARGO_MANIFEST_DIR").join("../src/arch/riscv64/link.ld");
    println!("cargo::rerun-if-changed={}", script.display());
    let text = std::fs::read_to_string(&script).expect("the script");
    let replace = |text: String, from: &str, to: &str| {
        assert!(text.contains(from));
        text.replace(from, to)
    };
    let mut text = replace(text, ". = 0x80200000;", ". = 0x80000000;");
    if var("CARGO_CFG_TARGET_ARCH").expect("cargo says this") == "riscv32" {
        // A part of the text lies out of the reach of a jump.
        text = replace(text, ". = ALIGN(8192); *(.far)", ". = ALIGN(8192); . += 0x100000; *(.far)");
    }
    let used = of("OUT_DIR").join("link.ld");
    std::fs::write(&used, text).expect("the directory is cargo's");
    // The tests that this kernel shares with user space ask for this cfg.
    println!("cargo::rustc-check-cfg=cfg(jumplabel_sites)");
    println!("cargo::rustc-cfg=jumplabel_sites");
    println!("cargo::rustc-link-arg-bins=-T{}", used.display());
}
