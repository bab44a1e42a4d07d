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

pub mod index;
pub mod object;
pub mod record;

use crate::arch;
use crate::error::Error;
use crate::key::{Key, RawKey};
use crate::patch::Lock;
use crate::text::list::{self, List};

/// The check's arm: what it yields where execution falls through (1 = likely).
pub const ARM: u32 = 1 << 0;
/// The key word leads to a GOT slot that holds the key's address.
pub const INDIRECT: u32 = 1 << 1;
/// The site is the function of a naked key, and returns whether the key is on.
pub const NAKED: u32 = 1 << 2;
/// The offset into an indirect key sits above the flags.
const OFFSET_SHIFT: u32 = 8;
/// To the assembler only: the site's first instruction is a jump.
const JUMPS: u64 = 1 << 7;

/// One entry of a table: one site.
#[repr(C, align(4))]
pub struct Entry {
    code: i32,
    target: i32,
    key: i32,
    meta: u32,
}

impl Entry {
    /// Address of the site.
    #[must_use]
    pub fn code(&self) -> usize {
        relative(&raw const self.code)
    }

    /// Where the site jumps to.
    #[must_use]
    pub fn target(&self) -> usize {
        relative(&raw const self.target)
    }

    /// Address of the key.
    #[must_use]
    pub fn key(&self) -> usize {
        let word = relative(&raw const self.key);
        if !self.is_indirect() {
            return word;
        }
        // SAFETY: an indirect entry's key word leads to a slot of its object's GOT, filled by the loader before any
        // code of the object runs; of damaged entries, the index says that their key is lost.
        let slot = unsafe { (word as *const usize).read() };
        slot.wrapping_add((self.meta >> OFFSET_SHIFT) as usize)
    }

    /// Whether the key word leads to a slot that holds the key's address.
    fn is_indirect(&self) -> bool {
        self.meta & INDIRECT != 0
    }

    /// What the check yields where execution falls through.
    #[must_use]
    pub fn arm(&self) -> bool {
        self.meta & ARM != 0
    }

    /// Whether the site jumps while its key is `enabled`: Linux's `enabled ^ branch`.
    #[must_use]
    pub fn jumps(&self, enabled: bool) -> bool {
        enabled != self.arm()
    }

    /// Whether the site is a naked key's function.
    #[must_use]
    pub fn is_naked(&self) -> bool {
        self.meta & NAKED != 0
    }

    /// Whether it is naked, and its arm: all that tells sites of a key apart, beside where they are.
    pub(crate) fn kind(&self) -> u32 {
        self.meta & (NAKED | ARM)
    }

    /// The displacement of the site's jump.
    pub(crate) fn displacement(&self) -> Result<i32, Error> {
        arch::displacement(self.code(), self.target()).ok_or(Error::OutOfRange { address: self.code() })
    }

    /// The state that `bytes` are, `None` where they are not the site's: each kind of site has states of its own.
    pub(crate) fn decode(&self, bytes: [u8; arch::SITE_SIZE], displacement: i32) -> Option<arch::State> {
        arch::decode(bytes, displacement).filter(|state| state.is_of(self.is_naked()))
    }

    /// The state that the compiler emits for a site that jumps, or does not.
    pub(crate) fn emitted(&self, jump: bool) -> arch::State {
        arch::State::emitted(self.is_naked(), jump)
    }
}

/// The address that a self-relative word stands for. Computed on integers, from the address of the word as the program
/// sees it, so that no compiler can relate it to the table's bounds.
pub(crate) fn relative(word: *const i32) -> usize {
    // SAFETY: callers pass a word of a record or table entry, which is mapped and aligned.
    let distance = unsafe { word.read_volatile() };
    (word as usize).wrapping_add_signed(distance as isize)
}

/// The bytes of the site at `address`.
///
/// # Safety
/// `address` is the code of an entry of an object that is loaded and cannot be unloaded meanwhile (the lock is held).
#[inline]
pub(crate) unsafe fn read_site(address: usize) -> [u8; arch::SITE_SIZE] {
    // Not by `read_volatile`, which takes a load for each byte. The lock keeps this program from writing there; what a debugger
    // writes meanwhile is found in part at worst, and then foreign.
    // SAFETY: by the contract, SITE_SIZE bytes of text are mapped at `address`; bytes are aligned.
    unsafe { (address as *const [u8; arch::SITE_SIZE]).read() }
}

/// What the assembler is told of a check of a static that is `key`: the entry's meta word, and in bit 7, which is 0 there, whether
/// the site's first instruction is a jump. One number, because each constant costs its compiler as much as a function.
#[doc(hidden)]
#[must_use]
pub const fn site_word<K: Key>(arm: bool, _key: &K) -> u64 {
    word(arm, K::DEFAULT, 0)
}

/// The same of a check of `key`, which lies in `symbol`. The offset is above bit 8, whether the meta word has it or not.
///
/// # Safety
/// `key` lies in `symbol`.
#[doc(hidden)]
#[must_use]
pub const unsafe fn site_word_in<K: Key, S>(arm: bool, key: &K, symbol: &S) -> u64 {
    let (key, symbol) = (core::ptr::from_ref(key), core::ptr::from_ref(symbol));
    // SAFETY: by the contract; in a constant, anything else does not evaluate.
    let offset = unsafe { key.byte_offset_from(symbol) };
    assert!(offset >= 0);
    word(arm, K::DEFAULT, offset as usize)
}

const fn word(arm: bool, default: bool, offset: usize) -> u64 {
    meta(arm, offset) as u64 | if default != arm { JUMPS } else { 0 } | (offset as u64) << OFFSET_SHIFT
}

/// Whether the fallback accepts a key, where there are no sites.
#[doc(hidden)]
pub const fn is_key<K: Key>(_: &K) {}

/// The shape word of a key record: the default, whether the key word leads to a GOT slot, the distance of elements.
#[doc(hidden)]
#[must_use]
pub const fn shape(default: bool, stride: usize) -> u32 {
    assert!(stride < 1 << 24, "a key is smaller than 16 MiB");
    let indirect = if cfg!(jumplabel_dylib) { INDIRECT } else { 0 };
    default as u32 | indirect | ((stride as u32) << OFFSET_SHIFT)
}

/// The meta word of an entry.
#[doc(hidden)]
#[must_use]
pub const fn meta(arm: bool, offset: usize) -> u32 {
    if cfg!(jumplabel_dylib) {
        assert!(offset < 1 << 24, "a key lies at most 16 MiB into its static");
        arm as u32 | INDIRECT | ((offset as u32) << OFFSET_SHIFT)
    } else {
        arm as u32
    }
}

/// The meta word of the entry of a naked key's function: its arm is false.
#[doc(hidden)]
pub const NAKED_META: u32 = meta(false, 0) | NAKED;

/// A site, as introspection shows it.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// Address of the instruction.
    pub address: usize,
    /// Where it jumps to when it jumps; of a naked key's function, its own address where it does not jump.
    pub target: usize,
    /// What the check yields where execution falls through: `static_branch_likely` = true.
    pub arm: bool,
    /// Whether it is in the function of a naked key: then it decides what that returns.
    pub naked: bool,
    /// The bytes of the instruction now.
    pub bytes: [u8; arch::SITE_SIZE],
    /// Its state, `None` where something else wrote there.
    pub state: Option<arch::State>,
}

impl Site {
    /// # Safety
    /// As for [`read_site`].
    unsafe fn of(entry: &Entry) -> Site {
        let address = entry.code();
        // SAFETY: by the contract.
        let bytes = unsafe { read_site(address) };
        let state = entry.displacement().ok().and_then(|displacement| entry.decode(bytes, displacement));
        Site { address, target: entry.target(), arm: entry.arm(), naked: entry.is_naked(), bytes, state }
    }
}

/// Calls `visit` for each site of `key`, in the order of objects and then of addresses. Returns how many there are.
///
/// The sites are looked at under the lock and visited after it: `visit` may flip. Costs one binary search for each object
/// after the first call, which builds the index.
///
/// # Errors
/// [`Error::DamagedTable`] where an entry is damaged that is, or may be, of this key, [`Error::OutOfMemory`], and where the
/// lock cannot be taken, as for [`RawKey::seal`].
pub fn for_each_site(key: &RawKey, visit: impl FnMut(Site)) -> Result<usize, Error> {
    let fill = |sites: &mut List<Site>, lock: &Lock| {
        for object in object::all(lock) {
            for entry in index::entries(object, key.address(), lock)?.iter() {
                // SAFETY: the object is loaded, the lock is held, and the index has checked the entry.
                sites.push(unsafe { Site::of(entry) }, lock.text())?;
            }
        }
        Ok(())
    };
    list::collect(fill, visit)
}

/// Whether any site overlaps `range` of addresses: what another patcher asks before it writes there (Linux:
/// `jump_label_text_reserved`, whose end is inclusive; a Rust range's is not).
///
/// Costs a scan of all tables. Safe to call anywhere but in the middle of a flip.
///
/// # Errors
/// Where the lock cannot be taken, as for [`RawKey::seal`].
pub fn text_reserved(range: core::ops::Range<usize>) -> Result<bool, Error> {
    Ok(text_reserved_locked(range, &Lock::take()?))
}

/// [`text_reserved`] for a caller that holds the lock.
#[must_use]
pub fn text_reserved_locked(range: core::ops::Range<usize>, lock: &Lock) -> bool {
    // Nobody has checked the tables: an entry can lead anywhere.
    let end = |entry: &Entry| entry.code().saturating_add(arch::SITE_SIZE);
    let overlaps = |entry: &Entry| entry.code() < range.end && range.start < end(entry) && !range.is_empty();
    object::all(lock).any(|object| object.table().iter().any(overlaps))
}
