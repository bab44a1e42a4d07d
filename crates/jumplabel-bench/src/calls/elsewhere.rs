//! What another crate calls: a static call, and a function, of a library that is linked without LTO.
#![allow(clippy::missing_safety_doc)]

#[path = "../isa/mod.rs"]
#[allow(unused_imports, unused_macros, dead_code)] // One of them is used here.
mod isa;

jumplabel::static_call! {
    /// A static call of this crate.
    pub static ELSEWHERE: extern "C" fn(u64) -> u64 = triple;
}

/// What all ways of `calls` lead to.
#[unsafe(naked)]
pub extern "C" fn triple(_x: u64) -> u64 {
    core::arch::naked_asm!(isa::triples!())
}
