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
//! A store can fault although the page is writable, because a protection key of the program can forbid stores. The signal of that fault would end the
//! process, because a flip blocks signals. So before the first store, the writer makes the kernel prepare the first page of each span for stores
//! (`MADV_POPULATE_WRITE`). If a store would fault, this call returns an error. One page is enough, because all pages of a span have the same
//! protection key.
//!
//! If the system refuses to close a span, the span stays on the list and stays open. The system reports the pages of an open span as writable, and no
//! longer shows the protection that they had before. So a later span that lies in an open span takes that protection from the open span. A later span
//! never lies only partly in an open span.
//!
//! When the writer meets a mapping for the first time, it makes the whole mapping writable, makes one page of the mapping ready for stores, and
//! closes the mapping again. The code below calls such a mapping *opened*. Without this, each flip of a single site would leave two more mappings in
//! the process, because the kernel would never again merge the part that was written to with the rest. There are two reasons for that. If a part of a
//! private file mapping was ever writable, Linux accounts for the memory of that part differently. And if a part was ever written to, it has its own
//! `anon_vma`, and Linux before 6.16 does not merge it with a part that has no `anon_vma` (`is_mergeable_anon_vma`).

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

/// The spans of the current transaction, the spans that could not be closed, and the mappings that were opened.
static SPANS: Guarded<Spans> = Guarded::new(Spans { list: List::new(), opened: Opened { list: [(0, 0); 64], len: 0 } });

/// Closes the spans that are still open. Returns false if a span stays open. Spans can be open because the system refused to close them, or because
/// this process was forked while the parent had them open.
pub(crate) fn close_remaining(held: &mut Held) -> bool {
    SPANS.get(held).close()
}

/// Forgets all spans and mappings at `addresses`, because these are about to be unmapped, and something else can lie there at the next flip.
pub(crate) fn unload(addresses: &core::ops::Range<usize>, held: &mut Held) {
    let spans = SPANS.get(held);
    let is_other = |start: usize, end: usize| end <= addresses.start || addresses.end <= start;
    let gone = spans.list.as_mut_slice().iter_mut().filter(|span| !is_other(span.start, span.end));
    gone.for_each(|span| span.open = false);
    spans.keep_open();
    spans.opened.retain(is_other);
}

/// Frees the memory of the list of spans, because this instance of the library is about to be unloaded. Keeps the memory if a span is still open.
pub(crate) fn stop(held: &mut Held) {
    let spans = SPANS.get(held);
    if spans.list.is_empty() {
        spans.list.free(&PLATFORM);
    }
}

impl Writer for Mprotect {
    unsafe fn write(&mut self, writes: &[Write]) -> Result<(), (usize, Refusal)> {
        for write in writes {
            // SAFETY: the caller guarantees that the write is to extents that this writer was opened for, so the pages are writable. The patcher
            // aligns a word for a single store.
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
    /// A span that consists of the page of `address`, for the case that the system does not show the mapping (without /proc, or under an emulator).
    /// Such a span does not grow beyond its page.
    fn page(address: usize) -> Span {
        let start = pages::floor(address);
        Span { start, end: start + pages::size(), protection: TEXT | bti::protection(address), open: false }
    }

    fn protect(&self, protection: MprotectFlags) -> Result<(), Refusal> {
        // SAFETY: all pages lie in one mapping of code, in which the writer's extents lie. They stay executable for the threads that run them.
        unsafe { pages::protect(self.start, self.end - self.start, protection) }
    }

    #[inline(never)]
    fn open(&mut self) -> Result<(), Refusal> {
        // SAFETY: the flag is a field of `self`, which is borrowed mutably.
        //
        // The flag is set before the call of `protect`, because a child that is forked during that call must close the span. The write is volatile,
        // because the compiler sees no other reader of the flag.
        unsafe { (&raw mut self.open).write_volatile(true) };
        let result = self.protect(self.protection | MprotectFlags::READ | MprotectFlags::WRITE | MprotectFlags::EXEC);
        self.open = result.is_ok();
        result
    }

    /// Makes the pages writable, and makes the first page ready for stores.
    fn open_for_stores(&mut self) -> Result<(), Refusal> {
        self.open()?;
        ready(self.start).map(drop)
    }

    /// Restores the protection of the pages, if the span is open. Returns false if the span stays open.
    fn close(&mut self) -> bool {
        self.open = self.open && self.protect(self.protection).is_err();
        !self.open
    }
}

/// The spans on which the writer works, and the mappings that were opened. In `list`, the spans that earlier transactions could not close come first,
/// and then the spans of the current transaction.
struct Spans {
    list: List<Span>,
    opened: Opened,
}

impl Spans {
    #[inline(never)]
    fn push(&mut self, span: Span) -> Result<(), Refusal> {
        self.list.push(span, &PLATFORM).map_err(|_| rustix::io::Errno::NOMEM.into())
    }

    /// Adds spans to the list that cover the pages of `extents`. Each span lies in one mapping.
    fn find(&mut self, extents: &[Extent]) -> Result<(), Refusal> {
        let gap = SPAN_GAP_PAGES * pages::size();
        let mut maps = None;
        // The address up to which the last span on the list can grow.
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

    /// The largest span that can contain `address`, with the protection that it has while it is closed. Opens the mapping at `address` first, if that
    /// was not done before.
    fn bounds(&mut self, maps: &mut Option<Result<Maps, Refusal>>, address: usize) -> Result<Span, Refusal> {
        let found = match maps.get_or_insert_with(Maps::open).as_ref().map(|maps| maps.find(address, &mut [])) {
            Ok(Err(NOT_PROCFS)) | Err(_) => Mapping::unknown(pages::is_shared(address)),
            Ok(found) => found?,
        };
        if found.shared {
            return Err(rustix::io::Errno::ACCESS.into()); // A store would change the file for every process that maps it.
        }
        if !found.is_text() {
            return Ok(self.own(Span::page(address), address));
        }
        let protection = found.protection | bti::protection(address);
        let bounds = self.own(Span { start: found.start, end: found.end, protection, open: false }, address);
        // The mapping is on the list while it is open, because a child that is forked during that time must close it. A mapping that cannot be closed
        // stays on the list.
        self.push(bounds)?;
        let opened = &mut self.opened;
        if self.list.as_mut_slice().last_mut().is_none_or(|mapping| opened.open_once(mapping, address)) {
            self.list.truncate(self.list.len() - 1);
        }
        Ok(bounds)
    }

    /// The largest part of `bounds` that contains `address` and lies either in one open span or in none, with the protection that this part has while
    /// it is closed. If the part lies in an open span, that protection comes from the span, because the system does not show it.
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

    /// Opens all spans that are not open. If the system refuses one, the caller closes those that were opened, with [`close`](Self::close).
    fn open(&mut self) -> Result<(), Refusal> {
        self.list.as_mut_slice().iter_mut().filter(|span| !span.open).try_for_each(Span::open_for_stores)
    }

    /// Closes all spans. Returns false if a span cannot be closed. Such a span stays on the list for the next flip.
    #[inline(never)]
    fn close(&mut self) -> bool {
        for span in self.list.as_mut_slice() {
            span.close();
        }
        self.keep_open();
        self.list.is_empty()
    }

    /// Drops from the list the spans that are closed, and those that lie inside an earlier span of the list.
    #[inline(never)]
    fn keep_open(&mut self) {
        self.list.retain(|span, kept| {
            let known = kept.iter().any(|other| other.start <= span.start && span.end <= other.end);
            span.open && !known
        });
    }
}

/// Makes the page of `address` ready for stores, or returns the error that tells why a store there would fault. Returns false, and does nothing, if
/// the kernel has no call for that (before Linux 5.14). The first store then makes the page ready.
#[inline(never)]
fn ready(address: usize) -> Result<bool, Refusal> {
    pages::populate(pages::floor(address), pages::size(), Advice::LinuxPopulateWrite)
}

/// The beginning and the end of each mapping that was opened.
struct Opened {
    list: [(usize, usize); 64],
    len: usize,
}

impl Opened {
    /// Makes all of `mapping` writable for a moment, and its page at `address` ready for stores, unless that was done before. Returns false if the
    /// mapping could not be closed again.
    fn open_once(&mut self, mapping: &mut Span, address: usize) -> bool {
        let known = self.list.iter().take(self.len).any(|&(start, end)| start <= mapping.start && mapping.end <= end);
        if known || mapping.end - mapping.start <= pages::size() {
            return true;
        }
        // A refusal here is not reported: the system will also refuse the spans in this mapping, and that is reported.
        if mapping.open().is_err() {
            return true;
        }
        if ready(address).is_err() {
            return mapping.close();
        }
        // SAFETY: the aligned word lies in the mapping, which is writable now. `ready` has not found that a store there would fault.
        //
        // This store makes the page ready on kernels and emulators that have no call for that.
        unsafe { arch::touch_word(address & !3) };
        if self.len == self.list.len() {
            self.len = 0; // The list is full, so this forgets all of it. That does no harm: a mapping may be opened again.
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
