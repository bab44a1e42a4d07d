//! z/Architecture: `brcl`, whose mask says when it jumps: never or always. One byte makes the difference, and the displacement
//! stays (Principles of Operation, "Branch relative on condition long").
//!
//! ```text
//!  pristine   c0 04 rel32   brcl 0, target
//!  jump       c0 f4 rel32   brcl 15, target     rel32: half of the distance, big endian
//! ```

use super::word::State as Word;
use super::{Act, Caches, Piece};

/// Bytes of a site.
pub const SITE_SIZE: usize = 6;

/// Whether a piece is one instruction that must not be seen in parts. Here it is one byte.
pub const WHOLE: bool = false;

/// What a site can hold.
pub type State = Word;

/// The displacement from the site at `address` to `target`, in bytes, `None` where a word does not hold it (2 GiB).
#[must_use]
pub fn displacement(address: usize, target: usize) -> Option<i32> {
    i32::try_from(target.wrapping_sub(address) as isize).ok().filter(|distance| distance % 2 == 0)
}

/// The bytes of a site in `state`.
#[must_use]
pub const fn encode(state: State, displacement: i32) -> [u8; SITE_SIZE] {
    let [a, b, c, d] = (displacement / 2).to_be_bytes();
    [0xc0, mask(state), a, b, c, d]
}

const fn mask(state: State) -> u8 {
    match state {
        State::Pristine => 0x04,
        State::Jump => 0xf4,
    }
}

/// The state that `bytes` are, `None` where they are none of ours.
#[must_use]
pub fn decode(bytes: [u8; SITE_SIZE], displacement: i32) -> Option<State> {
    [State::Pristine, State::Jump].into_iter().find(|&state| bytes == encode(state, displacement))
}

/// How many steps a change has at most; a core sync follows each.
pub const STEPS: u8 = 1;

/// What step number `step` writes on the way `from` -> `to`, `None` where it has nothing to do.
#[must_use]
#[inline]
pub fn step(_step: u8, from: State, to: State, _displacement: i32) -> Option<Piece> {
    (from != to).then_some(Piece { offset: 1, len: 1, bytes: [mask(to), 0, 0, 0] })
}

/// What takes step number `step` back.
#[must_use]
#[inline]
pub fn undo(_step: u8, from: State, to: State, _displacement: i32) -> Option<Piece> {
    (from != to).then_some(Piece { offset: 1, len: 1, bytes: [mask(from), 0, 0, 0] })
}

/// Instruction fetches see stores.
#[must_use]
pub const fn caches() -> Caches {
    Caches::Coherent
}

/// Nothing to be done but to serialise (`bcr 15,0`).
///
/// # Safety
/// None is needed.
pub unsafe fn act(act: Act) {
    if let Act::Serialise = act {
        // SAFETY: nothing changes but what was fetched ahead.
        unsafe { core::arch::asm!("bcr 15, 0", options(nostack, preserves_flags)) };
    }
}

/// A site. No state of it changes anything.
#[doc(hidden)]
#[macro_export]
macro_rules! __site_options {
    ($($site:tt)*) => {
        $crate::__site_asm!((nostack, nomem, preserves_flags), ".Ljump_site_\\n\\(): brcl 15, \\t",
            ".Ljump_site_\\n\\(): brcl 0, \\t", $($site)*)
    };
}

/// A pristine site behind `$label`.
#[doc(hidden)]
#[macro_export]
macro_rules! __nop_asm {
    ($label:literal, $target:literal) => {
        concat!($label, "\nbrcl 0, ", $target, "\n")
    };
}

/// A site behind `$label` that jumps.
#[doc(hidden)]
#[macro_export]
macro_rules! __jump_asm {
    ($label:literal, $target:literal) => {
        concat!($label, "\nbrcl 15, ", $target, "\n")
    };
}

/// Returns `$value` from a C function.
#[doc(hidden)]
#[macro_export]
macro_rules! __return_asm {
    ($value:literal) => {
        concat!("lghi %r2, ", $value, "\nbr %r14\n")
    };
}

/// The body of a constructor that takes nothing: calls `$function` with the object's record.
#[doc(hidden)]
#[macro_export]
macro_rules! __entry_asm {
    ($function:literal) => {
        concat!("larl %r2, __jumplabel_object\n", "jg ", $function, "\n")
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

/// Calls `$function`, which writes r2; r14 is what it returns by.
#[doc(hidden)]
#[macro_export]
macro_rules! __naked_call {
    ($function:path) => {
        $crate::__naked_check!(
            $function,
            concat!("brasl %r14, ", $crate::__naked_callee_asm!()),
            (nomem, nostack, preserves_flags),
            "r2" u64,
            "r14"
        )
    };
}
