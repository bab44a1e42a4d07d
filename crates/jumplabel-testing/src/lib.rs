//! The code that the tests of several crates share: tests in a process of their own ([`scenario`]), sites at chosen places, broken twins of the
//! platform, and builds of the projects in test-crates.
#![cfg(any(target_os = "linux", target_os = "wasi", windows))]

#[cfg(target_os = "linux")]
pub mod beside;
#[cfg(target_os = "linux")]
pub mod breadth;
#[cfg(all(target_arch = "x86_64", target_os = "linux", jumplabel_sites))]
pub mod call_sites;
#[cfg(target_os = "linux")]
pub mod cargo;
#[cfg(not(target_os = "wasi"))]
#[cfg_attr(windows, path = "clock/windows.rs")]
pub mod clock;
#[cfg(target_pointer_width = "64")]
pub mod far;
#[cfg(target_os = "linux")]
pub mod headers;
#[cfg(jumplabel_sites)]
pub mod pages;
#[cfg(target_os = "linux")]
pub mod programs;
#[cfg(target_os = "linux")]
pub mod real_time;
#[cfg(not(target_os = "wasi"))]
pub mod scenario;
#[cfg(target_os = "linux")]
pub mod stop;
pub mod switch;
#[cfg(jumplabel_sites)]
pub mod twin;
#[cfg(target_os = "linux")]
pub mod until;
#[cfg(target_os = "linux")]
pub mod version_map;
#[cfg(all(target_os = "linux", jumplabel_sites))]
pub mod writers;

/// Makes a test of each function of the module `conformance`: `conformance::each!(tests_of_bodies)`.
#[macro_export]
macro_rules! tests_of_bodies {
    ($($body:ident)*) => { $(
        #[test]
        fn $body() {
            conformance::$body();
        }
    )* };
}
