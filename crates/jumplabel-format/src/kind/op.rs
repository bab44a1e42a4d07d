//! The kind of an operation in place: its site is an instruction of the program, or a jump to a backend's stub.
//!
//! The entry has an arm for each mode of the table of operations. An arm is an address to jump to, or an instruction that the site can
//! hold. The part of a site that changes is as long as a jump. If an instruction is longer, its other bytes never change. While the site
//! holds a jump, no thread executes these other bytes.
//!
//! Every state is one instruction, so no thread is ever inside a site. But a site cannot pass through a third instruction on its way from one
//! instruction to another. So a change is a single step, and no thread may execute the site during that step ([`Demand::Unexecuted`]).

use super::jump::Jump;
use crate::layout::OP;
use crate::state::{Leads, Target};
use crate::{Code, Demand, State, StepBytes};

impl State {
    /// An arm's instruction.
    pub const IN_PLACE: State = State::new(OP, 0);
    /// A jump to a stub.
    pub const BY_STUB: State = State::new(OP, 1);
}

/// The names of the states, in the order of their numbers.
pub(crate) const NAMES: &[&str] = &["in-place", "by-stub"];

/// How an instruction set makes the contents of the sites of operations in place.
pub trait Op: Jump {
    /// The number of bytes of a site that can change.
    const BYTES: usize = <Self as Jump>::BYTES;

    /// Checks whether `bytes` can be the instruction of a site.
    ///
    /// # Errors
    /// The rule that the instruction breaks.
    fn examine(bytes: &[u8]) -> Result<(), Fault> {
        if bytes.len() == <Self as Op>::BYTES { Ok(()) } else { Err(Fault::Length) }
    }

    /// The bytes of the changing part that a site at address `to` must hold, so that it does what the instruction `bytes` does at address
    /// `from`.
    fn moved(bytes: &[u8], _from: usize, _to: usize) -> Code {
        Code::new(OP, bytes.get(..<Self as Op>::BYTES).unwrap_or(bytes))
    }

    /// The sort of target that an entry of this kind has.
    const TARGET: Target = Target::Arms;

    /// The states that a site can have even if its target is out of reach: none.
    const NOWHERE: &'static [State] = &[];

    /// The places to which a site at this address can lead.
    fn leads(_address: usize) -> Leads {
        Leads::Anywhere
    }

    /// The bytes of [`State::BY_STUB`], a jump. (The bytes of [`State::IN_PLACE`] are in the entry's arm.)
    fn encode(_state: State, displacement: i32) -> Code {
        <Self as Jump>::encode(State::DIRECT, displacement).of_kind(OP)
    }

    /// The state of a site that holds `code`. `None` if `code` is not the jump to the site's target.
    fn decode(code: Code, displacement: Option<i32>) -> Option<State> {
        (<Self as Op>::encode(State::BY_STUB, displacement?) == code).then_some(State::BY_STUB)
    }

    /// The state to which a site changes if its arm is an address.
    fn toward(_from: State, _goal: usize, _displacement: Option<i32>) -> State {
        State::BY_STUB
    }

    /// The state of a site that holds a jump. (The compiler emits the program's own instruction, [`State::IN_PLACE`].)
    fn emitted(_goal: usize) -> State {
        State::BY_STUB
    }

    /// Always 0, because the state does not say where the site leads.
    fn action(_state: State) -> usize {
        0
    }

    /// All bytes that differ, written at once in the last step.
    #[inline(never)] // Rarely called.
    fn step(number: u8, old: Code, new: Code) -> Option<StepBytes> {
        let step_bytes = StepBytes::difference(old, new).filter(|_| number + 1 == Self::STEPS)?;
        Some(StepBytes {
            demand: Demand::Unexecuted,
            ..if Self::SINGLE_STORE { StepBytes::all(new) } else { step_bytes }
        })
    }

    /// The bytes that take the last step back.
    fn undo(number: u8, old: Code, new: Code) -> Option<StepBytes> {
        <Self as Op>::step(number, new, old)
    }
}

/// A rule that the instruction of a site breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The bytes do not have the length that a site needs, or they are not exactly one instruction, or the decoder does not know the instruction.
    Length,
    /// The instruction jumps, calls, returns, or enters the kernel. In a stub, it would do so from another address.
    Jumps,
    /// The instruction reads or writes the stack pointer, which has another value in a stub.
    Stack,
    /// The instruction reads its own address, which is not the same at the site and in the arm.
    Place,
}
