//! The kind of a check. The check falls through or jumps to its other arm.

use crate::layout::BRANCH;
use crate::state::{Leads, Target, steps_of_arch};
use crate::{Arch, Code, State};

impl State {
    /// A nop, as the compiler emitted it. Falls through.
    pub const NOP: State = State::new(BRANCH, 0);
    /// A jump.
    pub const JUMP: State = State::new(BRANCH, 1);
    /// x86: an instruction that falls through. Its first byte is the only one that differs from the jump.
    pub const TEST: State = State::new(BRANCH, 2);
    /// x86: the first byte of `TEST`, followed by four bytes, each of which is that of the nop or that of `TEST`. Falls through. A site passes
    /// through this state in its first flip. It stays in it if its process was forked in mid-flip, or if core sync was refused in mid-flip.
    pub const PRIMING: State = State::new(BRANCH, 3);
    /// x86: a mixture of the nop and the jump, byte by byte. A site that lies across two pages gets into this state if something outside
    /// the library gives one of the pages the bytes of its file back. The site may then do anything, so no change leaves it in this state.
    pub const TORN: State = State::new(BRANCH, 4);
}

/// The names of the states, in the order of their numbers.
pub(crate) const NAMES: &[&str] = &["nop", "jump", "test", "priming", "torn"];

/// How an instruction set encodes the sites of checks.
pub trait Branch: Arch {
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
    fn encode(state: State, displacement: i32) -> Code;

    /// The state of a site that holds `code`; `None` if no state of this kind has this code.
    #[inline]
    fn decode(code: Code, displacement: Option<i32>) -> Option<State> {
        let displacement = displacement?;
        [State::NOP, State::JUMP].into_iter().find(|&state| Self::encode(state, displacement) == code)
    }

    /// The state that a site in state `from` must change to, so that it does `action`. The site must jump if `action` is not 0. If the site
    /// already does `action`, the result is `from`.
    #[inline]
    fn toward(_from: State, action: usize, _displacement: Option<i32>) -> State {
        Self::emitted(action)
    }

    /// The state that the compiler emits for a site that does `action`.
    #[inline]
    fn emitted(action: usize) -> State {
        if action == 0 { State::NOP } else { State::JUMP }
    }

    /// The action of a site in this state: 1 if it jumps; 2 if it is torn, which no setting asks for.
    #[inline]
    fn action(state: State) -> usize {
        match state {
            State::JUMP => 1,
            State::TORN => 2,
            _ => 0,
        }
    }

    steps_of_arch! { #[doc(hidden)] }
}
