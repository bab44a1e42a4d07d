//! LoongArch, 64 bits: one aligned word.
//!
//! ```text
//!  pristine   00 00 40 03          andi $zero, $zero, 0
//!  jump       14 | lo16 | hi10     b target    +-128 MiB
//! ```
//!
//! By the manual (LoongArch Reference Manual, volume 1), hardware keeps instruction caches coherent with stores of other
//! processors (2.1.7.1), and a fetch behind `IBAR` sees all stores before it (2.2.8.2). The manual does not speak of a thread
//! that runs a word while another stores it. Linux's own jump labels rely on one of the two being run, for this nop and this
//! `b`; so a naked key's function has such a site, too, and not an immediate that changes.
//!
//! `IBAR` is for one processor, and Linux (7.2) has no membarrier that makes the others execute it: they see a flip soon, or,
//! where the program opts in to core sync by signal, at once.

use super::word::{self, State as Word};
use super::{Act, Caches, Piece};

/// Bytes of a site.
pub const SITE_SIZE: usize = 4;

/// Whether a piece is one instruction that must not be seen in parts.
pub const WHOLE: bool = true;

/// What a site can hold.
pub type State = Word;

/// The displacement from the site at `address` to `target`, `None` where `b` does not reach (128 MiB).
#[must_use]
pub const fn displacement(address: usize, target: usize) -> Option<i32> {
    word::displacement(address, target.wrapping_sub(address) as isize, 28, 4)
}

/// The bytes of a site in `state`.
#[must_use]
pub const fn encode(state: State, displacement: i32) -> [u8; SITE_SIZE] {
    let words = displacement as u32 >> 2;
    match state {
        State::Pristine => 0x0340_0000_u32.to_le_bytes(),
        State::Jump => (0x5000_0000 | (words & 0xffff) << 10 | words >> 16 & 0x3ff).to_le_bytes(),
    }
}

/// The state that `bytes` are, `None` where they are none of ours.
#[must_use]
pub fn decode(bytes: [u8; SITE_SIZE], displacement: i32) -> Option<State> {
    word::decode(bytes, encode(State::Pristine, displacement), encode(State::Jump, displacement))
}

/// How many steps a change has at most; a core sync follows each.
pub const STEPS: u8 = 1;

/// What step number `step` writes on the way `from` -> `to`, `None` where it has nothing to do.
#[must_use]
#[inline]
pub fn step(_step: u8, from: State, to: State, displacement: i32) -> Option<Piece> {
    word::step(from, to, encode(to, displacement))
}

/// What takes step number `step` back.
#[must_use]
#[inline]
pub fn undo(_step: u8, from: State, to: State, displacement: i32) -> Option<Piece> {
    word::step(from, to, encode(from, displacement))
}

/// Caches are coherent; what was fetched ahead is not.
#[must_use]
pub const fn caches() -> Caches {
    Caches::Acts { clean: false, invalidate: false }
}

/// Carries out one act of cache maintenance: what there is an instruction for.
///
/// # Safety
/// None is needed.
pub unsafe fn act(act: Act) {
    // SAFETY: nothing changes but what was fetched ahead.
    unsafe {
        match act {
            Act::Clean(_) | Act::Invalidate(_) => {}
            Act::Complete => core::arch::asm!("dbar 0", options(nostack, preserves_flags)),
            Act::Serialise => core::arch::asm!("ibar 0", options(nostack, preserves_flags)),
        }
    }
}

/// A site. No state of it changes anything.
#[doc(hidden)]
#[macro_export]
macro_rules! __site_options {
    ($($site:tt)*) => {
        $crate::__site_asm!((nostack, nomem, preserves_flags), ".Ljump_site_\\n\\(): b \\t",
            ".Ljump_site_\\n\\(): nop", $($site)*)
    };
}

/// A pristine site behind `$label`.
#[doc(hidden)]
#[macro_export]
macro_rules! __nop_asm {
    ($label:literal, $target:literal) => {
        concat!($label, "\nnop\n")
    };
}

/// A site behind `$label` that jumps.
#[doc(hidden)]
#[macro_export]
macro_rules! __jump_asm {
    ($label:literal, $target:literal) => {
        concat!($label, "\nb ", $target, "\n")
    };
}

/// Returns `$value` from a C function.
#[doc(hidden)]
#[macro_export]
macro_rules! __return_asm {
    ($value:literal) => {
        concat!("ori $a0, $zero, ", $value, "\nret\n")
    };
}

/// The body of a constructor that takes nothing: calls `$function` with the object's record. As far as rustc's own calls.
#[doc(hidden)]
#[macro_export]
macro_rules! __entry_asm {
    ($function:literal) => {
        concat!("la.local $a0, __jumplabel_object\n", "tail36 $t0, ", $function, "\n")
    };
}

/// The function of a naked key.
#[doc(hidden)]
#[macro_export]
macro_rules! __naked_asm {
    ($default:literal) => {
        $crate::__naked_branch_asm!($default)
    };
}

/// Calls `$function`, which writes a0; the return address changes. Two instructions reach as far as rustc's own calls do; a
/// linker that relaxes makes one of them, `bl`.
#[doc(hidden)]
#[macro_export]
macro_rules! __naked_call {
    ($function:path) => {
        $crate::__naked_check!(
            $function,
            concat!("call36 ", $crate::__naked_callee_asm!()),
            (nomem, nostack, preserves_flags),
            "$a0" u64,
            "$ra"
        )
    };
}
