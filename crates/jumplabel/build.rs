//! Decides whether this build patches code (`cfg(jumplabel_sites)`) or uses the fallback: load, test, jump; and whether it
//! has the platform of Linux user space (`cfg(jumplabel_linux)`).

use std::env::var;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(jumplabel_sites)");
    println!("cargo::rustc-check-cfg=cfg(jumplabel_linux)");
    println!("cargo::rustc-check-cfg=cfg(jumplabel_fallback)");
    println!("cargo::rustc-check-cfg=cfg(jumplabel_dylib)");

    let cfg = |name: &str| var(format!("CARGO_CFG_{name}")).unwrap_or_default();
    let (arch, os) = (cfg("TARGET_ARCH"), cfg("TARGET_OS"));
    let (width, endian) = (cfg("TARGET_POINTER_WIDTH"), cfg("TARGET_ENDIAN"));

    // An arch file exists, for this data model, and stable inline assembly is understood.
    let has_arch_file = matches!(
        (&*arch, &*width, &*endian),
        ("x86_64" | "aarch64" | "riscv64", "64", "little") | ("x86", "32", "little")
    );
    let is_elf = os == "linux" || os == "none";
    // A word that leads to a GOT slot is known for one instruction set.
    let finds_keys = var("CARGO_CFG_JUMPLABEL_DYLIB").is_err() || arch == "x86_64";
    let miri = var("CARGO_CFG_MIRI").is_ok();
    let asked_for_fallback = var("CARGO_CFG_JUMPLABEL_FALLBACK").is_ok() || miri;
    if has_arch_file && is_elf && finds_keys && !asked_for_fallback {
        println!("cargo::rustc-cfg=jumplabel_sites");
        println!("cargo::metadata=sites=1"); // for crates that are built on this one: DEP_JUMPLABEL_SITES
    }
    if os == "linux" && !miri && var("CARGO_FEATURE_STD").is_ok() {
        println!("cargo::rustc-cfg=jumplabel_linux");
    }
}
