//! Encodings of one instruction set: the instruction of a site in each of its states, and the steps between them.
//!
//! An arch file defines, in this order, and nothing else:
//!
//! | item | meaning |
//! |---|---|
//! | `SITE_SIZE` | bytes of a site |
//! | `State` | the states of a site; `falls_through`, `toward`, `name` |
//! | `displacement` | from a site to its target, or out of range |
//! | `encode` | the bytes of a state |
//! | `decode` | the state of some bytes, or foreign |
//! | `STEPS`, `step`, `undo` | the writes that lead from one state to another, with a core sync after each |
//! | `canary`, `canary_code`, `canary_target` | a function of our own with one site, on which a writer proves itself |
//! | `__site_asm!` | the template of a site and its table entry |
//!
//! No system calls, no policy.

// A kernel's own platform has no use for the canary.
#[cfg(all(jumplabel_sites, target_arch = "x86_64"))]
#[cfg_attr(not(feature = "std"), allow(dead_code))]
mod x86_64;
#[cfg(all(jumplabel_sites, target_arch = "x86_64"))]
pub use x86_64::*;

#[cfg(not(jumplabel_sites))]
mod fallback;
#[cfg(not(jumplabel_sites))]
pub use fallback::*;

/// A run of bytes inside a site, written in one go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Offset in the site.
    pub offset: u8,
    /// How many of `bytes` count.
    pub len: u8,
    /// The bytes.
    pub bytes: [u8; 4],
}

impl Piece {
    /// The bytes to write.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}
