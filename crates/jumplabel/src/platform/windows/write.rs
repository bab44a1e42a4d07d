//! The `mprotect` writer of Windows. It makes the pages of the batch writable by `VirtualProtect`, stores to them, and then restores the previous
//! protection of each page.
//!
//! ```text
//!   extents    .   . ..            .      sorted by address
//!   spans   [=========]        [====]     extents in one region, with no more than 16 pages between them, share a span
//!   open    each span becomes readable, writable and executable; if the system refuses one, those before it are closed
//!   body    stores, FlushInstructionCache, FlushProcessWriteBuffers; between two steps, the spans are also closed and opened again
//!   close   each span gets its own protection back
//! ```
//!
//! A region is a row of pages with the same protection, as `VirtualQuery` reports it. A span lies in one region, so all its pages get the same
//! protection back.
//!
//! If the system refuses to close a span, the span stays on the list and stays open, until a later flip can close it. The system does not show the
//! protection that the pages of an open span had before. So if a later span begins in an open span, the later span takes that protection from the
//! open span. A later span never lies only partly in an open span.
//!
//! *Copy on write.* If a program makes a page of a module writable, the system gives the page the protection `PAGE_EXECUTE_WRITECOPY`, whichever
//! writable protection the program asks for. The first store to the page makes a copy for this process alone. After that, the system may refuse to
//! give the page `PAGE_EXECUTE_WRITECOPY` again. So if that was its own protection, the page may be closed with `PAGE_EXECUTE_READWRITE`.

use super::kernel32::*;
use super::pages::{self, Region};
use super::{PLATFORM, sync};
use crate::error::Refusal;
use crate::platform::list::List;
use crate::platform::{Body, Extent, Failure, Guarded, Held, SPAN_GAP_PAGES, Write, Writer};

/// The spans of the current transaction, and the spans that could not be closed.
static SPANS: Guarded<List<Span>> = Guarded::new(List::new());

/// Makes `extents` writable, runs `body` with the open writer, and restores the pages. The self-test calls this function, too.
///
/// # Safety
/// The contract of [`Platform::open`](crate::platform::Platform::open).
pub(super) unsafe fn open(extents: &[Extent], held: &mut Held, body: &mut Body<'_>) -> Result<(), Failure> {
    let spans = SPANS.get(held);
    let result = find(spans, extents).and_then(|()| open_all(spans)).map_err(Failure::Refused);
    let result = result.and_then(|()| body(&mut VirtualProtect { spans, is_synced: false }));
    close(spans);
    result
}

/// Closes the spans that are still open. Returns false if a span stays open.
#[inline]
pub(super) fn close_remaining(held: &mut Held) -> bool {
    let spans = SPANS.get(held);
    spans.is_empty() || close(spans)
}

/// Forgets all spans at `addresses`, because the code there is about to be unloaded.
pub(super) fn unload(addresses: &core::ops::Range<usize>, held: &mut Held) {
    SPANS.get(held).retain(|span, _| span.end <= addresses.start || addresses.end <= span.start);
}

/// Frees the memory of the list of spans, because this instance of the library is about to be unloaded. Keeps the memory if a span is still open.
pub(super) fn stop(held: &mut Held) {
    let spans = SPANS.get(held);
    if spans.is_empty() {
        spans.free(&PLATFORM);
    }
}

struct VirtualProtect<'a> {
    spans: &'a mut List<Span>,
    /// Whether the last call of this writer was a core sync, so that the next write begins a new step.
    is_synced: bool,
}

impl Writer for VirtualProtect<'_> {
    unsafe fn write(&mut self, writes: &[Write]) -> Result<(), (usize, Refusal)> {
        // These writes begin a new step, which relies on the core sync after the previous step. Microsoft does not promise that
        // `FlushProcessWriteBuffers` is a core sync (docs/safety.md). So the spans are also closed and opened again, which interrupts the processors,
        // too.
        if core::mem::take(&mut self.is_synced) {
            let again = |span: &mut Span| span.close().and_then(|()| span.open());
            self.spans.as_mut_slice().iter_mut().try_for_each(again).map_err(|refusal| (0, refusal))?;
        }
        for write in writes {
            #[cfg(all(test, jumplabel_sites))]
            if super::tests::stores_nothing() {
                continue;
            }
            // SAFETY: the caller guarantees that the write is to extents that this writer was opened for, so the pages are writable. The patcher
            // aligns a word for a single store.
            unsafe { write.store() };
        }
        sync::flush(writes);
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Refusal> {
        #[cfg(all(test, jumplabel_sites))]
        super::tests::stores_nothing();
        sync::core_sync();
        self.is_synced = true;
        Ok(())
    }
}

/// Pages that are opened and closed together.
#[derive(Clone, Copy)]
struct Span {
    start: usize,
    end: usize,
    protection: u32,
    /// Whether the pages may be writable now.
    open: bool,
}

impl Span {
    fn protect(&self, protection: u32) -> Result<(), Refusal> {
        // SAFETY: the pages have verified sites, or lie between such pages in the same region of code. They stay executable for the threads that run
        // them.
        unsafe { pages::protect(self.start, self.end - self.start, protection) }
    }

    #[inline]
    fn open(&mut self) -> Result<(), Refusal> {
        self.protect(PAGE_EXECUTE_READWRITE)?;
        self.open = true;
        Ok(())
    }

    /// Restores the protection of the pages, if the span is open.
    #[inline]
    fn close(&mut self) -> Result<(), Refusal> {
        const KINDS: u32 = 0xff;
        if !self.open {
            return Ok(());
        }
        let is_copied = self.protection & KINDS == PAGE_EXECUTE_WRITECOPY;
        let copied = is_copied.then_some(self.protection & !KINDS | PAGE_EXECUTE_READWRITE);
        self.protect(self.protection).or_else(|refusal| copied.map_or(Err(refusal), |copied| self.protect(copied)))?;
        self.open = false;
        Ok(())
    }
}

/// Adds spans to the list that cover the pages of `extents`. Each span lies in one region.
fn find(spans: &mut List<Span>, extents: &[Extent]) -> Result<(), Refusal> {
    let page = pages::size();
    let floor = |address: usize| address & !(page - 1);
    let (mut current, mut limit): (Option<Span>, usize) = (None, 0);
    for extent in extents {
        let end = floor(extent.end + (page - 1));
        let mut start = floor(extent.first);
        while start < end {
            if let Some(span) = &mut current {
                if start < limit && start <= span.end + SPAN_GAP_PAGES * page {
                    span.end = span.end.max(end.min(limit));
                    start = start.max(span.end);
                    continue;
                }
                push(spans, *span)?;
            }
            let region = pages::region(start).filter(Region::is_code).ok_or(pages::refusal(ERROR_INVALID_ADDRESS))?;
            let mut found = Span { start, end: region.end, protection: region.protection, open: false };
            for span in spans.iter().filter(|span| span.open) {
                if start < span.start {
                    found.end = found.end.min(span.start);
                } else if start < span.end {
                    found = Span { end: found.end.min(span.end), protection: span.protection, ..found };
                }
            }
            limit = found.end;
            current = Some(Span { end: start, ..found });
        }
    }
    current.map_or(Ok(()), |span| push(spans, span))
}

fn push(spans: &mut List<Span>, span: Span) -> Result<(), Refusal> {
    spans.push(span, &PLATFORM).map_err(|_| pages::refusal(ERROR_NOT_ENOUGH_MEMORY))
}

/// Opens all spans that are not open. If the system refuses one, the caller closes those that were opened, with [`close`].
fn open_all(spans: &mut List<Span>) -> Result<(), Refusal> {
    spans.as_mut_slice().iter_mut().filter(|span| !span.open).try_for_each(Span::open)
}

/// Closes all spans. Returns false if a span cannot be closed. Such a span stays on the list for the next flip. Also forgets the region that
/// [`pages::readable`] found last, because its protection may change here.
#[inline(never)]
fn close(spans: &mut List<Span>) -> bool {
    if spans.is_empty() {
        return true;
    }
    pages::forget();
    for span in spans.as_mut_slice() {
        let _ = span.close();
    }
    spans.retain(|span, kept| {
        let known = kept.iter().any(|other: &Span| other.start <= span.start && span.end <= other.end);
        span.open && !known
    });
    spans.is_empty()
}
