//! The kernel's own [`Text`]: a lock of its own, memory of its own, pages opened one by one. This kernel has one processor,
//! so core sync is one serialising instruction.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::time::Duration;

use jumplabel::text::{
    Body, Extent, Failure, Held, Hooks, Image, Place, Summary, Text, Token, Write, Writer, Writers, Written,
};
use jumplabel::{Errno, Error, WriterKind, set_text};

use crate::system;

const PAGE: usize = 4096;

struct Own {
    locked: AtomicBool,
    refuses: AtomicBool,
    has_code: AtomicBool,
    started: AtomicBool,
    open_pages: AtomicUsize,
}

static OWN: Own = Own {
    locked: AtomicBool::new(false),
    refuses: AtomicBool::new(false),
    has_code: AtomicBool::new(true),
    started: AtomicBool::new(false),
    open_pages: AtomicUsize::new(0),
};
static TEXT: &dyn Text = &OWN;

/// What a kernel does before its first flip.
pub fn install() {
    // SAFETY: nobody flips; `Own` keeps the contract on a machine with one thread.
    unsafe { set_text(&TEXT) };
    assert!(OWN.started.load(Ordering::Relaxed));
}

pub fn refuse(yes: bool) {
    OWN.refuses.store(yes, Ordering::Relaxed);
}

/// Whether the kernel says of itself that it has code.
pub fn has_code(yes: bool) {
    OWN.has_code.store(yes, Ordering::Relaxed);
}

pub fn pages_left_writable() -> usize {
    OWN.open_pages.load(Ordering::Relaxed)
}

impl Own {
    /// Changes the protection of the pages of `extents`.
    fn protect(&self, extents: &[Extent], protection: usize) {
        for extent in extents {
            let mut page = extent.first & !(PAGE - 1);
            while page < extent.end {
                // SAFETY: a page with a site.
                assert!(unsafe { system::protect(page, PAGE, protection) });
                let step = if protection == system::READ_EXECUTE { usize::MAX } else { 1 };
                self.open_pages.fetch_add(step, Ordering::Relaxed);
                page += PAGE;
            }
        }
    }
}

// SAFETY: one thread; the lock finds re-entry; `open` restores what it opens.
unsafe impl Text for Own {
    fn lock(&self) -> Result<Token, Error> {
        if self.locked.swap(true, Ordering::Acquire) { Err(Error::Reentrant) } else { Ok([7; 2]) }
    }

    unsafe fn unlock(&self, token: Token) {
        assert!(token == [7; 2]);
        self.locked.store(false, Ordering::Release);
    }

    fn allocate(&self, bytes: usize) -> Option<NonNull<u8>> {
        NonNull::new(system::map(bytes) as *mut u8)
    }

    unsafe fn release(&self, memory: NonNull<u8>, bytes: usize) {
        // SAFETY: by the contract.
        unsafe { system::unmap(memory.as_ptr() as usize, bytes) };
    }

    fn page_size(&self) -> usize {
        PAGE
    }

    fn writers(&self, summary: &Summary, _: &mut Held) -> Writers {
        assert!(summary.sites > 0 && summary.pages > 0);
        assert!(self.lock() == Err(Error::Reentrant));
        Writers::of(&[WriterKind::Custom])
    }

    unsafe fn open(
        &self,
        kind: WriterKind,
        extents: &[Extent],
        _: &mut Held,
        body: &mut Body<'_>,
    ) -> Result<Written, Failure> {
        assert!(kind == WriterKind::Custom && extents.is_sorted_by(|a, b| a.end <= b.first));
        if self.refuses.load(Ordering::Relaxed) {
            return Err(Failure::Refused(Errno(1)));
        }
        self.protect(extents, system::READ_WRITE_EXECUTE);
        let result = body(&mut Stores);
        self.protect(extents, system::READ_EXECUTE);
        result.map(|()| Written::default())
    }

    fn now(&self) -> Duration {
        Duration::ZERO
    }

    unsafe fn start(&self, in_program: bool, _: &'static Hooks) {
        assert!(in_program && !self.started.swap(true, Ordering::Relaxed));
    }

    fn place(&self, _: usize) -> Place {
        Place { words: [system::image().start, system::image().end, 0], in_program: true, guarded: false }
    }

    /// So that a damaged table is found.
    unsafe fn image(&self, [start, end, _]: [usize; 3]) -> Option<Image> {
        let bounds = ((start, end), self.has_code.load(Ordering::Relaxed));
        (start < end).then(|| Image::of([bounds].into_iter())).flatten()
    }
}

/// Writes to pages that are open.
struct Stores;

impl Writer for Stores {
    unsafe fn write(&mut self, writes: &[Write]) -> Result<(), (usize, Errno)> {
        for write in writes {
            // SAFETY: bytes of a site on an open page.
            unsafe { write.store() };
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Errno> {
        core::arch::x86_64::__cpuid(0); // Serialises.
        Ok(())
    }
}
