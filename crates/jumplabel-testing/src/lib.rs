//! What jumplabel's tests share: processes of their own ([`scenario`]), sites at chosen places, broken twins of the platform,
//! and builds of the projects in test-crates.
#![cfg(target_os = "linux")]

#[cfg(target_os = "linux")]
pub mod beside;
pub mod breadth;
#[cfg(all(target_arch = "x86_64", jumplabel_sites))]
pub mod call_sites;
pub mod cargo;
pub mod clock;
#[cfg(target_pointer_width = "64")]
pub mod far;
pub mod headers;
#[cfg(jumplabel_sites)]
pub mod pages;
pub mod programs;
pub mod scenario;
pub mod stop;
pub mod switch;
#[cfg(jumplabel_sites)]
pub mod twin;
#[cfg(jumplabel_sites)]
pub mod writers;

/// A test for each function of the module `conformance` beside it: `conformance::each!(tests_of_bodies)`.
#[macro_export]
macro_rules! tests_of_bodies {
    ($($body:ident)*) => { $(
        #[test]
        fn $body() {
            conformance::$body();
        }
    )* };
}
