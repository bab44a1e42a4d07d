//! The change of one site, and the changes of many sites that change alike.

use crate::arch::{self, Arch, CodeChange, Native, State, Template, read_code, read_one};
use crate::format::Entry;
use crate::platform::list::List;
use crate::site::index::Entries;
use crate::site::{front, readable};

/// A change of one site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SiteChange {
    pub(super) address: usize,
    pub(super) code: CodeChange,
}

impl SiteChange {
    /// Whether the site can be read. All sites of a plan can be read when the plan is made. But if a flip fails and cannot be undone, the library
    /// uses its plan again later.
    #[cold]
    pub(super) fn can_be_read(&self) -> bool {
        readable::can_read(self.address, self.code.old.len())
    }

    /// Reads the site again, and makes the change start from the bytes that the site holds now. Returns whether these bytes are the same as before.
    #[cold]
    pub(super) fn look_again(&mut self) -> bool {
        let old = self.code.old;
        // SAFETY: the site was verified, and the lock keeps its object loaded.
        self.code.old = unsafe { read_one(old.kind(), self.address, old.len()) };
        self.code.old == old
    }
}

/// A run of sites: their entries have the same [`traits`](Entry::traits), and they all change from one state to another, or all stay in one state.
pub(super) struct Run {
    traits: u32,
    /// The byte in front of each site. `None` if no byte in front belongs to the sites' instructions.
    front: Option<u8>,
    from: Template,
    to: Template,
    stays: bool,
    /// Whether the sites can load. The sites of the run do not load now, and will not: they lead to their arms.
    loads: bool,
}

impl Run {
    /// A run of sites that are like the site of `entry`, and change from state `from` to state `to`. `None` if these sites have an unusual number of
    /// bytes, or if no [`Template`] can make the instructions of these states.
    ///
    /// # Safety
    /// The contract of [`Comparison::at`](super::patchable::Comparison::at), which found no fault with the site of `entry`.
    #[inline(never)]
    pub(super) unsafe fn of(entry: &Entry, from: State, to: State) -> Option<Run> {
        if entry.bytes() != Native::SIZE {
            return None;
        }
        let stays = from == to;
        let (from, to) = (Template::of::<Native>(from)?, Template::of::<Native>(to)?);
        // SAFETY: the caller passes an entry from the index, and the lock keeps its object loaded.
        let front = unsafe { front::byte(entry) };
        Some(Run { traits: entry.traits(), front, from, to, stays, loads: entry.loads() })
    }

    /// Whether the changes of all sites in the run have the same [`pattern`](CodeChange::pattern).
    pub(super) fn is_alike(&self) -> bool {
        !Native::SINGLE_STORE && self.from.is_like(self.to)
    }

    /// Adds the changes of the entries from `at` on to `changes`, up to the first entry that ends the run. If the sites stay in their state, only
    /// checks them, and adds nothing. Returns the position of the entry that ends the run.
    ///
    /// An entry ends the run if its site does not belong to the run, or if the site's address is not above that of the previous site. The run also
    /// ends when `changes` has no more room.
    ///
    /// The read of a site is slow, because other processors execute the site. The rest of the loop must cost less than that read.
    ///
    /// # Safety
    /// The contract of [`Comparison::at`](super::patchable::Comparison::at).
    #[inline(never)]
    pub(super) unsafe fn add(&self, entries: Entries<'_>, mut at: usize, changes: &mut List<SiteChange>) -> usize {
        let kind = self.from.kind().number();
        let mut last = 0;
        changes.extend(!self.stays, || {
            let entry = entries.get(at)?;
            if let Some(later) = entries.get(at + arch::AHEAD) {
                arch::prefetch_to_read(later.code());
            }
            let address = entry.code();
            if address <= last || entry.traits() != self.traits {
                return None;
            }
            let target = if self.loads { entry.arm_address() } else { entry.target() };
            let displacement = Native::displacement(address as u64, target as u64)?;
            let old = self.from.fill::<Native>(displacement);
            // SAFETY: the caller passes entries from the index, and the lock keeps their object loaded.
            if unsafe { !front::is_same(self.front, entry, address) || read_code(kind, address, Native::SIZE) != old } {
                return None;
            }
            (at, last) = (at + 1, address);
            Some(SiteChange { address, code: CodeChange { old, new: self.to.fill::<Native>(displacement) } })
        });
        at
    }
}

#[cfg(test)]
mod tests {
    use super::{CodeChange, State, Template};

    type X86 = jumplabel_format::arch::x86::X86<64>;

    /// With the displacement 0x441f, a jump differs from the nop only in the first byte. With other displacements, more bytes differ. So sites that
    /// change from the nop to a jump are not alike.
    #[test]
    fn one_site_does_not_speak_for_sites_that_change_in_another_way() {
        let template = |state| Template::of::<X86>(state).unwrap();
        let pattern = |from, to, displacement| {
            let [old, new] = [from, to].map(|state| template(state).fill::<X86>(displacement));
            CodeChange { old, new }.pattern()
        };
        assert!(CodeChange::is_of_first_byte(pattern(State::NOP, State::JUMP, 0x441f)));
        assert!(!CodeChange::is_of_first_byte(pattern(State::NOP, State::JUMP, 0x441e)));
        let states = [State::NOP, State::PRIMING, State::TEST, State::JUMP];
        for (from, to) in states.iter().flat_map(|from| states.iter().map(move |to| (*from, *to))) {
            let displacements = [0, 1, -1, 0x441f, i32::MIN, i32::MAX];
            let alike = displacements.iter().all(|&other| pattern(from, to, other) == pattern(from, to, 0x441f));
            assert_eq!(template(from).is_like(template(to)), alike, "{from:?} to {to:?}");
        }
        assert!(template(State::TEST).is_like(template(State::JUMP)));
    }
}
