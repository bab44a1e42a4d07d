//! Whether the core has sites (`cfg(jumplabel_sites)`): what is about them is not there without.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(jumplabel_sites)");
    if std::env::var_os("DEP_JUMPLABEL_SITES").is_some() {
        println!("cargo::rustc-cfg=jumplabel_sites");
    }
}
