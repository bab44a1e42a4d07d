//! [`Verdict`]: says whether the library can rely on an entry of a table. The figure at the top of [`index`](super::index) shows the consequences.

use super::readable;
use crate::arch::{Kind, Native, Target};
use crate::format::{self, Arm, Entry, KEY_BYTES, Object, entry};
use crate::platform::Image;

/// Whether the library can rely on an entry. If the platform does not know the object's bounds, every entry counts as `Sound`, except those with a
/// NULL key or an unknown kind and, in a PE file, those in which the linker has written 0 for a dropped site or key.
#[derive(Clone, Copy)]
pub(super) enum Verdict {
    /// As far as the library can see, the entry is right. The number is the address of its key.
    Sound(usize),
    /// The key is NULL: the symbol is weak, and nobody defines it.
    Nobodys,
    /// The site lies in code that was freed or, in a PE file, the linker dropped the site or the key.
    Freed,
    /// The site or the target is not code of the object, or the arms cannot be read now. The number is the address of the key.
    Damaged(usize),
    /// A copy of the site runs instead of the site. The number is the address of the key.
    Copied(usize),
    /// The library does not know the kind. The number is the address of the key.
    Unknown(usize),
    /// The entry does not lead to a key. If `anywhere` is true, the entry may belong to any key; otherwise, to any key that lies in the entry's
    /// object.
    Lost { anywhere: bool },
}

impl Verdict {
    /// The verdict on `entry`, an entry of `object`. If there is an `image`, this function checks that the entry's slot, its arms, and the word in
    /// front of its stub lie in the object, and then reads them. Without an `image`, the function reads only the entry and, if the entry is indirect,
    /// its slot, without a check.
    pub(super) fn of(entry: &Entry, object: &Object, image: Option<&Image>) -> Verdict {
        #[cfg(jumplabel_windows)]
        if entry.is_dropped() {
            return Verdict::Freed;
        }
        let word = format::relative(&raw const entry.key);
        let Some(image) = image else {
            let key = entry.key();
            return if is_null(key) { Verdict::Nobodys } else { Verdict::of_kind(entry, key) };
        };
        #[cfg(jumplabel_windows)]
        if entry.leads_on() && !image.contains_code(entry.code(), 1) {
            return Verdict::Freed;
        }
        if entry.is_indirect() {
            if !image.contains_slot(word) {
                return Verdict::Lost { anywhere: true };
            }
            // SAFETY: the word lies in a segment of the object, and is aligned if slots are aligned in this build.
            if is_null(unsafe { entry::read_slot(word) }) {
                return Verdict::Nobodys;
            }
        } else if is_null(word) || word.wrapping_sub(object.base()) < HEADERS {
            return Verdict::Nobodys; // The linker wrote NULL, address 0. At run time, the word leads to the address at which the object is loaded.
        } else if !image.contains_key(word) || object.table_contains(word) {
            // In a PE file, the linker may lead a word to a key of another object ("auto-import"). So the entry may belong to any key.
            return Verdict::Lost { anywhere: cfg!(jumplabel_windows) };
        }
        let key = entry.key();
        if !key.is_multiple_of(KEY_BYTES) {
            return Verdict::Lost { anywhere: true };
        }
        if image.is_freed(entry.code(), entry.bytes()) {
            return Verdict::Freed;
        }
        if image.is_copied(entry.code()) {
            return Verdict::Copied(key);
        }
        let bytes = entry.bytes_in_front() + readable::read_bytes(entry);
        let whole = image.contains_code(entry.start(), bytes) && leads_into(entry, image);
        if whole { Verdict::of_kind(entry, key) } else { Verdict::Damaged(key) }
    }

    fn of_kind(entry: &Entry, key: usize) -> Verdict {
        if entry.known_kind().is_ok() { Verdict::Sound(key) } else { Verdict::Unknown(key) }
    }

    /// Whether the entry belongs, or may belong, to the key at `key`. True if `key` is `None`.
    #[inline(never)] // Inlined, the loop around it would exist once with a key, and once without.
    pub(super) fn concerns(self, key: Option<usize>, image: Option<&Image>) -> bool {
        key.is_none_or(|key| match self {
            Verdict::Lost { anywhere } => anywhere || image.is_some_and(|image| image.contains_key(key)),
            _ => self.key() == Some(key),
        })
    }

    pub(super) fn key(self) -> Option<usize> {
        match self {
            Verdict::Sound(key) | Verdict::Damaged(key) | Verdict::Copied(key) | Verdict::Unknown(key) => Some(key),
            Verdict::Nobodys | Verdict::Freed | Verdict::Lost { .. } => None,
        }
    }
}

/// Whether the target of an entry is code of the object. If the target is a list of arms, the list and each arm must be code of the object. If the
/// target is a stub, the word in front of the stub and the arm must be. False if the list, or the word in front of the stub, cannot be read.
fn leads_into(entry: &Entry, image: &Image) -> bool {
    let target = entry.target();
    let word = size_of::<u32>();
    let is_there = |bytes| image.contains_code(target, bytes) && readable::can_read(target, bytes);
    match Kind::of(entry.kind()).map_or(Target::Code(1), Kind::target::<Native>) {
        Target::Code(bytes) => return image.contains_code(target, bytes),
        Target::Stub => {
            let stub = entry.arm_word();
            let is_there = image.contains_code(stub, word + 1) && readable::can_read(stub, word);
            return is_there && image.contains_code(entry.arm_address(), 1);
        }
        Target::Arms => {}
    }
    target.is_multiple_of(word)
        && is_there(word)
        // SAFETY: the word is aligned, lies in the object's code, and can be read.
        && unsafe { (target as *const u32).read() as usize }
            .checked_mul(size_of::<Arm>())
            .is_some_and(|arms| is_there(word.saturating_add(arms)))
        && entry.arms().iter().all(|arm| image.contains_code(arm.address(), arm.length().max(1)))
}

/// The size of the headers with which every object begins: the ELF header and a few program headers.
const HEADERS: usize = 256;

/// Whether `address` is NULL, or the address of a field of a static at NULL. Such an address is lower than all addresses that systems let
/// programs map (`vm.mmap_min_addr`).
const fn is_null(address: usize) -> bool {
    address < 0x8000
}
