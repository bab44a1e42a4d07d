//! The `mprotect` writer. It makes the pages writable for the batch, stores to them, and then restores the previous protection of each page.
//!
//! ```text
//!   extents    .   . ..            .      sorted by address
//!   spans   [=========]        [====]     extents in one mapping, with no more than 16 pages between them, share a span
//!   open    each span becomes rwx, and its first page is made ready for stores; if the system refuses that for one span, the writer
//!           closes all spans again, and writes nothing
//!   body    plain stores
//!   close   each span gets its own protection back
//! ```
//!
//! A store can fault although the page is writable: a protection key of the program can forbid stores. The fault's signal would end the process,
//! because a flip blocks signals. So the writer makes the kernel prepare the first page of each span (`MADV_POPULATE_WRITE`). This call checks the
//! same conditions as a store. All pages of a span have the same protection key.
//!
//! If the system refuses to close a span, the span stays on the list. As long as it is open, the system reports its pages as writable, and does not
//! show the protection that they had before. So a later span that lies in an open span takes its protection from the open span. A span never lies
//! partly in an open span.
//!
//! When the writer meets a mapping for the first time, it opens the whole mapping, makes one page of it ready, and closes the whole mapping. The code
//! below calls such a mapping *opened*. If a mapping was not opened first, each single flip would leave two more mappings, because the part that it
//! wrote to would never merge with the rest again. There are two reasons. If a part of a private file mapping was ever writable, Linux accounts for
//! that part in another way than for the
//! rest. And if a part was ever written to, it has its own `anon_vma`, and Linux before 6.16 does not merge it with a part that has no `anon_vma`
//! (`is_mergeable_anon_vma`).

use rustix::mm::{Advice, MprotectFlags};

use super::maps::{Mapping, Maps, NOT_PROCFS, TEXT};
use super::{Open, bti, caches, events, sync};
use crate::arch;
use crate::error::Refusal;
use crate::platform::linux::{PLATFORM, pages};
use crate::platform::list::{self, List};
use crate::platform::{Body, Extent, Failure, Guarded, Held, SPAN_GAP_PAGES, Write, Writer};

pub(super) struct Mprotect;

impl Open for Mprotect {
    unsafe fn open(extents: &[Extent], held: &mut Held, body: &mut Body<'_>) -> Result<(), Failure> {
        let spans = SPANS.get(held);
        let result = spans
            .find(extents)
            .and_then(|()| spans.open())
            .map_err(Failure::Refused)
            .and_then(|()| body(&mut Mprotect));
        spans.close();
        result
    }
}

/// The open spans, including those that could not be closed, and the mappings that were opened.
static SPANS: Guarded<Spans> = Guarded::new(Spans { list: List::new(), opened: Opened { list: [(0, 0); 64], len: 0 } });

/// Closes the spans that are still open. A span can be open because the system refused to close it, or because this process was forked while the
/// parent had it open. Returns false if a span stays open.
pub(crate) fn close_remaining(held: &mut Held) -> bool {
    SPANS.get(held).close()
}

/// Forgets everything about `addresses`, because they are about to be unmapped. Something else can lie there at the next flip.
pub(crate) fn unload(addresses: &core::ops::Range<usize>, held: &mut Held) {
    let spans = SPANS.get(held);
    let is_other = |start: usize, end: usize| end <= addresses.start || addresses.end <= start;
    let gone = spans.list.as_mut_slice().iter_mut().filter(|span| !is_other(span.start, span.end));
    gone.for_each(|span| span.open = false);
    spans.keep_open();
    spans.opened.retain(is_other);
}

/// Frees the memory of the list, because this instance of the library is about to be unloaded. Keeps the list if a span is still open.
pub(crate) fn stop(held: &mut Held) {
    let spans = SPANS.get(held);
    if spans.list.is_empty() {
        spans.list.free(&PLATFORM);
    }
}

impl Writer for Mprotect {
    unsafe fn write(&mut self, writes: &[Write]) -> Result<(), (usize, Refusal)> {
        for write in writes {
            // SAFETY: the write is to pages that are open, and a word is aligned.
            unsafe { write.store() };
            events::log(events::Event::Store(write.address));
        }
        caches::maintain(writes);
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Refusal> {
        sync::core_sync()
    }
}

/// Pages that are opened and closed together.
#[derive(Clone, Copy)]
struct Span {
    start: usize,
    end: usize,
    protection: MprotectFlags,
    /// Whether the pages may be writable now.
    open: bool,
}

impl Span {
    /// A span that is the page of `address`. It is used if the system does not show the mapping (there is no /proc, or /proc is an emulator's).
    /// Such a span does not grow beyond its page.
    fn page(address: usize) -> Span {
        let start = pages::floor(address);
        Span { start, end: start + pages::size(), protection: TEXT | bti::protection(address), open: false }
    }

    fn protect(&self, protection: MprotectFlags) -> Result<(), Refusal> {
        // SAFETY: the pages have verified sites, or lie between such pages in the same mapping. They are executable before and after.
        unsafe { pages::protect(self.start, self.end - self.start, protection) }
    }

    #[inline(never)]
    fn open(&mut self) -> Result<(), Refusal> {
        // The flag is set before the call, because a child that is forked during the call must close the span. The write is volatile, because
        // the compiler sees no other reader of the flag. SAFETY: the flag is a field of `self`.
        unsafe { (&raw mut self.open).write_volatile(true) };
        let result = self.protect(self.protection | MprotectFlags::READ | MprotectFlags::WRITE | MprotectFlags::EXEC);
        self.open = result.is_ok();
        result
    }

    /// Opens the pages, and makes the first one ready for stores.
    fn open_for_stores(&mut self) -> Result<(), Refusal> {
        self.open()?;
        ready(self.start).map(drop)
    }

    /// Restores the protection of the pages. Returns false if the span stays open.
    fn close(&mut self) -> bool {
        self.open = self.open && self.protect(self.protection).is_err();
        !self.open
    }
}

/// The spans of a transaction, after the spans that earlier transactions could not close.
struct Spans {
    list: List<Span>,
    opened: Opened,
}

impl Spans {
    #[inline(never)]
    fn push(&mut self, span: Span) -> Result<(), Refusal> {
        self.list.push(span, &PLATFORM).map_err(|_| rustix::io::Errno::NOMEM.into())
    }

    /// Puts spans on the list, so that they cover `extents`. Each span lies in one mapping.
    fn find(&mut self, extents: &[Extent]) -> Result<(), Refusal> {
        let gap = SPAN_GAP_PAGES * pages::size();
        let mut maps = None;
        // The last span on the list can grow up to this address.
        let mut limit = 0;
        for extent in extents {
            let end = pages::ceil(extent.end);
            let mut start = pages::floor(extent.first);
            while start < end {
                match self.list.as_mut_slice().last_mut() {
                    Some(span) if start < limit && start <= span.end + gap => {
                        span.end = span.end.max(end.min(limit));
                        start = start.max(span.end);
                    }
                    _ => {
                        let found = self.bounds(&mut maps, start)?;
                        limit = found.end;
                        self.push(Span { start, end: start, ..found })?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The part of the mapping at `address` to which a span there can grow, with the protection that the part has while it is closed.
    fn bounds(&mut self, maps: &mut Option<Result<Maps, Refusal>>, address: usize) -> Result<Span, Refusal> {
        let found = match maps.get_or_insert_with(Maps::open).as_ref().map(|maps| maps.find(address, &mut [])) {
            Ok(Err(NOT_PROCFS)) | Err(_) => Mapping::unknown(pages::is_shared(address)),
            Ok(found) => found?,
        };
        if found.shared {
            return Err(rustix::io::Errno::ACCESS.into()); // A write would change the file, in every process that maps it.
        }
        if !found.is_text() {
            return Ok(self.own(Span::page(address), address));
        }
        let protection = found.protection | bti::protection(address);
        let bounds = self.own(Span { start: found.start, end: found.end, protection, open: false }, address);
        // The mapping is on the list while it is open, because the process can be forked during that time. If it cannot be closed, it stays on
        // the list.
        self.push(bounds)?;
        let opened = &mut self.opened;
        if self.list.as_mut_slice().last_mut().is_none_or(|mapping| opened.open_once(mapping, address)) {
            self.list.truncate(self.list.len() - 1);
        }
        Ok(bounds)
    }

    /// Returns the largest part of `bounds` around `address` that lies in one open span, or in none, with the protection that the part has while it
    /// is closed. For pages in an open span, that protection comes from the span, because the system does not show it.
    #[inline(never)]
    fn own(&self, mut bounds: Span, address: usize) -> Span {
        for span in self.list.iter().filter(|span| span.open) {
            if address < span.start {
                bounds.end = bounds.end.min(span.start);
            } else if span.end <= address {
                bounds.start = bounds.start.max(span.end);
            } else {
                let (start, end) = (bounds.start.max(span.start), bounds.end.min(span.end));
                bounds = Span { start, end, protection: span.protection, open: false };
            }
        }
        bounds
    }

    /// Opens all spans that are not open. After a refusal, `close` closes those that were opened, and leaves the others as they are.
    fn open(&mut self) -> Result<(), Refusal> {
        self.list.as_mut_slice().iter_mut().filter(|span| !span.open).try_for_each(Span::open_for_stores)
    }

    /// Closes all spans. If a span cannot be closed, it stays on the list for the next flip, and the result is false.
    #[inline(never)]
    fn close(&mut self) -> bool {
        for span in self.list.as_mut_slice() {
            span.close();
        }
        self.keep_open();
        self.list.is_empty()
    }

    /// Keeps the spans that are open. Drops a span that lies inside a span before it on the list.
    #[inline(never)]
    fn keep_open(&mut self) {
        self.list.retain(|span, kept| {
            let known = kept.iter().any(|other| other.start <= span.start && span.end <= other.end);
            span.open && !known
        });
    }
}

/// Makes the page of `address` ready for stores. Returns false if the kernel has no call for that; then the first store makes the page ready.
#[inline(never)]
fn ready(address: usize) -> Result<bool, Refusal> {
    pages::populate(pages::floor(address), pages::size(), Advice::LinuxPopulateWrite)
}

/// The mappings that were opened.
struct Opened {
    list: [(usize, usize); 64],
    len: usize,
}

impl Opened {
    /// Opens all of `mapping` for a moment, and makes its page at `address` ready for stores. Returns false if the mapping was opened, but could
    /// not be closed again.
    fn open_once(&mut self, mapping: &mut Span, address: usize) -> bool {
        let known = self.list.iter().take(self.len).any(|&(start, end)| start <= mapping.start && mapping.end <= end);
        if known || mapping.end - mapping.start <= pages::size() {
            return true;
        }
        // If the system refuses one of these calls, the spans will get the same refusal, and report it.
        if mapping.open().is_err() {
            return true;
        }
        if ready(address).is_err() {
            return mapping.close();
        }
        // For kernels and emulators that have no call to make a page ready. SAFETY: the word lies in a page of text, in a mapping that is open,
        // and a store to it does not fault.
        unsafe { arch::touch_word(address & !3) };
        if self.len == self.list.len() {
            self.len = 0; // The list is full, because many objects were loaded and unloaded. Opening a mapping again does no harm.
        }
        if let Some(place) = self.list.get_mut(self.len) {
            *place = (mapping.start, mapping.end);
            self.len += 1;
        }
        mapping.close()
    }

    fn retain(&mut self, keep: impl Fn(usize, usize) -> bool) {
        let known = self.list.get_mut(..self.len).unwrap_or_default();
        self.len = list::retain(known, |&(start, end), _| keep(start, end));
    }
}
