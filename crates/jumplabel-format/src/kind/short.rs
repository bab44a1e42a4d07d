//! The kind of a short check, on x86: its site has two bytes, and its jump reaches 127 bytes. Otherwise it is like a check of five bytes
//! (Intel SDM volume 2, `JMP`, `TEST`, `NOP`).
//!
//! ```text
//!  nop       66 90     xchg ax, ax      what `jumplabel link` writes if the first state falls through
//!  test      a8 rel8   test al, imm8    falls through; the displacement sits in the immediate
//!  priming   a8 90     test al, 0x90    a state between nop and test
//!  jump      eb rel8   jmp rel8         what the assembler emits, whether the first state jumps or falls through
//! ```

use crate::layout::SHORT;
use crate::pass::Pass;
use crate::state::{Leads, Target};
use crate::{Arch, Code, State, StepBytes};

impl State {
    /// A nop of two bytes. Falls through.
    pub const SHORT_NOP: State = State::new(SHORT, 0);
    /// A jump of two bytes.
    pub const SHORT_JUMP: State = State::new(SHORT, 1);
    /// An instruction that falls through. Its first byte is the only one that differs from the short jump.
    pub const SHORT_TEST: State = State::new(SHORT, 2);
    /// The first byte of `SHORT_TEST` and the second byte of the nop: the same as [`State::PRIMING`] of a long check.
    pub const SHORT_PRIMING: State = State::new(SHORT, 3);
    /// One byte of the nop and one of the jump: the same as [`State::TORN`] of a long check.
    pub const SHORT_TORN: State = State::new(SHORT, 4);
}

/// The names of the states, in the order of their numbers.
#[cfg_attr(not(jumplabel_short_kind), allow(dead_code))]
pub(crate) const NAMES: &[&str] = &["nop", "jump", "test", "priming", "torn"];

const TEST: u8 = 0xa8;
const JMP: u8 = 0xeb;
const FIRST: u8 = 0x66;
const NOP: [u8; 2] = [FIRST, 0x90];
const PASS: Pass = Pass { at: 0, byte: TEST };

/// How an instruction set encodes the sites of short checks. Only x86 has them, and only x86 has a [`TAIL`](Arch::TAIL).
pub trait Short: Arch {
    /// The length of a site in bytes.
    const BYTES: usize = 2;

    /// The sort of target that an entry of this kind has.
    const TARGET: Target = Target::Code(1);

    /// The states that a site can have even if its target is out of reach: none.
    const NOWHERE: &'static [State] = &[];

    /// The places to which a site at this address can lead.
    fn leads(_address: usize) -> Leads {
        Leads::ToTarget
    }

    /// The bytes of a site in this state. They hold only the lowest byte of the displacement, which is the whole displacement if the target
    /// is in reach.
    fn encode(state: State, displacement: i32) -> Code {
        let [own, ..] = displacement.to_le_bytes();
        let bytes = match state {
            State::SHORT_JUMP => [JMP, own],
            State::SHORT_TEST => [TEST, own],
            State::SHORT_PRIMING => [TEST, NOP[1]],
            _ => NOP,
        };
        Code::new(SHORT, &bytes)
    }

    /// The state of a site that holds `code`. `None` if no state of this kind has this code, or if the target is unknown or out of reach.
    fn decode(code: Code, displacement: Option<i32>) -> Option<State> {
        let displacement = displacement.and_then(reach).filter(|_| Self::TAIL.is_some())?;
        let ([own, ..], &[first, second]) = (displacement.to_le_bytes(), &*code) else { return None };
        match first {
            TEST if second == own => Some(State::SHORT_TEST),
            JMP if second == own => Some(State::SHORT_JUMP),
            FIRST if second == NOP[1] => Some(State::SHORT_NOP),
            TEST if second == NOP[1] => Some(State::SHORT_PRIMING),
            JMP if second == NOP[1] => Some(State::SHORT_TORN),
            FIRST if second == own => Some(State::SHORT_TORN),
            _ => None,
        }
    }

    /// The state that a site in state `from` must change to, so that it does `action`. The site must jump if `action` is not 0. If the site
    /// already does `action`, the result is `from`.
    fn toward(from: State, action: usize, _displacement: Option<i32>) -> State {
        match (action, from) {
            (0, State::SHORT_JUMP | State::SHORT_TORN) => State::SHORT_TEST,
            (0, from) => from,
            _ => State::SHORT_JUMP,
        }
    }

    /// The state after `jumplabel link` of a site whose first state does `action`. The assembler emits all sites as jumps. If `action` is
    /// 0, `jumplabel link` writes the nop instead.
    fn emitted(action: usize) -> State {
        if action == 0 { State::SHORT_NOP } else { State::SHORT_JUMP }
    }

    /// The action of a site in this state: 1 if it jumps; 2 if it is torn, which no setting asks for.
    fn action(state: State) -> usize {
        match state {
            State::SHORT_JUMP => 1,
            State::SHORT_TORN => 2,
            _ => 0,
        }
    }

    /// The bytes of a step. The steps are those of a site of five bytes, but the instruction in between is `test al, imm8`.
    #[doc(hidden)]
    fn step(number: u8, old: Code, new: Code) -> Option<StepBytes> {
        Self::TAIL?; // Without a tail, the compiler leaves the code below out.
        PASS.step(number, old, new)
    }

    /// The bytes that take a step back.
    #[doc(hidden)]
    fn undo(number: u8, old: Code, new: Code) -> Option<StepBytes> {
        Self::TAIL?;
        PASS.undo(number, old, new)
    }
}

impl<A: Arch> Short for A {}

/// Returns the displacement if a short jump can hold it.
#[inline]
pub(crate) fn reach(displacement: i32) -> Option<i32> {
    i8::try_from(displacement).ok().map(i32::from)
}
