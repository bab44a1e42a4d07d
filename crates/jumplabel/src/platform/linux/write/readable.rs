//! Whether the program can read its code. There are three reasons why it possibly cannot: the text was linked or protected as execute-only
//! (`mprotect(PROT_EXEC)` on a processor with protection keys), a protection key forbids access, or the text has `PROT_NONE`.
//!
//! The library finds that out by `rt_sigprocmask`. This system call copies the new mask before it looks at what to do with it. If it is
//! told to do something unknown, it answers EFAULT if it cannot read the mask, and EINVAL if it can. The kernel reads the mask by the same
//! rules as a load. Filters of system calls allow `rt_sigprocmask`, because each flip also calls it to block signals.

use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};

use rustix::mm::MprotectFlags;

use super::maps::{Mapping, Maps};
use crate::platform::linux::{libc, pages};

/// The page of `address` or, if `far`, the mapping of `address`. Empty if `address` cannot be read. All of a mapping has the same
/// protection and the same protection key.
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

/// Whether the eight aligned bytes that contain `address` can be read. If a filter of system calls refuses the question, returns whether
/// anything is mapped there. If that is refused, too, returns true.
pub(super) fn can_read(address: usize) -> bool {
    use rustix::io::Errno;
    let answer = libc::rt_sigprocmask(address & !7);
    if answer == Err(Errno::INVAL.into()) || answer == Err(Errno::FAULT.into()) {
        return answer == Err(Errno::INVAL.into());
    }
    pages::look_for_holes(pages::floor(address), pages::size()) != Err(Errno::NOMEM.into())
}

/// The last mapping that was found, so that the writer does not have to ask for it again. It is valid until the next question, or until the
/// lock is released.
static FOUND: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];
const SHARED: usize = 1 << 16;

fn words(mapping: &Mapping) -> [usize; 3] {
    let shared = if mapping.shared { SHARED } else { 0 };
    [mapping.start, mapping.end, mapping.protection.bits() as usize | shared]
}

/// The bounds and the protection of the mapping at `address`, if that was the last mapping that was found.
pub(super) fn found(address: usize) -> Option<Mapping> {
    let [start, end, word] = FOUND.each_ref().map(|word| word.load(Ordering::Relaxed));
    let protection = MprotectFlags::from_bits_truncate(word as u32 & 7);
    let found = Mapping { start, end, protection, shared: word & SHARED != 0, offset: 0, inode: 0, path_len: 0 };
    (start..end).contains(&address).then_some(found)
}

/// Forgets the last mapping. Called when the lock is taken, because protections can have changed since.
pub(crate) fn forget() {
    FOUND[1].store(0, Ordering::Relaxed);
}
