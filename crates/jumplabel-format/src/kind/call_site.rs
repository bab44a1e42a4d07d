//! The kind of a call that a table lists. The site is four bytes: the displacement of an instruction that calls a static call, or jumps to
//! it. The site leads straight to the call's target if that is in reach and one store can write the site. Otherwise it leads to the
//! trampoline, as it does in the file.
//!
//! Only instruction sets whose displacements fill four bytes have such sites ([`Arch::TAIL`](crate::Arch::TAIL)).

use super::jump::Jump;
use crate::layout::CALL_SITE;
use crate::state::{Leads, Target};
use crate::{Code, State, StepBytes};

impl State {
    /// The only state: the displacement leads to the call's target or to the trampoline.
    pub const CALLS: State = State::new(CALL_SITE, 0);
}

/// The names of the states, in the order of their numbers.
pub(crate) const NAMES: &[&str] = &["calls"];

/// The length of a site in bytes.
const BYTES: usize = size_of::<i32>();

/// The size of the aligned block that must contain all four bytes of a site that changes. If one store writes four bytes in such a block, a
/// processor fetches the old bytes or the new ones, and no mixture (AMD64 Architecture Programmer's Manual volume 2, 7.3.2; Intel SDM volume 3,
/// 9.1.1). To lie in one cache line is not enough: Zen 4 executes mixtures of bytes that lie across the two halves of a line. (HotSpot has the same
/// limit, `NativeCall::set_destination_mt_safe`.)
const ALIGNED: usize = 8;

/// How an instruction set encodes the sites of listed calls.
pub trait CallSite: Jump {
    /// The length of a site in bytes.
    const BYTES: usize = BYTES;

    /// The sort of target that an entry of this kind has.
    const TARGET: Target = Target::Code(1);

    /// The states that a site can have even if its target is out of reach: none.
    const NOWHERE: &'static [State] = &[];

    /// The places to which a site at this address can lead.
    fn leads(address: usize) -> Leads {
        if Self::TAIL.is_some() && address % ALIGNED <= ALIGNED - BYTES {
            Leads::AnywhereInReach
        } else {
            Leads::ToTarget
        }
    }

    /// The bytes of a site: the displacement and nothing else.
    fn encode(_state: State, displacement: i32) -> Code {
        Code::new(CALL_SITE, &displacement.to_le_bytes())
    }

    /// The state of a site that holds `code`. `None` if `code` is another displacement than the one given.
    fn decode(code: Code, displacement: Option<i32>) -> Option<State> {
        let own = displacement.filter(|_| Self::TAIL.is_some())?;
        (<Self as CallSite>::encode(State::CALLS, own) == code).then_some(State::CALLS)
    }

    /// The state to which every change leads: the only one.
    fn toward(_from: State, _goal: usize, _displacement: Option<i32>) -> State {
        State::CALLS
    }

    /// The state that the compiler emits.
    fn emitted(_goal: usize) -> State {
        State::CALLS
    }

    /// Always 0, because the state does not say where the site leads.
    fn action(_state: State) -> usize {
        0
    }

    /// Writes the site with one store, in the last step. The trampoline gets its last bytes in the same step.
    #[inline(never)] // Rarely called.
    fn step(number: u8, old: Code, new: Code) -> Option<StepBytes> {
        Self::TAIL?; // On an instruction set without a tail, this returns, so the compiler drops the code below.
        let step_bytes = StepBytes::difference(old, new).filter(|_| number + 1 == Self::STEPS)?;
        Some(if step_bytes.len == 1 { step_bytes } else { StepBytes::all(new) })
    }

    /// The bytes that take the last step back.
    fn undo(number: u8, old: Code, new: Code) -> Option<StepBytes> {
        <Self as CallSite>::step(number, new, old)
    }
}

impl<A: Jump> CallSite for A {}
