//! Whether the program can read its code. There are three reasons why it may not: the text was linked or protected as execute-only
//! (`mprotect(PROT_EXEC)` on a processor with protection keys), a protection key forbids access, or the text has `PROT_NONE`.
//!
//! The library finds that out by `rt_sigprocmask`. This system call copies the new mask before it looks at the operation. For an operation that
//! it does not know, it answers EFAULT if it cannot read the mask, and EINVAL if it can. The kernel reads the mask by the same rules as a load.
//! Filters of system calls allow `rt_sigprocmask`, because each flip also calls it to block signals.
//!
//! Each such question is about one page. All of a mapping has the same protection and the same protection key. But a page of it can have a guard
//! (`MADV_GUARD_INSTALL`), or lie beyond the end of a file that was truncated. Two calls answer for many pages. [`present`] finds present pages of
//! one mapping: if one of them can be read, all can. `madvise(MADV_POPULATE_READ)` answers for the other pages.

use core::ops::Range;

use rustix::mm::Advice;

use super::present;
use crate::platform::linux::{libc, pages};

/// For at most this number of pages, a question for each page costs less. A question about several pages costs as much as four single questions,
/// and nearly as much again for each page.
const FEW_PAGES: usize = 16;

/// The readable pages at the start of `addresses`: all of them, or as many as can be read. Empty if the first address cannot be read.
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
            // At least one page cannot be read, perhaps one without a site.
            Err(_) => end = known + pages::floor((end - known) / 2),
        }
    }
    page..end
}

/// Whether the eight aligned bytes that contain `address` can be read. If a filter of system calls refuses the question, whether anything is mapped
/// there. True if a filter refuses that question, too.
#[inline(never)]
pub(super) fn can_read(address: usize) -> bool {
    use rustix::io::Errno;
    let answer = libc::rt_sigprocmask(address & !7);
    if answer == Err(Errno::INVAL.into()) || answer == Err(Errno::FAULT.into()) {
        return answer == Err(Errno::INVAL.into());
    }
    pages::look_for_holes(pages::floor(address), pages::size()) != Err(Errno::NOMEM.into())
}
