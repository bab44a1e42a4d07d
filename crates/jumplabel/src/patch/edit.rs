//! The change of one site, and of many sites that change alike.

use crate::arch::{self, Arch, Code, Native, Rewrite, State, Template};
use crate::format::Entry;
use crate::site::index::Entries;
use crate::text::list::List;

/// A change of one site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) address: usize,
    pub(super) change: Rewrite,
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

/// Whether a site of `entry` in `state` loads its key: it jumps to a stub, so it does what its subject says, whatever
/// that is.
pub(super) fn loads(entry: &Entry, state: State) -> bool {
    entry.loads() && state == State::JUMP
}

/// Sites of one kind and arm that go from one state to another.
pub(super) struct Run {
    traits: u32,
    from: Template,
    to: Template,
}

impl Run {
    /// As `entry` does; `None` if it stays where it is, or has an unusual number of bytes.
    #[inline(never)]
    pub(super) fn of(entry: &Entry, from: State, to: State) -> Option<Run> {
        if from == to || entry.bytes() != Native::SIZE {
            return None;
        }
        let (from, to) = (Template::of::<Native>(from)?, Template::of::<Native>(to)?);
        Some(Run { traits: entry.traits(), from, to })
    }

    /// Whether all sites have one [`pattern`](Rewrite::pattern).
    pub(super) fn is_alike(&self) -> bool {
        self.from.is_like(self.to)
    }

    /// Adds the edits of the entries from `at` on that are of the run and in order, for which there is room in `edits`. Returns where the
    /// first one is that is not.
    ///
    /// Nothing here may cost more than the site itself: other processors execute it, so to read it is slow.
    ///
    /// # Safety
    /// As for [`Found::at`](super::subject::Found::at).
    #[inline(never)]
    pub(super) unsafe fn add(self, entries: Entries<'_>, mut at: usize, edits: &mut List<Edit>) -> usize {
        let kind = self.from.kind().number();
        let mut last = 0;
        edits.extend(|| {
            let entry = entries.get(at)?;
            if let Some(later) = entries.get(at + arch::AHEAD) {
                arch::prefetch_to_read(later.code());
            }
            let address = entry.code();
            let displacement = Native::displacement(address as u64, entry.target() as u64)?;
            let old = self.from.fill::<Native>(displacement);
            if address <= last || entry.traits() != self.traits {
                return None;
            }
            // SAFETY: by the contract, the site is mapped.
            if unsafe { Code::read(kind, address, Native::SIZE) } != old {
                return None;
            }
            (at, last) = (at + 1, address);
            Some(Edit { address, change: Rewrite { old, new: self.to.fill::<Native>(displacement) } })
        });
        at
    }
}

#[cfg(test)]
mod tests {
    use super::{Rewrite, State, Template};

    type X86 = crate::arch::x86::X86<64>;

    /// A jump of one length differs from the nop in the first byte alone, by chance. The others of its run do not.
    #[test]
    fn one_site_does_not_speak_for_sites_that_change_in_another_way() {
        let template = |state| Template::of::<X86>(state).unwrap();
        let pattern = |from, to, displacement| {
            let [old, new] = [from, to].map(|state| template(state).fill::<X86>(displacement));
            Rewrite { old, new }.pattern()
        };
        assert!(Rewrite::is_of_first_byte(pattern(State::NOP, State::JUMP, 0x441f)));
        assert!(!Rewrite::is_of_first_byte(pattern(State::NOP, State::JUMP, 0x441e)));
        let states = [State::NOP, State::PRIMING, State::TEST, State::JUMP];
        for (from, to) in states.iter().flat_map(|from| states.iter().map(move |to| (*from, *to))) {
            let displacements = [0, 1, -1, 0x441f, i32::MIN, i32::MAX];
            let alike = displacements.iter().all(|&other| pattern(from, to, other) == pattern(from, to, 0x441f));
            assert_eq!(template(from).is_like(template(to)), alike, "{from:?} to {to:?}");
        }
        assert!(template(State::TEST).is_like(template(State::JUMP)));
    }
}
