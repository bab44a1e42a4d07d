//! RV64: one aligned word, which is fetched whole, old or new, once it is aligned: with compressed instructions the assembler
//! aligns to 2 bytes only. (RISC-V unprivileged ISA: 2.5.1, `JAL`; 3, "Zifencei".)
//!
//! ```text
//!  pristine   13 00 00 00    addi x0, x0, 0
//!  jump       imm20 | 6f     jal x0, target    +-1 MiB
//!
//!  false      13 05 00 00    li a0, 0          the first of two instructions of a naked key's function; `jr t0` follows
//!  true       13 05 10 00    li a0, 1
//! ```
//!
//! A site and its other arm are in one function, so that a mebibyte is far. Beyond it, a site that starts as a jump is an
//! error of the assembler or linker, and one that starts as a nop an `OutOfRange` at the first flip. A stub in reach would
//! cost each site a register.

use super::word;
use super::{Act, Caches, Piece};

/// Bytes of a site.
pub const SITE_SIZE: usize = 4;

/// Whether a piece is one instruction that must not be seen in parts.
pub const WHOLE: bool = true;

/// What a site can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// A nop. Falls through.
    Pristine,
    /// A jump.
    Jump,
    /// `li a0, 0`, in the function of a naked key: it returns false.
    False,
    /// `li a0, 1`: it returns true.
    True,
}

impl State {
    /// The state that the compiler emits.
    #[must_use]
    pub const fn emitted(naked: bool, jump: bool) -> State {
        match (naked, jump) {
            (false, false) => State::Pristine,
            (false, true) => State::Jump,
            (true, false) => State::False,
            (true, true) => State::True,
        }
    }

    /// Whether a naked function, or any other site, can hold it.
    #[must_use]
    pub const fn is_of(self, naked: bool) -> bool {
        matches!(self, State::False | State::True) == naked
    }

    /// Whether execution goes on behind the site, so that the check yields its arm. A naked function, whose arm is false,
    /// "jumps" where it returns true.
    #[must_use]
    pub const fn falls_through(self) -> bool {
        !matches!(self, State::Jump | State::True)
    }

    /// The state to go to.
    #[must_use]
    pub const fn toward(self, jump: bool) -> State {
        State::emitted(self.is_of(true), jump)
    }

    /// A word for listings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            State::Pristine => "nop",
            State::Jump => "jump",
            State::False => "false",
            State::True => "true",
        }
    }
}

/// The displacement from the site at `address` to `target`, `None` where `jal` does not reach (1 MiB).
#[must_use]
pub const fn displacement(address: usize, target: usize) -> Option<i32> {
    word::displacement(address, target.wrapping_sub(address) as isize, 21, 2)
}

/// The bytes of a site in `state`.
#[must_use]
pub const fn encode(state: State, displacement: i32) -> [u8; SITE_SIZE] {
    let bits = displacement as u32;
    let field = (bits & 0x10_0000) << 11 | (bits & 0x7fe) << 20 | (bits & 0x800) << 9 | bits & 0xf_f000;
    match state {
        State::Pristine => 0x13_u32.to_le_bytes(),
        State::Jump => (field | 0x6f).to_le_bytes(),
        State::False => 0x513_u32.to_le_bytes(),
        State::True => 0x10_0513_u32.to_le_bytes(),
    }
}

/// The state that `bytes` are, `None` where they are none of ours.
#[must_use]
pub fn decode(bytes: [u8; SITE_SIZE], displacement: i32) -> Option<State> {
    let states = [State::Pristine, State::Jump, State::False, State::True];
    states.into_iter().find(|&state| bytes == encode(state, displacement))
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

/// `fence.i` is for one processor; for all there is `riscv_flush_icache`.
#[must_use]
pub const fn caches() -> Caches {
    Caches::System
}

/// Carries out one act of cache maintenance: what there is an instruction for.
///
/// # Safety
/// None is needed.
pub unsafe fn act(act: Act) {
    if let Act::Serialise = act {
        // SAFETY: nothing changes but what was fetched ahead.
        unsafe { core::arch::asm!("fence.i", options(nostack, preserves_flags)) };
    }
}

/// A site. No state of it changes anything.
#[doc(hidden)]
#[macro_export]
macro_rules! __site_options {
    ($($site:tt)*) => {
        $crate::__site_asm!((nostack, nomem, preserves_flags), ".option push;.p2align 2;.option norvc;.Ljump_site_\\n\\(): jal zero, \\t;.option pop",
            ".option push;.p2align 2;.option norvc;.Ljump_site_\\n\\(): nop;.option pop", $($site)*)
    };
}

/// A pristine site behind `$label`. Aligned before compressed instructions are forbidden, or the linker would not know that
/// it has to keep the alignment when it deletes code before it.
#[doc(hidden)]
#[macro_export]
macro_rules! __nop_asm {
    ($label:literal, $target:literal) => {
        concat!(".option push\n.p2align 2\n.option norvc\n", $label, "\nnop\n.option pop\n")
    };
}

/// A site behind `$label` that jumps.
#[doc(hidden)]
#[macro_export]
macro_rules! __jump_asm {
    ($label:literal, $target:literal) => {
        concat!(".option push\n.p2align 2\n.option norvc\n", $label, "\njal zero, ", $target, "\n.option pop\n")
    };
}

/// Returns `$value` from a C function.
#[doc(hidden)]
#[macro_export]
macro_rules! __return_asm {
    ($value:literal) => {
        concat!("li a0, ", $value, "\nret\n")
    };
}

/// The body of a constructor that takes nothing: calls `$function` with the object's record.
#[doc(hidden)]
#[macro_export]
macro_rules! __entry_asm {
    ($function:literal) => {
        concat!("lla a0, __jumplabel_object\n", "tail ", $function, "\n")
    };
}

/// The function of a naked key: its site, behind label 2. It jumps nowhere. Not compressed, so that the site is one word; it
/// returns by way of t0, so that its caller's own return address stays where it is.
#[doc(hidden)]
#[macro_export]
macro_rules! __naked_asm {
    ($default:literal) => {
        concat!(
            ".cfi_register ra, t0\n.option push\n.p2align 2\n.option norvc\n2:\n3:\nli a0, ",
            $default,
            "\njr t0\n.option pop\n",
        )
    };
}

/// Calls `$function`, which writes a0; t0 is what it returns by.
#[doc(hidden)]
#[macro_export]
macro_rules! __naked_call {
    ($function:path) => {
        $crate::__naked_check!(
            $function,
            concat!("call t0, ", $crate::__naked_callee_asm!()),
            (nomem, nostack, preserves_flags),
            "a0" usize,
            "t0"
        )
    };
}
