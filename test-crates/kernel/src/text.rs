//! The kernel's own [`Text`]: a lock of its own, memory of its own, pages opened one by one. This kernel has one processor,
//! so core sync is one serialising instruction.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::time::Duration;

use jumplabel::patch::{EditList, Failure, Step, plan::Summary};
use jumplabel::site::object::{RUNTIME, Runtime};
use jumplabel::text::{Text, Token, Writer, Written, set_text};
use jumplabel::{Errno, Error, WriterKind};

use crate::system;

const PAGE: usize = 4096;

struct Own {
    locked: AtomicBool,
    refuses: AtomicBool,
    open_pages: AtomicUsize,
}

static OWN: Own =
    Own { locked: AtomicBool::new(false), refuses: AtomicBool::new(false), open_pages: AtomicUsize::new(0) };
static TEXT: &dyn Text = &OWN;

/// What a kernel does before its first flip.
pub fn install() {
    // SAFETY: nobody flips; `Own` keeps the contract on a machine with one thread.
    unsafe { set_text(&TEXT) };
}

pub fn refuse(yes: bool) {
    OWN.refuses.store(yes, Ordering::Relaxed);
}

pub fn pages_left_writable() -> usize {
    OWN.open_pages.load(Ordering::Relaxed)
}

impl Own {
    /// Changes the protection of all pages that `edits` touch.
    fn protect(&self, edits: &EditList, protection: usize) {
        let mut done = 0;
        for edit in edits {
            for page in [edit.address & !(PAGE - 1), (edit.address + 4) & !(PAGE - 1)] {
                if page >= done {
                    // SAFETY: a page with a site.
                    assert!(unsafe { system::protect(page, PAGE, protection) });
                    let step = if protection == system::READ_EXECUTE { usize::MAX } else { 1 };
                    self.open_pages.fetch_add(step, Ordering::Relaxed);
                    done = page + PAGE;
                }
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

    fn choose(&self, summary: &Summary, attempt: u32) -> Option<WriterKind> {
        assert!(summary.sites > 0 && summary.pages > 0);
        assert!(self.lock() == Err(Error::Reentrant));
        (attempt == 0).then_some(WriterKind::Custom)
    }

    unsafe fn open(
        &self,
        kind: WriterKind,
        edits: &EditList,
        body: &mut dyn FnMut(&mut dyn Writer) -> Result<(), Failure>,
    ) -> Result<Written, Failure> {
        assert!(kind == WriterKind::Custom && edits.is_sorted_by_key(|edit| edit.address));
        if self.refuses.load(Ordering::Relaxed) {
            return Err(Failure::Refused(Errno(1)));
        }
        self.protect(edits, system::READ_WRITE_EXECUTE);
        let result = body(&mut Stores);
        self.protect(edits, system::READ_EXECUTE);
        result.map(|()| Written::default())
    }

    fn now(&self) -> Duration {
        Duration::ZERO
    }

    fn runtimes(&self) -> *const Runtime {
        &raw const RUNTIME
    }
}

/// Writes to pages that are open.
struct Stores;

impl Writer for Stores {
    unsafe fn write(&mut self, edits: &EditList, step: Step) -> Result<(), (usize, Errno)> {
        for edit in edits {
            if let Some(piece) = step.piece(edit) {
                for (at, &byte) in piece.bytes().iter().enumerate() {
                    let address = edit.address + usize::from(piece.offset) + at;
                    // SAFETY: a byte of a site on an open page.
                    unsafe { (address as *mut u8).write_volatile(byte) };
                }
            }
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Errno> {
        core::arch::x86_64::__cpuid(0); // Serialises.
        Ok(())
    }
}
