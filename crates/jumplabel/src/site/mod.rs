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
//! Each of these three words holds the distance from its own address (`here`) to the thing that it leads to. So a table needs no relocation and no
//! work at start-up, and is never written. The first flip builds the [`index`], which finds the sites of a key. The format is in
//! docs/table-format.md.
//!
//! No function here takes the lock: the caller holds it. Users call the functions of [`inspect`](crate::inspect), which take the lock.

pub(crate) mod front;
pub mod index;
pub mod object;
pub(crate) mod readable;
mod search;
mod verdict;

use crate::arch::{Arch, Kind, Native};
use crate::error::Error;
use crate::format::Entry;

/// The entries of one key in a table, in the order of their sites' addresses.
#[derive(Clone, Copy)]
pub(crate) struct Entries<'held> {
    /// The first entry of the table.
    table: *const Entry,
    numbers: &'held [u32],
}

impl<'held> Entries<'held> {
    /// The entries with these numbers. The numbers are from the index of the object that has this table.
    fn new(table: &'held [Entry], numbers: &'held [u32]) -> Entries<'held> {
        Entries { table: table.as_ptr(), numbers }
    }

    /// The number of entries.
    pub(crate) fn len(self) -> usize {
        self.numbers.len()
    }

    /// The entry at position `at`. `None` if there are not that many entries.
    #[inline]
    pub(crate) fn get(self, at: usize) -> Option<&'held Entry> {
        // SAFETY: each number in an index is the number of an entry of the table.
        self.numbers.get(at).map(|number| unsafe { &*self.table.add(*number as usize) })
    }

    /// All entries.
    pub(crate) fn iter(self) -> impl Iterator<Item = &'held Entry> {
        (0..).map_while(move |at| self.get(at))
    }
}

impl Entry {
    /// Whether the site jumps while its key is on (`enabled` is true) or off. This is Linux's `enabled ^ branch`. The site of a naked key is in a
    /// function, and "jumps" while that function returns true. (For such a site, [`arm`](Entry::arm) is false.)
    #[must_use]
    pub fn jumps(&self, enabled: bool) -> bool {
        enabled != self.arm()
    }

    /// The kind of the site. Returns an error if this version of the library does not know the kind.
    pub(crate) fn known_kind(&self) -> Result<Kind, Error> {
        let unknown = Error::UnknownKind { entry: core::ptr::from_ref(self) as usize, kind: self.kind() };
        Kind::of(self.kind()).ok_or(unknown)
    }

    /// The number of bytes of the site. If the site's kind is not known, the number of bytes of a check.
    #[inline(never)]
    pub(crate) fn bytes(&self) -> usize {
        let (changes, _) = self.changes();
        if changes != 0 {
            return changes;
        }
        Kind::of(self.kind()).map_or(Native::SIZE, Kind::bytes::<Native>)
    }
}
