//! Sites and the tables that list them.
//!
//! ```text
//!  code of an object                     __jump_table, read-only, 16 bytes an entry
//!  ┌──────────────────────┐              ┌────────────────────────────────────┐
//!  │ site: nop, test, jmp │◄─────────────┤ code   - here                      │
//!  │ ...                  │        ┌─────┤ target - here                      │
//!  │ the other arm        │◄───────┘  ┌──┤ key    - here                      │
//!  └──────────────────────┘           │  │ meta: flags, offset                │
//!  key: a static with a count ◄───────┘  └────────────────────────────────────┘
//! ```
//!
//! Each word counts from its own address. So a table needs no relocation and no work at start-up, and is never written. The first flip
//! builds the [`index`], by which the sites of a key are found. The format is in docs/table-format.md.
//!
//! Nothing here takes the lock, because the caller holds it. Users have [`inspect`](crate::inspect) instead.

pub mod index;
pub mod object;
pub(crate) mod readable;
mod search;

use crate::arch::{Arch, Kind, Native};
use crate::error::Error;
use crate::format::Entry;

/// Entries of one key in a table.
#[derive(Clone, Copy)]
pub(crate) struct Entries<'held> {
    table: &'held [Entry],
    numbers: &'held [u32],
}

impl<'held> Entries<'held> {
    /// How many entries there are.
    pub(crate) fn len(self) -> usize {
        self.numbers.len()
    }

    /// The entry at place `at`, in the order of the sites' addresses.
    #[inline]
    pub(crate) fn get(self, at: usize) -> Option<&'held Entry> {
        // SAFETY: each number in an index is that of an entry of the table.
        self.numbers.get(at).map(|number| unsafe { self.table.get_unchecked(*number as usize) })
    }

    /// All entries.
    pub(crate) fn iter(self) -> impl Iterator<Item = &'held Entry> {
        (0..).map_while(move |at| self.get(at))
    }
}

impl Entry {
    /// Whether the site jumps while its key is `enabled`: Linux's `enabled ^ branch`. The site of a naked key is a function, and its arm is
    /// false: it "jumps" while it returns true.
    #[must_use]
    pub fn jumps(&self, enabled: bool) -> bool {
        enabled != self.arm()
    }

    /// The site's kind.
    pub(crate) fn known_kind(&self) -> Result<Kind, Error> {
        let unknown = Error::UnknownKind { entry: core::ptr::from_ref(self) as usize, kind: self.kind() };
        Kind::of(self.kind()).ok_or(unknown)
    }

    /// The number of bytes of the site. If its kind is not known, the number of a check.
    #[inline(never)]
    pub(crate) fn bytes(&self) -> usize {
        let (changes, _) = self.changes();
        if changes != 0 {
            return changes;
        }
        Kind::of(self.kind()).map_or(Native::SIZE, Kind::bytes::<Native>)
    }
}
