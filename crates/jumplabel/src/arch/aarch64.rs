//! AArch64: one aligned word, which any thread fetches whole, old or new (Arm ARM B2.2.5, "Concurrent modification and
//! execution of instructions", which names `NOP` and `B`).
//!
//! ```text
//!  pristine   1f 20 03 d5   nop
//!  jump       imm26 | 14    b target      +-128 MiB
//! ```
//!
//! A naked key's function has such a site, too, and not an immediate that changes: the manual does not name `MOV`.

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
    match state {
        State::Pristine => 0xd503_201f_u32.to_le_bytes(),
        State::Jump => (0x1400_0000 | displacement as u32 >> 2 & 0x03ff_ffff).to_le_bytes(),
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

/// What this processor says of its caches (`CTR_EL0.IDC`, bit 28, and `.DIC`, bit 29).
#[must_use]
pub fn caches() -> Caches {
    let ctr: u64;
    // SAFETY: reads a register that Linux lets programs read.
    unsafe { core::arch::asm!("mrs {}, ctr_el0", out(reg) ctr, options(nomem, nostack, preserves_flags)) };
    Caches::Acts { clean: ctr >> 28 & 1 == 0, invalidate: ctr >> 29 & 1 == 0 }
}

/// Carries out one act of cache maintenance (Arm ARM B2.4.4).
///
/// # Safety
/// Addresses are of sites, mapped and readable.
pub unsafe fn act(act: Act) {
    // SAFETY: by the contract; nothing but caches and what was fetched ahead changes.
    unsafe {
        match act {
            Act::Clean(site) => core::arch::asm!("dc cvau, {}", in(reg) site, options(nostack, preserves_flags)),
            Act::Invalidate(site) => core::arch::asm!("ic ivau, {}", in(reg) site, options(nostack, preserves_flags)),
            Act::Complete => core::arch::asm!("dsb ish", options(nostack, preserves_flags)),
            Act::Serialise => core::arch::asm!("isb", options(nostack, preserves_flags)),
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
        concat!("mov w0, #", $value, "\nret\n")
    };
}

/// The body of a constructor that takes nothing: calls `$function` with the object's record. `hint #34` is `bti c`: where
/// branch targets are checked, the loader's call must find one.
#[doc(hidden)]
#[macro_export]
macro_rules! __entry_asm {
    ($function:literal) => {
        concat!(
            "hint #34\n",
            "adrp x0, __jumplabel_object\n",
            "add x0, x0, :lo12:__jumplabel_object\n",
            "b ",
            $function,
            "\n",
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

/// Calls `$function`, which writes w0, and no flags. The link register changes, and a linker's veneer may write x16 and x17.
#[doc(hidden)]
#[macro_export]
macro_rules! __naked_call {
    ($function:path) => {
        $crate::__naked_check!(
            $function,
            concat!("bl ", $crate::__naked_callee_asm!()),
            (nomem, nostack, preserves_flags),
            "w0" u32,
            "x16" "x17" "x30"
        )
    };
}
