//! What jumplabel's tests share: processes of their own ([`scenario`]), sites at chosen places, broken twins of the platform,
//! and builds of the projects in test-crates.
#![cfg(target_os = "linux")]

#[cfg(all(target_arch = "x86_64", jumplabel_sites))]
pub mod call_sites;
pub mod cargo;
pub mod clock;
#[cfg(target_arch = "x86_64")]
pub mod far;
#[cfg(jumplabel_sites)]
pub mod pages;
pub mod scenario;
pub mod switch;
#[cfg(jumplabel_sites)]
pub mod twin;
#[cfg(jumplabel_sites)]
pub mod writers;
