//! The kind of a check that can load its key: a check of a key declared `or_load`. Its site begins as a jump to a stub. The stub loads the key's
//! count, and continues in the arm that the count asks for. After its first change, the site falls through, or jumps straight to its other arm.
//!
//! ```text
//!   site:   jmp stub     loads    what the compiler emits, whatever the default is
//!           jmp arm      jumps    straight to the arm out of line
//!           test         falls through; x86: `test eax, imm32` with any immediate; s390x: a mask of 0 with any displacement
//!           nop          falls through; x86: the nop of other checks
//!
//!           .long arm - .         a word directly in front of the stub leads to the arm
//!   stub:   ...
//! ```
//!
//! The entry's target is the stub. A jump of this kind can lead to two places, the stub or the arm, so its displacement can change. While
//! it changes, the site falls through, like the trampoline of a static call. So the library changes a displacement only while the check may
//! fall through.

use super::branch::Branch;
use super::jump::Jump;
use crate::layout::LOADING;
use crate::state::{Leads, Target, steps_of_arch};
use crate::{Arch, Code, State};

impl State {
    /// A nop, the same as that of other checks ([`State::NOP`]). Falls through.
    pub const LOADING_NOP: State = State::new(LOADING, 0);
    /// A jump to the arm or to the stub, as its displacement says.
    pub const LOADING_JUMP: State = State::new(LOADING, 1);
    /// x86: an instruction that falls through. To make it a jump, only its first byte changes.
    pub const LOADING_TEST: State = State::new(LOADING, 2);
    /// A jump to the stub. Only [`State::of_loading`] returns it.
    pub const LOADS: State = State::new(LOADING, 3);
    /// A mixture of the bytes of two states, as [`State::TORN`] is. Only [`State::of_loading`] returns it.
    pub const LOADING_TORN: State = State::new(LOADING, 4);

    /// The state of a site of this kind that holds `code`. `None` if the code is foreign. `stub` and `arm` are the displacements that lead
    /// to the site's stub and to its arm. Each is `None` if the place is out of reach.
    #[must_use]
    #[inline(never)] // Rarely called.
    pub fn of_loading<A: Loading>(code: Code, stub: Option<i32>, arm: Option<i32>) -> Option<State> {
        let jump = |displacement| <A as Loading>::encode(State::LOADING_JUMP, displacement);
        if stub.map(jump) == Some(code) {
            return Some(State::LOADS);
        }
        <A as Loading>::decode(code, arm).or_else(|| State::torn_loading::<A>(code, stub, arm))
    }

    /// [`State::LOADING_TORN`], if each byte of `code` is that of a jump to the stub, of a jump to the arm, or of the nop. Otherwise
    /// `None`. The caller has found that `code` as a whole is none of these.
    #[doc(hidden)]
    #[must_use]
    #[inline(never)] // Rarely called.
    pub fn torn_loading<A: Loading>(code: Code, stub: Option<i32>, arm: Option<i32>) -> Option<State> {
        if A::SINGLE_STORE {
            return None;
        }
        let jump = State::LOADING_JUMP;
        let nop = <A as Loading>::encode(State::LOADING_NOP, 0);
        let of_one = same(code, <A as Loading>::encode(jump, stub?)) | same(code, <A as Loading>::encode(jump, arm?));
        (of_one | same(code, nop) == TOPS).then_some(State::LOADING_TORN)
    }
}

/// The names of the states, in the order of their numbers.
pub(crate) const NAMES: &[&str] = &["nop", "jump", "test", "load", "torn"];

/// How an instruction set encodes the sites of checks that can load.
pub trait Loading: Jump {
    /// The length of a site in bytes.
    const BYTES: usize = Self::SIZE;

    /// The sort of target that an entry of this kind has.
    const TARGET: Target = Target::Stub;

    /// The states in which the site falls through, so that its displacement does not matter.
    const NOWHERE: &'static [State] = &[State::LOADING_NOP, State::LOADING_TEST];

    /// The places to which a site at this address can lead: the arm or the stub.
    fn leads(_address: usize) -> Leads {
        Leads::AnywhereInReach
    }

    /// The bytes of a site in this state.
    #[inline(never)]
    fn encode(state: State, displacement: i32) -> Code {
        let state = match state {
            State::LOADING_JUMP | State::LOADS => State::JUMP,
            State::LOADING_TEST => State::TEST,
            _ => State::NOP,
        };
        <Self as Branch>::encode(state, displacement).of_kind(LOADING)
    }

    /// The state of a site that holds `code`; `None` if no state of this kind has this code.
    #[inline(never)]
    fn decode(code: Code, displacement: Option<i32>) -> Option<State> {
        if displacement.map(|displacement| <Self as Loading>::encode(State::LOADING_JUMP, displacement)) == Some(code) {
            return Some(State::LOADING_JUMP);
        }
        if code == <Self as Loading>::encode(State::LOADING_NOP, 0) {
            return Some(State::LOADING_NOP);
        }
        <Self as Jump>::decode(code.of_kind(crate::layout::JUMP), None).map(|_| falls::<Self>())
    }

    /// The state that a site in state `from` must change to, so that it does `action`. The site must jump if `action` is not 0. If the site
    /// already falls through, and `action` is 0, the result is `from`.
    fn toward(from: State, action: usize, _displacement: Option<i32>) -> State {
        match (action, from) {
            (0, State::LOADING_NOP | State::LOADING_TEST) => from,
            (0, _) => falls::<Self>(),
            _ => State::LOADING_JUMP,
        }
    }

    /// The state that the compiler would emit for a site that does `action`, if it did not emit a jump to the stub.
    fn emitted(action: usize) -> State {
        if action == 0 { State::LOADING_NOP } else { State::LOADING_JUMP }
    }

    /// The action of a site in this state: 1 if it jumps; 2 if it is torn, which no setting asks for.
    fn action(state: State) -> usize {
        match state {
            State::LOADING_JUMP | State::LOADS => 1,
            State::LOADING_TORN => 2,
            _ => 0,
        }
    }

    steps_of_arch! {}
}

impl<A: Jump> Loading for A {}

/// The highest bit of each byte.
const TOPS: u64 = 0x8080_8080_8080_8080;

/// A mask with the highest bit of each byte in which `a` and `b` are equal.
const fn same(a: Code, b: Code) -> u64 {
    let differs = a.word() ^ b.word();
    !(((differs & !TOPS) + !TOPS) | differs) & TOPS
}

/// The state of a site that jumped and then was made to fall through. Only x86 has a [`TAIL`](Arch::TAIL), and therefore two instructions that
/// fall through.
fn falls<A: Arch + ?Sized>() -> State {
    if A::TAIL.is_some() { State::LOADING_TEST } else { State::LOADING_NOP }
}
