//! A kind and a state, as numbers: what the files of all kinds have in common. The list of kinds says what the numbers mean.

/// A kind of patch points, by the number that is in a table entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind(pub(crate) u8);

/// What a site holds. The file of a kind names its states: [`State::NOP`], [`State::TRUE`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct State(pub(crate) u8);

/// Where a site may lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leads {
    /// To the entry's target: that is what the displacement of an instruction is to.
    ToTarget,
    /// To the action, which is an address: the displacement is to that.
    Anywhere,
    /// To the action, which is an address, if that is in reach, and else to the entry's target.
    AnywhereInReach,
}

/// What is at the target of an entry. It must be code of the object, all of it, or the entry is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// So many bytes of code.
    Code(usize),
    /// A list of arms.
    Arms,
}

/// In the trait of a kind: its sites take the steps of the instruction set.
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
    /// Its number.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }
}

impl State {
    /// The state of a kind with a number of at most 7.
    pub(crate) const fn new(kind: u8, number: u8) -> State {
        State(kind << 3 | number)
    }

    /// A bit for each of some states of one kind.
    pub(crate) const fn bits(states: &[State]) -> u8 {
        match states {
            [] => 0,
            [state, others @ ..] => 1 << (state.0 & 7) | State::bits(others),
        }
    }

    /// Whether it is one of those, if it is of their kind.
    pub(crate) const fn is_of(self, bits: u8) -> bool {
        bits >> (self.0 & 7) & 1 != 0
    }

    /// The kind of the sites that hold it.
    #[must_use]
    pub const fn kind(self) -> Kind {
        Kind(self.0 >> 3)
    }
}
