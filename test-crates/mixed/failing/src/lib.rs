//! Fail points of Rust: crates/jumplabel-capi/tests/c/failing_both.c calls them.

use std::ffi::c_int;

extern crate jumplabel_fail_capi as _;

/// A point of a name that C has, too, and one that C has not.
#[unsafe(no_mangle)]
pub extern "C" fn rust_points() -> c_int {
    let number = |text: Option<String>| text.and_then(|text| text.parse().ok()).unwrap_or(-1);
    jumplabel_fail::fail_point!("both", number);
    jumplabel_fail::fail_point!("rust", number);
    0
}

/// Configures a point, as Rust does.
#[unsafe(no_mangle)]
pub extern "C" fn rust_configures() {
    jumplabel_fail::cfg("c", "return(4)").unwrap();
}
