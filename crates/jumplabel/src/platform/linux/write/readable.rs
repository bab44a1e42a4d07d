//! Whether the program can read its code. It need not be able to: text that was linked or protected as execute-only
//! (`mprotect(PROT_EXEC)` on a processor with protection keys), a key that forbids access, `PROT_NONE`.
//!
//! `rt_sigprocmask` copies the new mask before it looks at what to do with it. Told to do what it does not know, it answers EFAULT if it
//! cannot read the mask, and EINVAL if it can, by the same rules as a load. Each flip calls it anyway, for what it is there for, so
//! filters of system calls know it.

use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};

use rustix::mm::MprotectFlags;

use super::maps::{Mapping, Maps};
use crate::platform::linux::{libc, pages};

/// The page of `address`, or, if `far`, its mapping; empty if it cannot be read. All of a mapping has one protection and one key.
pub(crate) fn around(address: usize, far: bool) -> Range<usize> {
    forget();
    if !can_read(address) {
        return 0..0;
    }
    let page = pages::floor(address);
    let found = far.then(|| Maps::open().and_then(|maps| maps.find(address, &mut [])));
    let Some(Ok(mapping)) = found else { return page..page + pages::size() };
    FOUND.iter().zip(words(&mapping)).for_each(|(place, word)| place.store(word, Ordering::Relaxed));
    mapping.start..mapping.end
}

/// Whether the eight aligned bytes can be read that `address` is in. If a filter of system calls refuses the question: whether anything is
/// mapped there, and true if that question is refused, too.
pub(super) fn can_read(address: usize) -> bool {
    use rustix::io::Errno;
    let answer = libc::rt_sigprocmask(address & !7);
    if answer == Err(Errno::INVAL.into()) || answer == Err(Errno::FAULT.into()) {
        return answer == Err(Errno::INVAL.into());
    }
    pages::look_for_holes(pages::floor(address), pages::size()) != Err(Errno::NOMEM.into())
}

/// The last mapping that was found: the writer need not ask for it again. Valid until the next question, and until the lock is released.
static FOUND: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];
const SHARED: usize = 1 << 16;

fn words(mapping: &Mapping) -> [usize; 3] {
    let shared = if mapping.shared { SHARED } else { 0 };
    [mapping.start, mapping.end, mapping.protection.bits() as usize | shared]
}

/// The mapping at `address`, if it was the last that was found; its bounds and protection.
pub(super) fn found(address: usize) -> Option<Mapping> {
    let [start, end, word] = FOUND.each_ref().map(|word| word.load(Ordering::Relaxed));
    let protection = MprotectFlags::from_bits_truncate(word as u32 & 7);
    let found = Mapping { start, end, protection, shared: word & SHARED != 0, offset: 0, inode: 0, path_len: 0 };
    (start..end).contains(&address).then_some(found)
}

/// The lock is taken: protections may have changed.
pub(crate) fn forget() {
    FOUND[1].store(0, Ordering::Relaxed);
}
