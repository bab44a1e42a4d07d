//! The kind of the function of a naked key. The function returns true if the key is on.

use super::branch::Branch;
use crate::layout::NAKED;
use crate::state::{Leads, Target, steps_of_arch};
use crate::{Arch, Code, State};

impl State {
    /// The function returns false.
    pub const FALSE: State = State::new(NAKED, 0);
    /// The function returns true.
    pub const TRUE: State = State::new(NAKED, 1);
}

/// The names of the states, in the order of their numbers.
pub(crate) const NAMES: &[&str] = &["false", "true"];

/// How an instruction set encodes the sites in naked keys' functions. By default as a check's site: the nop falls through to code that returns
/// false, and the jump leads to code that returns true.
pub trait Naked: Branch {
    /// The length of a site in bytes.
    const BYTES: usize = Self::SIZE;

    /// The sort of target that an entry of this kind has.
    const TARGET: Target = Target::Code(1);

    /// The states that a site can have even if its target is out of reach: none.
    const NOWHERE: &'static [State] = &[];

    /// The places to which a site at this address can lead.
    fn leads(_address: usize) -> Leads {
        Leads::ToTarget
    }

    /// The bytes of a site in this state.
    #[inline(never)] // Rarely called, because a key has at most one function. The same holds for `decode`.
    fn encode(state: State, displacement: i32) -> Code {
        <Self as Branch>::encode(if state == State::TRUE { State::JUMP } else { State::NOP }, displacement)
            .of_kind(NAKED)
    }

    /// The state of a site that holds `code`; `None` if no state of this kind has this code.
    #[inline(never)]
    fn decode(code: Code, displacement: Option<i32>) -> Option<State> {
        let displacement = displacement?;
        [State::FALSE, State::TRUE].into_iter().find(|&state| <Self as Naked>::encode(state, displacement) == code)
    }

    /// The state to which a site changes so that it does `action`: true if `action` is not 0.
    fn toward(_from: State, action: usize, _displacement: Option<i32>) -> State {
        <Self as Naked>::emitted(action)
    }

    /// The state that the compiler emits for a site that does `action`.
    fn emitted(action: usize) -> State {
        if action == 0 { State::FALSE } else { State::TRUE }
    }

    /// The function's result in this state: 1 for true, 0 for false.
    fn action(state: State) -> usize {
        usize::from(state == State::TRUE)
    }

    steps_of_arch! { #[doc(hidden)] }
}
