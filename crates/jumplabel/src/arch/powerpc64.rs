//! POWER, 64 bits, little endian, ELFv2: one aligned word (Power ISA book I, 2.4, `b`; book II, 1.8, "Instruction storage").
//!
//! ```text
//!  pristine   00 00 00 60   ori 0,0,0
//!  jump       LI | 48       b target      +-32 MiB
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
    word::displacement(address, target.wrapping_sub(address) as isize, 26, 4)
}

/// The bytes of a site in `state`.
#[must_use]
pub const fn encode(state: State, displacement: i32) -> [u8; SITE_SIZE] {
    match state {
        State::Pristine => 0x6000_0000_u32.to_le_bytes(),
        State::Jump => (0x4800_0000 | displacement as u32 & 0x03ff_fffc).to_le_bytes(),
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

/// The sequence that is right on all of them.
#[must_use]
pub const fn caches() -> Caches {
    Caches::Acts { clean: true, invalidate: true }
}

/// Carries out one act of cache maintenance (Power ISA book II, 1.8).
///
/// # Safety
/// Addresses are of sites, mapped and readable.
pub unsafe fn act(act: Act) {
    // SAFETY: by the contract; nothing but caches and what was fetched ahead changes.
    unsafe {
        match act {
            Act::Clean(site) => core::arch::asm!("dcbst 0, {}", in(reg) site, options(nostack, preserves_flags)),
            Act::Invalidate(site) => core::arch::asm!("icbi 0, {}", in(reg) site, options(nostack, preserves_flags)),
            Act::Complete => core::arch::asm!("sync", options(nostack, preserves_flags)),
            Act::Serialise => core::arch::asm!("isync", options(nostack, preserves_flags)),
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
        concat!("li 3, ", $value, "\nblr\n")
    };
}

/// The body of a constructor that takes nothing: calls `$function` with the object's record. The caller has
/// put its address into r12, from which the TOC follows.
#[doc(hidden)]
#[macro_export]
macro_rules! __entry_asm {
    ($function:literal) => {
        concat!(
            ".L",
            $function,
            "_entry:\n",
            "addis 2, 12, .TOC.-.L",
            $function,
            "_entry@ha\n",
            "addi 2, 2, .TOC.-.L",
            $function,
            "_entry@l\n",
            "mflr 0\n",
            "std 0, 16(1)\n",
            "stdu 1, -32(1)\n",
            "addis 3, 2, __jumplabel_object@toc@ha\n",
            "addi 3, 3, __jumplabel_object@toc@l\n",
            "bl ",
            $function,
            "\n",
            "nop\n",
            "addi 1, 1, 32\n",
            "ld 0, 16(1)\n",
            "mtlr 0\n",
            "blr\n",
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

/// Calls `$function`, which writes r3; the link register changes, and a linker's stub may write r11, r12 and ctr.
#[doc(hidden)]
#[macro_export]
macro_rules! __naked_call {
    ($function:path) => {
        $crate::__naked_check!(
            $function,
            concat!("bl ", $crate::__naked_callee_asm!()),
            (nomem, nostack, preserves_flags),
            "r3" u64,
            "r11" "r12" "lr" "ctr"
        )
    };
}
