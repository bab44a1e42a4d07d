//! Sets cfgs for what the core was built with: sites (`jumplabel_sites`), lock prefixes, and std.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(jumplabel_sites)");
    println!("cargo::rustc-check-cfg=cfg(jumplabel_archive)"); // set by install/libraries
    println!("cargo::rustc-check-cfg=cfg(jumplabel_installed)"); // set by install/libraries, too
    println!("cargo::rustc-check-cfg=cfg(jumplabel_std)");
    if std::env::var_os("DEP_JUMPLABEL_STD").is_some() {
        println!("cargo::rustc-cfg=jumplabel_std");
    }
    println!("cargo::rustc-check-cfg=cfg(jumplabel_prefixes)");
    if std::env::var_os("DEP_JUMPLABEL_PREFIXES").is_some() {
        println!("cargo::rustc-cfg=jumplabel_prefixes");
    }
    if std::env::var_os("DEP_JUMPLABEL_SITES").is_some() {
        println!("cargo::rustc-cfg=jumplabel_sites");
    }
}
