//! Decides whether this build patches code (`cfg(jumplabel_sites)`) or uses the fallback: load, test, jump; and whether it
//! has the platform of Linux user space (`cfg(jumplabel_linux)`).

use std::env::var;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(jumplabel_sites)");
    println!("cargo::rustc-check-cfg=cfg(jumplabel_linux)");
    println!("cargo::rustc-check-cfg=cfg(jumplabel_fallback)");
    println!("cargo::rustc-check-cfg=cfg(jumplabel_dylib)");

    let arch = var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    let os = var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    let pointers_are_64_bit = var("CARGO_CFG_TARGET_POINTER_WIDTH").is_ok_and(|width| width == "64");

    // An arch file exists, the object format is ELF, and inline assembly is understood.
    let supported = arch == "x86_64" && pointers_are_64_bit && (os == "linux" || os == "none");
    let miri = var("CARGO_CFG_MIRI").is_ok();
    let asked_for_fallback = var("CARGO_CFG_JUMPLABEL_FALLBACK").is_ok() || miri;
    if supported && !asked_for_fallback {
        println!("cargo::rustc-cfg=jumplabel_sites");
        println!("cargo::metadata=sites=1"); // for crates that are built on this one: DEP_JUMPLABEL_SITES
    }
    if os == "linux" && !miri && var("CARGO_FEATURE_STD").is_ok() {
        println!("cargo::rustc-cfg=jumplabel_linux");
    }
}
