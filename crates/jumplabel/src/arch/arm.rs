//! Armv7-A, in A32 code: one aligned word, which any thread fetches whole, old or new (Arm ARM for Armv7-A, A3.5.4, which names
//! `NOP` and `B`). Thumb code has no sites.
//!
//! ```text
//!  pristine   00 f0 20 e3   nop
//!  jump       imm24 | ea    b target      +-32 MiB around the site + 8
//! ```

use super::word::{self, State as Word};
use super::{Act, Caches, Piece};

/// Bytes of a site.
pub const SITE_SIZE: usize = 4;

/// Whether a piece is one instruction that must not be seen in parts.
pub const WHOLE: bool = true;

/// What a site can hold.
pub type State = Word;

/// The displacement from the site at `address` to `target`, `None` where `b` does not reach (32 MiB).
#[must_use]
pub const fn displacement(address: usize, target: usize) -> Option<i32> {
    word::displacement(address, target.wrapping_sub(address).wrapping_sub(8) as isize, 26, 4)
}

/// The bytes of a site in `state`.
#[must_use]
pub const fn encode(state: State, displacement: i32) -> [u8; SITE_SIZE] {
    match state {
        State::Pristine => 0xe320_f000_u32.to_le_bytes(),
        State::Jump => (0xea00_0000 | displacement as u32 >> 2 & 0x00ff_ffff).to_le_bytes(),
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

/// No program may do it: there is the system call `cacheflush`.
#[must_use]
pub const fn caches() -> Caches {
    Caches::System
}

/// Carries out one act of cache maintenance: what a program may.
///
/// # Safety
/// None is needed.
pub unsafe fn act(act: Act) {
    if let Act::Serialise = act {
        // SAFETY: nothing changes but what was fetched ahead.
        unsafe { core::arch::asm!("isb", options(nostack, preserves_flags)) };
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
        concat!("mov r0, #", $value, "\nbx lr\n")
    };
}

/// The body of a constructor that takes nothing: calls `$function` with the object's record.
#[doc(hidden)]
#[macro_export]
macro_rules! __entry_asm {
    ($function:literal) => {
        concat!(
            "ldr r0, 3f\n",
            "2: add r0, pc, r0\n",
            "b ",
            $function,
            "\n",
            "3: .long __jumplabel_object - (2b + 8)\n",
        )
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

/// Calls `$function`, which writes r0, and no flags. The link register changes, and a linker's veneer may write r12.
#[doc(hidden)]
#[macro_export]
macro_rules! __naked_call {
    ($function:path) => {
        $crate::__naked_check!(
            $function,
            concat!("bl ", $crate::__naked_callee_asm!()),
            (nomem, nostack, preserves_flags),
            "r0" u32,
            "r12" "lr"
        )
    };
}
