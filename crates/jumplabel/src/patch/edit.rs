//! The change of one site: what it holds, what it shall hold, and what is wrong if it holds neither.

use crate::arch::{Arch, Change, Code, Kind, Native, State, Template};
use crate::error::Error;
use crate::format::Entry;

/// A change of one site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) address: usize,
    pub(super) change: Change,
}

impl Edit {
    /// The change begins at what the site holds now: a writer to which core sync was refused wrote to the site, not to a copy.
    #[cold]
    pub(super) fn look_again(&mut self) {
        let old = self.change.old;
        // SAFETY: a site that was verified, of an object that the lock keeps loaded.
        self.change.old = unsafe { Code::read(old.kind(), self.address, old.len()) };
    }
}

/// A site that holds one of its states.
#[derive(Clone, Copy)]
pub(super) struct Found {
    address: usize,
    displacement: i32,
    code: Code,
    pub(super) state: State,
}

impl Found {
    /// `None` if the site holds none of its states.
    ///
    /// # Safety
    /// The entry is from the index of an object that the lock keeps loaded.
    #[inline(never)]
    pub(super) unsafe fn at(entry: &Entry) -> Option<Found> {
        let (number, address) = (entry.kind(), entry.code());
        let kind = Kind::of(number)?;
        let displacement = Native::displacement(address as u64, entry.target() as u64)?;
        // SAFETY: by the contract, the site is mapped.
        let code = unsafe { Code::read(number, address, kind.bytes::<Native>()) };
        Some(Found { address, displacement, code, state: kind.decode::<Native>(code, displacement)? })
    }

    /// The edit that brings the site to a state; `None` if it is there.
    #[inline(never)]
    pub(super) fn edit(self, to: State) -> Option<Edit> {
        let change = || Change { old: self.code, new: to.encode::<Native>(self.displacement) };
        (self.state != to).then(|| Edit { address: self.address, change: change() })
    }
}

/// Whether a site of `entry` in `state` loads its key: it jumps to a stub, and so does what its subject says, whatever that is.
pub(super) fn loads(entry: &Entry, state: State) -> bool {
    entry.loads() && state == State::JUMP
}

/// Sites of one kind and arm that go from one state to another.
pub(super) struct Run {
    traits: u32,
    kind: u8,
    bytes: usize,
    from: Template,
    to: Template,
}

impl Run {
    /// As `entry` does; `None` if it stays where it is.
    pub(super) fn of(entry: &Entry, from: State, to: State) -> Option<Run> {
        if from == to {
            return None;
        }
        let (from, to) = (Template::of::<Native>(from)?, Template::of::<Native>(to)?);
        Some(Run { traits: entry.traits(), kind: entry.kind(), bytes: entry.bytes(), from, to })
    }

    /// The edit of `entry`, if it is one of them.
    ///
    /// # Safety
    /// As for [`Found::at`].
    #[inline]
    pub(super) unsafe fn edit(&self, entry: &Entry) -> Option<Edit> {
        let address = entry.code();
        let displacement = Native::displacement(address as u64, entry.target() as u64)?;
        let old = self.from.fill::<Native>(displacement);
        // SAFETY: by the contract, the site is mapped.
        let is_one = entry.traits() == self.traits && unsafe { Code::read(self.kind, address, self.bytes) } == old;
        is_one.then(|| Edit { address, change: Change { old, new: self.to.fill::<Native>(displacement) } })
    }
}

/// What was found at an entry's site instead of a state of it that does what `goal` says.
///
/// # Safety
/// As for [`Found::at`].
#[cold]
pub(super) unsafe fn complaint(entry: &Entry, goal: usize) -> Error {
    let expected = |kind: Kind| {
        let state = kind.emitted::<Native>(goal).map(|state| entry.displacement().map(|by| state.encode::<Native>(by)));
        state.unwrap_or(Ok(Code::NONE))
    };
    let address = entry.code();
    match entry.known_kind().and_then(expected) {
        Err(error) => error,
        Ok(expected) => {
            // SAFETY: by the contract.
            let found = unsafe { Code::read(entry.kind(), address, entry.bytes()) };
            Error::ForeignBytes { address, expected, found }
        }
    }
}
