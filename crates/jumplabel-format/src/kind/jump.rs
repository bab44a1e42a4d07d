//! The kind of a static call's trampoline. The trampoline jumps to the call's target. If the target is out of reach, the trampoline falls
//! through to a second jump, which loads the target from a slot.

use super::branch::Branch;
use crate::layout::JUMP;
use crate::state::{Leads, Target, steps_of_arch};
use crate::{Arch, Code, State};

impl State {
    /// A jump to the target.
    pub const DIRECT: State = State::new(JUMP, 0);
    /// An instruction that falls through to the jump that uses the slot.
    pub const INDIRECT: State = State::new(JUMP, 1);
}

/// The names of the states, in the order of their numbers.
pub(crate) const NAMES: &[&str] = &["direct", "indirect"];

/// How an instruction set encodes the sites of trampolines. By default as a check's site: `DIRECT` is the jump, `INDIRECT` is the nop.
pub trait Jump: Branch {
    /// The length of a site in bytes.
    const BYTES: usize = Self::SIZE;

    /// The sort of target that an entry of this kind has.
    const TARGET: Target = Target::Code(1);

    /// The states that a site can have even if its target is out of reach.
    const NOWHERE: &'static [State] = &[State::INDIRECT];

    /// The places to which a site at this address can lead.
    fn leads(_address: usize) -> Leads {
        Leads::Anywhere
    }

    /// The bytes of a site in this state.
    fn encode(state: State, displacement: i32) -> Code {
        <Self as Branch>::encode(if state == State::DIRECT { State::JUMP } else { State::NOP }, displacement)
            .of_kind(JUMP)
    }

    /// The state of a site that holds `code`; `None` if no state of this kind has this code.
    fn decode(code: Code, displacement: Option<i32>) -> Option<State> {
        let direct = displacement.map(|displacement| <Self as Jump>::encode(State::DIRECT, displacement));
        if direct == Some(code) {
            return Some(State::DIRECT);
        }
        (<Self as Jump>::encode(State::INDIRECT, 0) == code).then_some(State::INDIRECT)
    }

    /// The state to which a site changes: direct, if the target is in reach.
    fn toward(_from: State, _goal: usize, displacement: Option<i32>) -> State {
        if displacement.is_some() { State::DIRECT } else { State::INDIRECT }
    }

    /// The state that the compiler emits.
    fn emitted(_goal: usize) -> State {
        State::DIRECT
    }

    /// Always 0, because the state does not say where the site leads.
    fn action(_state: State) -> usize {
        0
    }

    steps_of_arch! {}
}
