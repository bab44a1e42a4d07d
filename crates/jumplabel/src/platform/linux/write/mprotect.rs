//! The `mprotect` writer: it makes the pages writable for the batch, stores to them, and gives them the protection back that they
//! really had.
//!
//! ```text
//!   extents    .   . ..            .      sorted by address
//!   spans   [=========]        [====]     extents within 16 pages of each other and in one mapping share a span
//!   open    rwx  each span; a refusal closes those before it: nothing was written
//!   body    plain stores
//!   close   the span's own protection
//! ```
//!
//! If the system refuses to close a span, it stays on the list. Until it is closed, the system says of its pages how they were opened, so a
//! later span asks the open ones first for its protection, and lies in one of them or beside them.
//!
//! When the writer meets a mapping for the first time, it opens all of it, writes to one page of it, and closes all of it. Without that,
//! each single flip would leave two mappings behind, for two reasons. Linux accounts a part of a private file mapping that was ever
//! writable differently from the rest. And a part that was ever written to has an `anon_vma` of its own, which Linux before 6.16 does not
//! merge with a part that has none (`is_mergeable_anon_vma`). So neither part merges with the rest again. In the code below, such a
//! mapping is *opened*.

use rustix::mm::MprotectFlags;

use super::maps::{Maps, NOT_PROCFS, TEXT};
use super::{Open, bti, caches, events, readable, sync};
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

/// What is open, and what could not be closed.
static SPANS: Guarded<Spans> = Guarded::new(Spans { list: List::new(), opened: Opened { list: [(0, 0); 64], len: 0 } });

/// Closes what is still open: because closing was refused, or because this process was forked from one that had it open. False if
/// something stays open.
pub(crate) fn close_remaining(held: &mut Held) -> bool {
    SPANS.get(held).close()
}

/// What lies in `addresses` is about to be unmapped. At the next flip something else may lie there, so drop what is known of it.
pub(crate) fn unload(addresses: &core::ops::Range<usize>, held: &mut Held) {
    let spans = SPANS.get(held);
    let is_other = |start: usize, end: usize| end <= addresses.start || addresses.end <= start;
    spans.keep(&|span| is_other(span.start, span.end));
    spans.opened.retain(is_other);
}

/// This instance of the library is about to be unloaded: gives the memory of the list back, unless something is still open.
pub(crate) fn stop(held: &mut Held) {
    let spans = SPANS.get(held);
    if spans.list.is_empty() {
        spans.list.free(&PLATFORM);
    }
}

impl Writer for Mprotect {
    unsafe fn write(&mut self, writes: &[Write]) -> Result<(), (usize, Refusal)> {
        for write in writes {
            // SAFETY: on pages that are open; a word is aligned.
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
    /// It may be writable now.
    open: bool,
}

impl Span {
    /// If the system does not tell (no /proc, or an emulator's), a span does not grow beyond its page.
    fn page(address: usize) -> Span {
        let start = pages::floor(address);
        Span { start, end: start + pages::size(), protection: TEXT | bti::protection(address), open: false }
    }

    fn protect(&self, protection: MprotectFlags) -> Result<(), Refusal> {
        // SAFETY: pages with sites of ours, or between them in the same mapping; executable before and after.
        unsafe { pages::protect(self.start, self.end - self.start, protection) }
    }

    #[inline(never)]
    fn open(&mut self) -> Result<(), Refusal> {
        // If the process is forked during the call, the child has to close it. Volatile, because to the compiler nobody else looks.
        // SAFETY: a place of ours.
        unsafe { (&raw mut self.open).write_volatile(true) };
        let result = self.protect(self.protection | MprotectFlags::READ | MprotectFlags::WRITE | MprotectFlags::EXEC);
        self.open = result.is_ok();
        result
    }

    /// False if it stays open.
    fn close(&mut self) -> bool {
        self.open = self.open && self.protect(self.protection).is_err();
        !self.open
    }
}

/// The spans of a transaction, behind those that earlier ones could not close.
struct Spans {
    list: List<Span>,
    opened: Opened,
}

impl Spans {
    #[inline(never)]
    fn push(&mut self, span: Span) -> Result<(), Refusal> {
        self.list.push(span, &PLATFORM).map_err(|_| rustix::io::Errno::NOMEM.into())
    }

    /// The spans that cover `extents`, in their mappings.
    fn find(&mut self, extents: &[Extent]) -> Result<(), Refusal> {
        let mut maps = None;
        let mut limit = 0;
        let mut current: Option<Span> = None;
        for extent in extents {
            let end = pages::ceil(extent.end);
            let mut start = pages::floor(extent.first);
            while start < end {
                if let Some(span) = &mut current {
                    if start < limit && start <= span.end + SPAN_GAP_PAGES * pages::size() {
                        span.end = span.end.max(end.min(limit));
                        start = start.max(span.end);
                        continue;
                    }
                    self.push(*span)?;
                }
                let found = self.bounds(&mut maps, start)?;
                limit = found.end;
                current = Some(Span { start, end: start, ..found });
            }
        }
        current.map_or(Ok(()), |span| self.push(span))
    }

    /// The part of a mapping that a span at `address` may grow into, with its own protection.
    fn bounds(&mut self, maps: &mut Option<Result<Maps, Refusal>>, address: usize) -> Result<Span, Refusal> {
        let found = match readable::found(address) {
            Some(found) => found,
            None => match maps.get_or_insert_with(Maps::open).as_ref().map(|maps| maps.find(address, &mut [])) {
                Ok(Err(NOT_PROCFS)) | Err(_) => return Ok(self.own(Span::page(address), address)),
                Ok(found) => found?,
            },
        };
        if found.shared {
            return Err(rustix::io::Errno::ACCESS.into()); // The file would change, and every process with it.
        }
        if !found.is_text() {
            return Ok(self.own(Span::page(address), address));
        }
        let protection = found.protection | bti::protection(address);
        let bounds = self.own(Span { start: found.start, end: found.end, protection, open: false }, address);
        // On the list while it is open, because the process may be forked meanwhile; and longer, if it cannot be closed.
        self.push(bounds)?;
        let opened = &mut self.opened;
        if self.list.as_mut_slice().last_mut().is_none_or(|mapping| opened.open_once(mapping, address)) {
            self.list.truncate(self.list.len() - 1);
        }
        Ok(bounds)
    }

    /// The part of `bounds` around `address` that is open as a whole, or not at all. What an open span covers, the system shows as it was
    /// opened; the span knows what it was before.
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

    /// Opens all that are not. After a refusal, `close` closes those that were opened and leaves the rest as it is.
    fn open(&mut self) -> Result<(), Refusal> {
        self.list.as_mut_slice().iter_mut().filter(|span| !span.open).try_for_each(Span::open)
    }

    /// Closes all. If a span cannot be closed, it stays on the list, for the next flip, and the result is false.
    #[inline(never)]
    fn close(&mut self) -> bool {
        if !self.list.is_empty() {
            readable::forget();
        }
        for span in self.list.as_mut_slice() {
            span.close();
        }
        self.keep(&|span| span.open);
        self.list.is_empty()
    }

    /// Keeps the spans for which `keep` says so, without those that lie in one before them.
    #[inline(never)]
    fn keep(&mut self, keep: &dyn Fn(&Span) -> bool) {
        self.list.retain(|span, kept| {
            let known = kept.iter().any(|other| other.start <= span.start && span.end <= other.end);
            keep(span) && !known
        });
    }
}

/// Mappings that were opened.
struct Opened {
    list: [(usize, usize); 64],
    len: usize,
}

impl Opened {
    /// Opens all of `mapping` for a moment, writes to its page at `address`. False if it could be opened and not closed again.
    fn open_once(&mut self, mapping: &mut Span, address: usize) -> bool {
        let known = self.list.iter().take(self.len).any(|&(start, end)| start <= mapping.start && mapping.end <= end);
        if known || mapping.end - mapping.start <= pages::size() {
            return true;
        }
        if mapping.open().is_err() {
            return true; // The spans will meet the same refusal, and report it.
        }
        // SAFETY: a word of a page of text, in a mapping that is open.
        unsafe { arch::touch_word(address & !3) };
        if self.len == self.list.len() {
            self.len = 0; // Many objects have come and gone. Opening it again is harmless.
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
