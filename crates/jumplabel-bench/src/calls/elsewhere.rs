//! A static call and a function that another crate calls. This library is linked without LTO.
#![allow(clippy::missing_safety_doc)]

#[path = "../isa/mod.rs"]
#[allow(unused_imports, unused_macros, dead_code)] // Only one of the macros is used here.
mod isa;

jumplabel::static_call! {
    /// A static call of this crate.
    pub static ELSEWHERE: extern "C" fn(u64) -> u64 = triple;
}

/// The target of all ways to call in `calls`.
#[unsafe(naked)]
pub extern "C" fn triple(_x: u64) -> u64 {
    core::arch::naked_asm!(isa::triples!())
}
