//! The kind of the site of an N-way switch: the site jumps to the arm of the mode. If one store cannot write the site, the site falls
//! through to a stub while its displacement changes. The stub reads the mode, and jumps to the mode's arm.

use super::jump::Jump;
use crate::layout::{JUMP, SWITCH};
use crate::state::{Leads, Target, steps_of_arch};
use crate::{Arch, Code, State};

impl State {
    /// A jump to the arm of the mode.
    pub const TO_ARM: State = State::new(SWITCH, 0);
    /// An instruction that falls through to the stub.
    pub const TO_STUB: State = State::new(SWITCH, 1);
}

/// The names of the states, in the order of their numbers.
pub(crate) const NAMES: &[&str] = &["arm", "stub"];

/// How an instruction set encodes the sites of switches. They change as the sites of static calls do.
pub trait Switch: Jump {
    /// The length of a site in bytes.
    const BYTES: usize = <Self as Jump>::BYTES;

    /// The sort of target that an entry of this kind has.
    const TARGET: Target = Target::Arms;

    /// The states that a site can have even if its target is out of reach: none.
    const NOWHERE: &'static [State] = &[];

    /// The places to which a site at this address can lead.
    fn leads(_address: usize) -> Leads {
        Leads::Anywhere
    }

    /// The bytes of a site in this state.
    fn encode(state: State, displacement: i32) -> Code {
        let state = if state == State::TO_ARM { State::DIRECT } else { State::INDIRECT };
        <Self as Jump>::encode(state, displacement).of_kind(SWITCH)
    }

    /// The state of a site that holds `code`; `None` if no state of this kind has this code. If one store can write a site, there is no stub, and
    /// [`State::TO_ARM`] is the only state.
    fn decode(code: Code, displacement: Option<i32>) -> Option<State> {
        match <Self as Jump>::decode(code.of_kind(JUMP), displacement)? {
            State::DIRECT => Some(State::TO_ARM),
            _ => (!Self::SINGLE_STORE).then_some(State::TO_STUB),
        }
    }

    /// The state to which every change leads: the jump to an arm.
    fn toward(_from: State, _goal: usize, _displacement: Option<i32>) -> State {
        State::TO_ARM
    }

    /// The state that the compiler emits: the jump to an arm.
    fn emitted(_goal: usize) -> State {
        State::TO_ARM
    }

    /// Always 0, because the state does not say to which arm the site leads.
    fn action(_state: State) -> usize {
        0
    }

    steps_of_arch! {}
}

impl<A: Jump> Switch for A {}
