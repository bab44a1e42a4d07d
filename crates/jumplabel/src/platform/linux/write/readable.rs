//! Finds out which code the program can read. There are three reasons why code cannot be read: it was linked or protected as execute-only
//! (`mprotect(PROT_EXEC)` on a processor with protection keys), a protection key forbids access, or it has `PROT_NONE`.
//!
//! For a single page, the library asks by `rt_sigprocmask`, with an address on the page as the new mask, and with an unknown operation. This system
//! call reads the mask first, by the same rules as a load of the program. So its error is EFAULT if the page cannot be read, and EINVAL if it can. A
//! seccomp filter that allows flips also allows this call, because each flip uses it to block signals.
//!
//! For many pages, two other calls cost less. All pages of a mapping have the same protection and the same protection key, but single pages can have
//! a guard (`MADV_GUARD_INSTALL`), or lie beyond the end of a truncated file. [`present`] finds the pages of a mapping that are present, and these
//! have neither problem: if one of them can be read, all can. `madvise(MADV_POPULATE_READ)` answers for the other pages.

use core::ops::Range;

use rustix::mm::Advice;

use super::present;
use crate::platform::linux::{libc, pages};

/// The number of pages up to which one question for each page costs less than a question about all of them. A question about all pages costs as much
/// as four single questions, and in addition nearly as much as one single question for each page.
const FEW_PAGES: usize = 16;

/// A range of readable pages that begins with the page of `addresses.start`. Empty if `addresses.start` cannot be read. The range covers `addresses`
/// if all these pages can be read. It is shorter if one of them cannot be read, or if there are more than [`FEW_PAGES`] and the kernel is too old to
/// answer for all of them (before Linux 5.14). A shorter range may leave out pages that can be read.
pub(crate) fn around(addresses: Range<usize>) -> Range<usize> {
    if !can_read(addresses.start) {
        return 0..0;
    }
    let page = pages::floor(addresses.start);
    let mut known = page + pages::size();
    let mut end = known.max(pages::ceil(addresses.end));
    if end - page <= FEW_PAGES * pages::size() {
        while known < end && can_read(known) {
            known += pages::size();
        }
        return page..known;
    }
    known = present::after(page, end).unwrap_or(known);
    while end > known {
        match pages::populate(known, end - known, Advice::LinuxPopulateRead) {
            Ok(true) => break,
            Ok(false) => end = known,
            // At least one of these pages cannot be read, perhaps one without a site. So this asks about the first half of them.
            Err(_) => end = known + pages::floor((end - known) / 2),
        }
    }
    page..end
}

/// Whether the eight aligned bytes that contain `address` can be read. If a seccomp filter refuses this question, the answer is whether anything is
/// mapped there; if a filter refuses that question, too, the answer is true.
#[inline(never)]
pub(super) fn can_read(address: usize) -> bool {
    use rustix::io::Errno;
    let answer = libc::rt_sigprocmask(address & !7);
    if answer == Err(Errno::INVAL.into()) || answer == Err(Errno::FAULT.into()) {
        return answer == Err(Errno::INVAL.into());
    }
    pages::look_for_holes(pages::floor(address), pages::size()) != Err(Errno::NOMEM.into())
}
