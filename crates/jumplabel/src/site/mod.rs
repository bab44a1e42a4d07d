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
//! All words are relative to themselves: no relocation, no work at start-up, never written. What is needed to find the
//! sites of a key, the [`index`], is built at the first flip. The format is in docs/table-format.md.
//!
//! Nothing here takes the lock: who asks has it. [`inspect`](crate::inspect) is for users.

pub mod index;
pub mod object;

use crate::arch::{Arch, Kind, Native};
use crate::error::Error;
use crate::format::Entry;

impl Entry {
    /// Whether the site jumps while its key is `enabled`: Linux's `enabled ^ branch`. A naked function, whose arm is false, "jumps"
    /// while it returns true.
    #[must_use]
    pub fn jumps(&self, enabled: bool) -> bool {
        enabled != self.arm()
    }

    /// The site's kind.
    pub(crate) fn known_kind(&self) -> Result<Kind, Error> {
        let unknown = Error::UnknownKind { entry: core::ptr::from_ref(self) as usize, kind: self.kind() };
        Kind::of(self.kind()).ok_or(unknown)
    }

    /// Bytes of the site; of a kind that nobody knows, as many as of any.
    pub(crate) fn bytes(&self) -> usize {
        Kind::of(self.kind()).map_or(Native::SIZE, Kind::bytes::<Native>)
    }
}
