//! The `mprotect` writer: the pages are made writable for the batch, stored to, and given the protection back that they
//! really had.
//!
//! ```text
//!   edits      .   . ..            .      sorted by address
//!   spans   [=========]        [====]     sites within 16 pages of each other and in one mapping share a span
//!   open    rwx  each span; a refusal closes those before it: nothing was written
//!   body    plain stores
//!   close   the span's own protection
//! ```
//!
//! *Priming*: the first time a mapping is met, all of it is opened and closed once. A part of a private file mapping that
//! was ever writable is accounted differently from the rest and never merges back with it: without priming, single flips
//! leave hundreds of mappings behind.

use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicPtr, Ordering};

use rustix::mm::{MprotectFlags, mprotect};

use super::maps::Maps;
use super::{Open, pages, sync};
use crate::arch;
use crate::error::Errno;
use crate::patch::{EditList, Failure, Step};
use crate::text::{Warnings, Writer};

/// Pages between two sites that cost less to open than another system call: 65 ns each against 3 us.
const GAP_PAGES: usize = 16;

pub(super) struct Mprotect;

impl Open for Mprotect {
    unsafe fn open(
        edits: &EditList,
        body: &mut dyn FnMut(&mut dyn Writer) -> Result<(), Failure>,
    ) -> Result<Warnings, Failure> {
        let refused = |errno: Errno| Failure::Refused(errno);
        let mut spans = Spans::new();
        spans.find(edits).map_err(refused)?;
        OPEN.store(&raw mut spans, Ordering::Relaxed);
        let result = spans.open().map_err(refused).and_then(|()| body(&mut Mprotect));
        let left_writable = !spans.close() | spans.primed_open;
        OPEN.store(null_mut(), Ordering::Relaxed);
        result.map(|()| Warnings { left_writable })
    }
}

/// The spans that are open: not null under the lock only in a child made by a raw `clone` in mid-flip.
static OPEN: AtomicPtr<Spans> = AtomicPtr::new(null_mut());

/// Closes what a process that this one is a copy of had open.
pub(super) fn close_inherited() {
    // SAFETY: the flipping thread's stack was copied with the rest of memory, and nothing runs on it here.
    if let Some(spans) = unsafe { OPEN.swap(null_mut(), Ordering::Relaxed).as_ref() } {
        spans.close();
    }
}

impl Writer for Mprotect {
    unsafe fn write(&mut self, edits: &EditList, step: Step) -> Result<(), (usize, Errno)> {
        for edit in edits {
            if let Some(piece) = step.piece(edit) {
                let first = edit.address + usize::from(piece.offset);
                for (byte, address) in piece.bytes().iter().zip(first..) {
                    // SAFETY: a byte of a site, on a page that is open.
                    unsafe { (address as *mut u8).write_volatile(*byte) };
                }
            }
        }
        Ok(())
    }

    fn sync(&mut self) {
        let _ = sync::core_sync();
    }
}

/// Pages that are opened and closed together.
#[derive(Clone, Copy)]
struct Span {
    start: usize,
    end: usize,
    protection: MprotectFlags,
}

impl Span {
    fn protect(&self, protection: MprotectFlags) -> Result<(), Errno> {
        // SAFETY: pages with sites of ours, or between them in the same mapping; executable before and after.
        Ok(unsafe { mprotect(self.start as *mut c_void, self.end - self.start, protection) }?)
    }

    fn open(&self) -> Result<(), Errno> {
        self.protect(self.protection | MprotectFlags::READ | MprotectFlags::WRITE | MprotectFlags::EXEC)
    }
}

/// The spans of a transaction; a few need no memory.
struct Spans {
    few: [Span; FEW],
    many: Option<NonNull<Span>>,
    capacity: usize,
    len: usize,
    /// Priming left a mapping writable.
    primed_open: bool,
}

const FEW: usize = 16;

impl Spans {
    fn new() -> Spans {
        let none = Span { start: 0, end: 0, protection: MprotectFlags::empty() };
        Spans { few: [none; FEW], many: None, capacity: FEW, len: 0, primed_open: false }
    }

    fn list(&self) -> &[Span] {
        match self.many {
            // SAFETY: `len` spans were written.
            Some(many) => unsafe { core::slice::from_raw_parts(many.as_ptr(), self.len) },
            None => &self.few[..self.len],
        }
    }

    fn push(&mut self, span: Span) -> Result<(), Errno> {
        if self.len == self.capacity {
            let many = pages::allocate(2 * self.capacity * size_of::<Span>()).ok_or(rustix::io::Errno::NOMEM)?.cast();
            // SAFETY: room for twice as many.
            unsafe { many.copy_from_nonoverlapping(NonNull::from(self.list()).cast(), self.len) };
            self.free();
            (self.many, self.capacity) = (Some(many), 2 * self.capacity);
        }
        match self.many {
            // SAFETY: `len` is below the capacity.
            Some(many) => unsafe { many.add(self.len).write(span) },
            None => self.few[self.len] = span,
        }
        self.len += 1;
        Ok(())
    }

    fn free(&mut self) {
        if let Some(many) = self.many.take() {
            // SAFETY: allocated in `push` with this size.
            unsafe { pages::release(many.cast(), self.capacity * size_of::<Span>()) };
        }
    }

    /// The spans that cover `edits`, in their mappings.
    fn find(&mut self, edits: &EditList) -> Result<(), Errno> {
        let maps = Maps::open();
        let mut mapping = None;
        let mut current: Option<Span> = None;
        for edit in edits {
            let end = pages::ceil(edit.address + arch::SITE_SIZE);
            let mut start = pages::floor(edit.address);
            while start < end {
                if let Some(span) = &mut current {
                    let limit = mapping_end(mapping);
                    if start < limit && start <= span.end + GAP_PAGES * pages::size() {
                        span.end = span.end.max(end.min(limit));
                        start = start.max(span.end);
                        continue;
                    }
                    self.push(*span)?;
                }
                let found = self.bounds(&maps, start)?;
                mapping = Some(found);
                current = Some(Span { start, end: start, protection: found.protection });
            }
        }
        current.map_or(Ok(()), |span| self.push(span))
    }

    /// The part of a mapping that a span at `address` may grow into.
    fn bounds(&mut self, maps: &Result<Maps, Errno>, address: usize) -> Result<Bounds, Errno> {
        let Ok(maps) = maps else {
            // Without /proc, text is taken for what linkers make it, and a span does not grow beyond its page.
            let end = pages::floor(address) + pages::size();
            return Ok(Bounds { end, protection: MprotectFlags::READ | MprotectFlags::EXEC });
        };
        let found = maps.find(address, &mut [])?;
        self.primed_open |= !prime(Span { start: found.start, end: found.end, protection: found.protection });
        Ok(Bounds { end: found.end, protection: found.protection })
    }

    /// Opens all. After a refusal, `close` closes those that were opened and leaves the rest as it is.
    fn open(&self) -> Result<(), Errno> {
        self.list().iter().try_for_each(Span::open)
    }

    /// Closes all; false where one stays open.
    fn close(&self) -> bool {
        self.list().iter().fold(true, |all, span| span.protect(span.protection).is_ok() & all)
    }
}

impl Drop for Spans {
    fn drop(&mut self) {
        self.free();
    }
}

/// The part of a mapping that a span may grow into.
#[derive(Clone, Copy)]
struct Bounds {
    end: usize,
    protection: MprotectFlags,
}

fn mapping_end(bounds: Option<Bounds>) -> usize {
    bounds.map_or(0, |bounds| bounds.end)
}

/// Mappings that were primed. A full list means that the rest is not, which costs mappings and nothing else.
struct Primed(UnsafeCell<([(usize, usize); 64], usize)>);
// SAFETY: used under the lock only.
unsafe impl Sync for Primed {}
static PRIMED: Primed = Primed(UnsafeCell::new(([(0, 0); 64], 0)));

/// False where the mapping could be opened and not closed again.
fn prime(mapping: Span) -> bool {
    // SAFETY: the writers run under the lock.
    let (list, len) = unsafe { &mut *PRIMED.0.get() };
    let known = list[..*len].iter().any(|&(start, end)| start <= mapping.start && mapping.end <= end);
    if known || *len == list.len() || mapping.end - mapping.start <= pages::size() {
        return true;
    }
    if mapping.open().is_err() {
        return true; // The spans will meet the same refusal, and report it.
    }
    list[*len] = (mapping.start, mapping.end);
    *len += 1;
    mapping.protect(mapping.protection).is_ok()
}
