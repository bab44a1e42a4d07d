//! Sets `cfg(jumplabel_sites)` if the core has sites. Without it, this crate leaves out the parts that are about sites.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(jumplabel_sites)");
    if std::env::var_os("DEP_JUMPLABEL_SITES").is_some() {
        println!("cargo::rustc-cfg=jumplabel_sites");
    }
}
