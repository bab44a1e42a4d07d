//! x86-64 and i686: sites of five bytes. The first byte alone decides which instruction runs (Intel SDM volume 2, `JMP`, `TEST`, `NOP`; volume
//! 3, 9.1.3, "Handling self- and cross-modifying code").
//!
//! ```text
//!  nop       0f 1f 44 00 00   nop                what the compiler emits if the first state falls through
//!  test      a9 rel32         test eax, imm32    falls through; the displacement sits in the immediate
//!  jump      e9 rel32         jmp rel32
//!
//!  false     b8 00 00 00 00   mov eax, 0         the first of two instructions of a naked key's function; `ret` follows
//!  true      b8 01 00 00 00   mov eax, 1
//!
//!  direct    e9 rel32         jmp rel32          a static call's trampoline; after it, a jump through the slot
//!  indirect  a9 any           test eax, imm32    falls through to that jump
//! ```
//!
//! A change of one byte cannot tear: test <-> jump, false <-> true. Every other change first makes the first byte `a9` (`pass.rs`). The four bytes
//! after `a9` are an immediate, whose value does not matter, so they can change while threads run the site.

mod decoder;
mod form;
mod op;
mod stack;

use crate::kind::branch::Branch;
use crate::kind::jump::Jump;
use crate::kind::naked::Naked;
use crate::layout::{BRANCH, JUMP, NAKED};
use crate::pass::Pass;
use crate::{Arch, Code, State, StepBytes};

/// The instruction set with addresses of `BITS` bits: x86-64 or i686.
#[derive(Clone, Copy, Debug)]
pub struct X86<const BITS: u32>;

const TEST: u8 = 0xa9;
const JMP: u8 = 0xe9;
const MOV: u8 = 0xb8;
const NOP: u8 = 0x0f;
const NOP_TAIL: u32 = 0x441f;

impl<const BITS: u32> Arch for X86<BITS> {
    const SIZE: usize = 5;
    const SINGLE_STORE: bool = false;
    const STEPS: u8 = Pass::STEPS;
    const TAIL: Option<u32> = Some(1);

    /// The displacement of the jump. `None` if the distance is more than 2 GiB. On i686 addresses wrap around, so all targets are in reach.
    #[inline]
    fn displacement(address: u64, target: u64) -> Option<i32> {
        let distance = target.wrapping_sub(address).wrapping_sub(Self::SIZE as u64);
        if BITS == 32 { Some(distance as i32) } else { i32::try_from(distance.cast_signed()).ok() }
    }

    #[inline]
    fn step(number: u8, old: Code, new: Code) -> Option<StepBytes> {
        PASS.step(number, old, new)
    }

    fn undo(number: u8, old: Code, new: Code) -> Option<StepBytes> {
        PASS.undo(number, old, new)
    }
}

const PASS: Pass = Pass { at: 0, byte: TEST };

impl Code {
    const fn opcode(self) -> u8 {
        self.word() as u8
    }

    const fn tail(self) -> u32 {
        (self.word() >> 8) as u32
    }
}

/// The bytes of an instruction: `opcode`, then `tail`, which is a displacement or an immediate.
const fn with_tail(kind: u8, opcode: u8, tail: i32) -> Code {
    Code::of_parts(kind, 5, (tail.cast_unsigned() as u64) << 8 | opcode as u64)
}

impl<const BITS: u32> Branch for X86<BITS> {
    #[inline]
    fn encode(state: State, displacement: i32) -> Code {
        let (opcode, tail) = match state {
            State::JUMP => (JMP, displacement),
            State::TEST => (TEST, displacement),
            State::PRIMING => (TEST, NOP_TAIL.cast_signed()),
            _ => (NOP, NOP_TAIL.cast_signed()),
        };
        with_tail(BRANCH, opcode, tail)
    }

    #[inline]
    fn decode(code: Code, displacement: Option<i32>) -> Option<State> {
        let own = displacement?.cast_unsigned();
        match code.opcode() {
            TEST if code.tail() == own => Some(State::TEST),
            JMP if code.tail() == own => Some(State::JUMP),
            _ => decode_rarer(code, own),
        }
    }

    fn toward(from: State, action: usize, _displacement: Option<i32>) -> State {
        match (action, from) {
            (0, State::JUMP | State::TORN) => State::TEST,
            (0, from) => from,
            _ => State::JUMP,
        }
    }
}

/// Decodes a site that is in one of three rarer cases: it was never flipped; or its process was forked in mid-flip; or it lies across two
/// pages, one of which has lost its changes.
#[inline(never)]
fn decode_rarer(code: Code, own: u32) -> Option<State> {
    // True if each byte of the tail is that of the displacement or that of the nop: then the tail was written, or lost, only in part.
    let is_mixture = || {
        let tails = [code.tail(), own, NOP_TAIL].map(u32::to_le_bytes);
        (0..4).all(|at| tails[0][at] == tails[1][at] || tails[0][at] == tails[2][at])
    };
    match code.opcode() {
        NOP if code.tail() == NOP_TAIL => Some(State::NOP),
        TEST if is_mixture() => Some(State::PRIMING),
        NOP | JMP if is_mixture() => Some(State::TORN),
        _ => None,
    }
}

impl<const BITS: u32> Naked for X86<BITS> {
    #[inline(never)]
    fn encode(state: State, _displacement: i32) -> Code {
        with_tail(NAKED, MOV, i32::from(state == State::TRUE))
    }
}

impl<const BITS: u32> Jump for X86<BITS> {
    fn encode(state: State, displacement: i32) -> Code {
        with_tail(JUMP, if state == State::DIRECT { JMP } else { TEST }, displacement)
    }

    /// The state of a site that holds `code`. If the first byte is `a9`, the bytes after it do not matter.
    fn decode(code: Code, displacement: Option<i32>) -> Option<State> {
        match (code.opcode(), displacement) {
            (JMP, Some(own)) if code.tail() == own.cast_unsigned() => Some(State::DIRECT),
            (TEST, _) => Some(State::INDIRECT),
            _ => None,
        }
    }
}
