//! Whether sites of two bytes are known: `cfg(jumplabel_short_kind)`.

use std::env::var;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(jumplabel_short_kind)");
    // The cfg is set for every target, for tools that look at files of another instruction set.
    if var("CARGO_CFG_JUMPLABEL_SHORT").is_ok() || var("CARGO_FEATURE_SHORT_SITES").is_ok() {
        println!("cargo::rustc-cfg=jumplabel_short_kind");
    }
}
