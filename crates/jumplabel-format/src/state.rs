//! The types `Kind` and `State`, which are numbers. All kinds share this file. The list of kinds (`kind/mod.rs`) says which kind a number is.

/// A kind of sites: the number that is in a table entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind(pub(crate) u8);

/// The state of a site. The file of a kind names its states: [`State::NOP`], [`State::TRUE`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct State(pub(crate) u8);

/// The places to which a site can lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leads {
    /// To the entry's target. The displacement of an instruction leads to that target.
    ToTarget,
    /// To the action, which is an address. The displacement leads to that address.
    Anywhere,
    /// To the action, which is an address, if it is in reach. Otherwise to the entry's target.
    AnywhereInReach,
}

/// The thing at the target of an entry. All of it must be code of the object; otherwise the entry is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Code of this many bytes.
    Code(usize),
    /// A list of arms.
    Arms,
    /// A stub. The word directly in front of the stub leads to other code: the arm to which the site jumps.
    Stub,
}

/// The functions `step` and `undo`, for the trait of a kind whose sites take the steps of the instruction set.
macro_rules! steps_of_arch {
    ($($attribute:tt)*) => {
        /// [`Arch::step`] at a site of this kind.
        $($attribute)*
        #[inline]
        fn step(number: u8, old: Code, new: Code) -> Option<crate::StepBytes> {
            <Self as Arch>::step(number, old, new)
        }

        /// [`Arch::undo`] at a site of this kind.
        $($attribute)*
        fn undo(number: u8, old: Code, new: Code) -> Option<crate::StepBytes> {
            <Self as Arch>::undo(number, old, new)
        }
    };
}
pub(crate) use steps_of_arch;

impl Kind {
    /// The number of the kind.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }
}

impl State {
    /// A state of a kind. `number` is at most 7.
    pub(crate) const fn new(kind: u8, number: u8) -> State {
        State(kind << 3 | number)
    }

    /// A set of states of one kind, with a bit for each.
    pub(crate) const fn bits(states: &[State]) -> u8 {
        match states {
            [] => 0,
            [state, others @ ..] => 1 << (state.0 & 7) | State::bits(others),
        }
    }

    /// Whether this state is in the set `bits`. The caller ensures that the state is of the set's kind.
    pub(crate) const fn is_of(self, bits: u8) -> bool {
        bits >> (self.0 & 7) & 1 != 0
    }

    /// The kind of the sites that can have this state.
    #[must_use]
    pub const fn kind(self) -> Kind {
        Kind(self.0 >> 3)
    }
}
