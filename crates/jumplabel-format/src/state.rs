//! The types `Kind` and `State`, which are numbers. The list of kinds (`kind/mod.rs`) says which number is which kind.
//!
//! Functions of kinds speak of a site's *action*, a number that says what the site shall do. For a check: 0 to fall through, another number to jump.
//! For a static call, a switch or an operation in place: the address to which it shall lead (docs/how-it-works.md, "A transaction").

/// A kind of sites. It is the number in the meta words of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind(pub(crate) u8);

/// The state of a site: which of its kind's instructions it holds. The file of a kind names its states, such as [`State::NOP`] and
/// [`State::TRUE`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct State(pub(crate) u8);

/// The places to which a site can lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leads {
    /// To the entry's target, and nowhere else. The displacement is the one to that target.
    ToTarget,
    /// To the action, which is an address. The displacement is the one to that address.
    Anywhere,
    /// To the action, which is an address, if it is in reach. Otherwise to the entry's target.
    AnywhereInReach,
}

/// The sorts of targets that an entry can have. The whole target must lie in the object's code; otherwise the entry is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Code of this many bytes.
    Code(usize),
    /// A list of arms.
    Arms,
    /// A stub. The word directly in front of the stub leads to the arm to which the site can jump.
    Stub,
}

/// Makes the functions `step` and `undo` of a kind whose sites take the steps of the instruction set.
macro_rules! steps_of_arch {
    ($($attribute:tt)*) => {
        /// The bytes of a step of a site of this kind: [`Arch::step`].
        $($attribute)*
        #[inline]
        fn step(number: u8, old: Code, new: Code) -> Option<crate::StepBytes> {
            <Self as Arch>::step(number, old, new)
        }

        /// The bytes that take back a step of a site of this kind: [`Arch::undo`].
        $($attribute)*
        fn undo(number: u8, old: Code, new: Code) -> Option<crate::StepBytes> {
            <Self as Arch>::undo(number, old, new)
        }
    };
}
pub(crate) use steps_of_arch;

impl Kind {
    /// The kind's number, as in the meta word of an entry.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }
}

impl State {
    /// The state of `kind` with this number, which is at most 7.
    pub(crate) const fn new(kind: u8, number: u8) -> State {
        State(kind << 3 | number)
    }

    /// A set of states of one kind, as a number with a bit for each state.
    pub(crate) const fn bits(states: &[State]) -> u8 {
        match states {
            [] => 0,
            [state, others @ ..] => 1 << (state.0 & 7) | State::bits(others),
        }
    }

    /// Whether the set `bits` contains this state. The caller ensures that all states of the set are of this state's kind.
    pub(crate) const fn is_of(self, bits: u8) -> bool {
        bits >> (self.0 & 7) & 1 != 0
    }

    /// The kind of the sites that can have this state.
    #[must_use]
    pub const fn kind(self) -> Kind {
        Kind(self.0 >> 3)
    }
}
