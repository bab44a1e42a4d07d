//! Sets `cfg(jumplabel_sites)` if the core has sites. The setting decides which names src/archive.rs of jumplabel-capi hides.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(jumplabel_sites)");
    println!("cargo::rustc-check-cfg=cfg(jumplabel_archive)"); // set by install/libraries
    println!("cargo::rustc-check-cfg=cfg(jumplabel_installed)"); // for jumplabel-capi alone
    if std::env::var_os("DEP_JUMPLABEL_SITES").is_some() {
        println!("cargo::rustc-cfg=jumplabel_sites");
    }
}
