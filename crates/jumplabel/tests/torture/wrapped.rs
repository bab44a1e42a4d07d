//! The built-in platform with another way to open pages: all else is passed on.

use std::ptr::NonNull;
use std::time::Duration;

use jumplabel::patch::{EditList, Failure, plan::Summary};
use jumplabel::site::object::Runtime;
use jumplabel::text::{Text, Token, Writer, Written, builtin};
use jumplabel::{Error, WriterKind};

/// What a writer is handed to.
pub type Body<'a> = &'a mut dyn FnMut(&mut dyn Writer) -> Result<(), Failure>;

/// The part that is different.
pub trait Opens: Sync {
    /// As [`Text::choose`].
    fn choose(&self, summary: &Summary, attempt: u32) -> Option<WriterKind> {
        builtin().choose(summary, attempt)
    }

    /// As [`Text::open`].
    ///
    /// # Safety
    /// As there.
    unsafe fn open(&self, kind: WriterKind, edits: &EditList, body: Body<'_>) -> Result<Written, Failure>;
}

/// The platform.
pub struct Wrapped<T>(pub T);

// SAFETY: the built-in platform keeps the contract; the broken twins break it on purpose, in processes of their own.
unsafe impl<T: Opens> Text for Wrapped<T> {
    fn lock(&self) -> Result<Token, Error> {
        builtin().lock()
    }

    unsafe fn unlock(&self, token: Token) {
        // SAFETY: passed on.
        unsafe { builtin().unlock(token) };
    }

    fn allocate(&self, bytes: usize) -> Option<NonNull<u8>> {
        builtin().allocate(bytes)
    }

    unsafe fn release(&self, memory: NonNull<u8>, bytes: usize) {
        // SAFETY: passed on.
        unsafe { builtin().release(memory, bytes) };
    }

    fn page_size(&self) -> usize {
        builtin().page_size()
    }

    fn choose(&self, summary: &Summary, attempt: u32) -> Option<WriterKind> {
        self.0.choose(summary, attempt)
    }

    unsafe fn open(&self, kind: WriterKind, edits: &EditList, body: Body<'_>) -> Result<Written, Failure> {
        // SAFETY: passed on.
        unsafe { self.0.open(kind, edits, body) }
    }

    fn now(&self) -> Duration {
        builtin().now()
    }

    fn runtimes(&self) -> *const Runtime {
        builtin().runtimes()
    }

    unsafe fn stop(&self) {
        // SAFETY: passed on.
        unsafe { builtin().stop() };
    }
}
