//! The kind of a lock prefix: the first byte of an instruction on x86, either `lock` or a prefix that does nothing.

use crate::layout::PREFIX;
use crate::state::{Leads, Target};
use crate::{Arch, Code, State, StepBytes};

impl State {
    /// The prefix `lock`: the instruction is atomic for other processors.
    pub const LOCKED: State = State::new(PREFIX, 0);
    /// The prefix `ds`, which does nothing: data is in that segment anyway.
    pub const UNLOCKED: State = State::new(PREFIX, 1);
}

/// The names of the states, in the order of their numbers.
pub(crate) const NAMES: &[&str] = &["locked", "unlocked"];

const DS: Code = Code::new(PREFIX, &[0x3e]);
const LOCK: Code = Code::new(PREFIX, &[0xf0]);

/// How an instruction set encodes the sites of lock prefixes. Only x86 has them, and only x86 has a [`TAIL`](Arch::TAIL). An entry's target is the
/// site.
pub trait Prefix: Arch {
    /// The length of a site in bytes.
    const BYTES: usize = 1;

    /// The sort of target that an entry of this kind has.
    const TARGET: Target = Target::Code(1);

    /// The states that a site can have even if its target is out of reach: none.
    const NOWHERE: &'static [State] = &[];

    /// The places to which a site at this address can lead.
    fn leads(_address: usize) -> Leads {
        Leads::ToTarget
    }

    /// The prefix byte of a site in this state.
    fn encode(state: State, _displacement: i32) -> Code {
        if state == State::LOCKED { LOCK } else { DS }
    }

    /// The state of a site that holds `code`; `None` if no state of this kind has this code.
    #[inline(never)] // Rarely called.
    fn decode(code: Code, _displacement: Option<i32>) -> Option<State> {
        let is = |&state: &State| Self::TAIL.is_some() && <Self as Prefix>::encode(state, 0) == code;
        [State::LOCKED, State::UNLOCKED].into_iter().find(is)
    }

    /// The state to which a site changes so that it does `action`: unlocked if `action` is not 0.
    fn toward(_from: State, action: usize, _displacement: Option<i32>) -> State {
        <Self as Prefix>::emitted(action)
    }

    /// The state that the compiler emits for a site that does `action`.
    fn emitted(action: usize) -> State {
        if action == 0 { State::LOCKED } else { State::UNLOCKED }
    }

    /// The action of a site in this state: 1 if it is unlocked, 0 if it is locked.
    fn action(state: State) -> usize {
        usize::from(state == State::UNLOCKED)
    }

    /// The one byte, which the last step writes.
    #[doc(hidden)]
    #[inline(never)] // Rarely called, like `undo`.
    fn step(number: u8, _old: Code, new: Code) -> Option<StepBytes> {
        Self::TAIL?; // Without a tail, the compiler leaves the code below out.
        (number + 1 == Self::STEPS).then(|| StepBytes::of(new, 0, 1))
    }

    /// The byte that takes the last step back.
    #[doc(hidden)]
    #[inline(never)]
    fn undo(number: u8, old: Code, new: Code) -> Option<StepBytes> {
        <Self as Prefix>::step(number, new, old)
    }
}

impl<A: Arch> Prefix for A {}
