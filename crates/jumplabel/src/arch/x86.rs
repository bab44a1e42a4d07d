//! x86-64 and i686: five bytes; the first one alone decides (Intel SDM volume 2, `JMP`, `TEST`, `NOP`; volume 3, 9.1.3,
//! "Handling self- and cross-modifying code").
//!
//! ```text
//!  pristine   0f 1f 44 00 00   nop                what the compiler emits where the first state falls through
//!  primed     a9 rel32         test eax, imm32    falls through; the displacement sits in the immediate
//!  jump       e9 rel32         jmp rel32
//!
//!  false      b8 00 00 00 00   mov eax, 0         the first of two instructions of a naked key's function; `ret` follows
//!  true       b8 01 00 00 00   mov eax, 1
//! ```
//!
//! primed <-> jump is one byte: it cannot tear. From and to pristine, everything passes through `a9`, under which the
//! four bytes behind it are an immediate that nobody uses, so that they may change one by one:
//!
//! ```text
//!  step 0   opcode := a9       unless it is a9
//!  step 1   tail   := new      unless the tail stays
//!  step 2   opcode := new      unless it is a9
//! ```
//!
//! false <-> true is one byte, too, written in the last step, so that a batch of naked and primed keys takes one step.

use super::{Act, Caches, Piece};

/// Bytes of a site.
pub const SITE_SIZE: usize = 5;

/// Whether a piece is one instruction that must not be seen in parts. Here its bytes may come in any order.
pub const WHOLE: bool = false;

/// What a site can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// A nop as the compiler emitted it. Falls through.
    Pristine,
    /// `test eax, imm32`. Falls through, and one byte away from a jump.
    Primed,
    /// Between the two, with some bytes of each tail: left behind where a process was copied in mid-flip, or where core
    /// sync was refused in mid-flip. Falls through.
    Priming,
    /// `jmp rel32`.
    Jump,
    /// `mov eax, 0`, in the function of a naked key: it returns false.
    False,
    /// `mov eax, 1`: it returns true.
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

    /// The state to go to: `self` where it already does what is wanted.
    #[must_use]
    pub const fn toward(self, jump: bool) -> State {
        match (jump, self) {
            (jump, State::False | State::True) => State::emitted(true, jump),
            (true, _) => State::Jump,
            (false, State::Jump) => State::Primed,
            (false, state) => state,
        }
    }

    /// A word for listings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            State::Pristine => "nop",
            State::Primed => "test",
            State::Priming => "priming",
            State::Jump => "jump",
            State::False => "false",
            State::True => "true",
        }
    }

    const fn opcode(self) -> u8 {
        match self {
            State::Pristine => 0x0f,
            State::Primed | State::Priming => TEST,
            State::Jump => 0xe9,
            State::False | State::True => MOV,
        }
    }

    const fn tail(self, displacement: i32) -> [u8; 4] {
        match self {
            State::Pristine | State::Priming => NOP_TAIL,
            State::Primed | State::Jump => displacement.to_le_bytes(),
            State::False => [0; 4],
            State::True => [1, 0, 0, 0],
        }
    }
}

const TEST: u8 = 0xa9;
const MOV: u8 = 0xb8;
const NOP_TAIL: [u8; 4] = [0x1f, 0x44, 0x00, 0x00];

/// The displacement from the site at `address` to `target`, `None` beyond 2 GiB. On i686 addresses wrap: all are in reach.
#[must_use]
pub fn displacement(address: usize, target: usize) -> Option<i32> {
    i32::try_from((target as isize).wrapping_sub((address as isize).wrapping_add(SITE_SIZE as isize))).ok()
}

/// The bytes of a site in `state`.
#[must_use]
pub fn encode(state: State, displacement: i32) -> [u8; SITE_SIZE] {
    let tail = state.tail(displacement);
    [state.opcode(), tail[0], tail[1], tail[2], tail[3]]
}

/// The state that `bytes` are, `None` where they are none of ours.
#[must_use]
#[inline]
pub fn decode(bytes: [u8; SITE_SIZE], displacement: i32) -> Option<State> {
    match bytes {
        [TEST, tail @ ..] if i32::from_le_bytes(tail) == displacement => Some(State::Primed),
        [0xe9, tail @ ..] if i32::from_le_bytes(tail) == displacement => Some(State::Jump),
        _ => decode_rarer(bytes, displacement.to_le_bytes()),
    }
}

#[inline(never)]
fn decode_rarer(bytes: [u8; SITE_SIZE], own: [u8; 4]) -> Option<State> {
    match bytes {
        [0x0f, tail @ ..] if tail == NOP_TAIL => Some(State::Pristine),
        [TEST, tail @ ..] if (0..4).all(|at| tail[at] == own[at] || tail[at] == NOP_TAIL[at]) => Some(State::Priming),
        [MOV, value @ 0..=1, 0, 0, 0] => Some(State::emitted(true, value == 1)),
        _ => None,
    }
}

/// How many steps a change has at most; a core sync follows each.
pub const STEPS: u8 = 3;

/// What step number `step` writes on the way `from` -> `to`, `None` where it has nothing to do.
#[must_use]
#[inline]
pub fn step(step: u8, from: State, to: State, displacement: i32) -> Option<Piece> {
    match step {
        2 if to.is_of(true) => Some(value(to)),
        _ if to.is_of(true) => None,
        0 if from.opcode() != TEST => Some(opcode(TEST)),
        // Which bytes of a mixed tail are old is not known. Of the others, any displacement tells whether they are alike.
        1 if from == State::Priming || from.tail(-1) != to.tail(-1) => Some(tail(to, displacement)),
        2 if to.opcode() != TEST => Some(opcode(to.opcode())),
        _ => None,
    }
}

/// What takes step number `step` back.
#[must_use]
#[inline]
pub fn undo(number: u8, from: State, to: State, displacement: i32) -> Option<Piece> {
    step(number, from, to, displacement).map(|_| match number {
        0 => opcode(from.opcode()),
        1 => tail(from, displacement),
        _ if from.is_of(true) => value(from),
        _ => opcode(TEST),
    })
}

const fn opcode(byte: u8) -> Piece {
    Piece { offset: 0, len: 1, bytes: [byte, 0, 0, 0] }
}
const fn tail(state: State, displacement: i32) -> Piece {
    Piece { offset: 1, len: 4, bytes: state.tail(displacement) }
}
const fn value(state: State) -> Piece {
    Piece { offset: 1, len: 1, bytes: state.tail(0) }
}

/// Instruction fetches see stores.
#[must_use]
pub const fn caches() -> Caches {
    Caches::Coherent
}

/// Nothing to be done: no caches, and the return from an interrupt or a signal (`iret`) serialises.
/// # Safety
/// None is needed.
pub const unsafe fn act(_: Act) {}

/// A site. A jump changes no flags; a primed site does.
#[doc(hidden)]
#[macro_export]
macro_rules! __site_options {
    ($($site:tt)*) => {
        $crate::__site_asm!((nostack, nomem), ".Ljump_site_\\n\\(): .byte 0xe9;.long \\t - . - 4",
            ".Ljump_site_\\n\\(): .byte 0x0f, 0x1f, 0x44, 0x00, 0x00", $($site)*)
    };
}

/// A pristine site behind `$label`.
#[doc(hidden)]
#[macro_export]
macro_rules! __nop_asm {
    ($label:literal, $target:literal) => {
        concat!($label, "\n.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n")
    };
}

/// A site behind `$label` that jumps.
#[doc(hidden)]
#[macro_export]
macro_rules! __jump_asm {
    ($label:literal, $target:literal) => {
        concat!($label, "\n.byte 0xe9\n.long ", $target, " - . - 4\n")
    };
}

/// Returns `$value` from a C function.
#[doc(hidden)]
#[macro_export]
macro_rules! __return_asm {
    ($value:literal) => {
        concat!("mov eax, ", $value, "\nret\n")
    };
}

/// The body of a constructor that takes nothing: calls `$function` with the object's record.
#[cfg(target_arch = "x86_64")]
#[doc(hidden)]
#[macro_export]
macro_rules! __entry_asm {
    ($function:literal) => {
        concat!("lea rdi, [rip + __jumplabel_object]\n", "jmp ", $function, "@PLT\n")
    };
}

/// The body of a constructor that takes nothing: calls `$function` with the object's record, on an aligned stack.
#[cfg(target_arch = "x86")]
#[doc(hidden)]
#[macro_export]
macro_rules! __entry_asm {
    ($function:literal) => {
        concat!(
            "call 2f\n",
            "2: pop eax\n",
            ".byte 0x05\n.long __jumplabel_object - 2b\n", // add eax, imm32
            "sub esp, 8\n",
            "push eax\n",
            "call ",
            $function,
            "\n",
            "add esp, 12\n",
            "ret\n",
        )
    };
}

/// The function of a naked key: its site, behind label 2. It jumps nowhere.
#[doc(hidden)]
#[macro_export]
macro_rules! __naked_asm {
    ($default:literal) => {
        concat!("2:\n3:\nmov eax, ", $default, "\nret\n")
    };
}

/// Calls `$function`, which writes eax, and no flags. Without `nostack`, the compiler keeps nothing below the stack pointer,
/// where the return address goes.
#[doc(hidden)]
#[macro_export]
macro_rules! __naked_call {
    ($function:path) => {
        $crate::__naked_check!(
            $function,
            concat!("call ", $crate::__naked_callee_asm!()),
            (nomem, preserves_flags),
            "eax" u32
        )
    };
}
