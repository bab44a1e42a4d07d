//! Gives the linker the script of this kernel, `../src/arch/riscv64/link.ld`, with another start address: without firmware, a kernel begins at the
//! start of memory.

use std::env::var;
use std::path::PathBuf;

fn main() {
    let of = |name: &str| PathBuf::from(var(name).expect("cargo says this"));
    let script = of("CARGO_MANIFEST_DIR").join("../src/arch/riscv64/link.ld");
    println!("cargo::rerun-if-changed={}", script.display());
    let text = std::fs::read_to_string(&script).expect("the script");
    assert!(text.contains(". = 0x80200000;"));
    let used = of("OUT_DIR").join("link.ld");
    std::fs::write(&used, text.replace("0x80200000", "0x80000000")).expect("the directory is cargo's");
    println!("cargo::rustc-link-arg-bins=-T{}", used.display());
}
