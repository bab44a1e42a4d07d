//! A library that is linked without LTO: a static call and a function, which another crate calls.
#![allow(clippy::missing_safety_doc)]

#[path = "../isa/mod.rs"]
#[allow(unused_imports, unused_macros, dead_code)] // Only one of the macros is used here.
mod isa;

jumplabel::static_call! {
    /// A static call of this crate.
    pub static ELSEWHERE: extern "C" fn(u64) -> u64 = triple;
}

/// The function to which all ways of `calls` lead.
#[unsafe(naked)]
pub extern "C" fn triple(_x: u64) -> u64 {
    core::arch::naked_asm!(isa::triples!())
}
