//! Broken twins: the built-in platform with one of its precautions left out. What tests the precaution must find out.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jumplabel::patch::{EditList, Failure, Step, plan::Summary};
use jumplabel::site::object::Runtime;
use jumplabel::text::{Text, Token, Writer, Written, builtin, set_text};
use jumplabel::{Errno, Error, WriterKind};

/// What a twin does in its own way; the rest is built in.
pub trait Twin: Sync {
    /// As `Text::lock`.
    fn lock(&self) -> Result<Token, Error> {
        builtin().lock()
    }
    /// As `Text::unlock`.
    fn unlock(&self, token: Token) {
        // SAFETY: called as `Text::unlock` is.
        unsafe { builtin().unlock(token) }
    }
    /// As `Text::choose`.
    fn choose(&self, summary: &Summary, attempt: u32) -> Option<WriterKind> {
        builtin().choose(summary, attempt)
    }
    /// As `Text::open`.
    fn open(
        &self,
        kind: WriterKind,
        edits: &EditList,
        body: &mut dyn FnMut(&mut dyn Writer) -> Result<(), Failure>,
    ) -> Result<Written, Failure> {
        // SAFETY: called as `Text::open` is.
        unsafe { builtin().open(kind, edits, &mut |writer| body(&mut Through(self, writer))) }
    }
    /// As `Writer::write` of the writer that was opened.
    fn write(&self, writer: &mut dyn Writer, edits: &EditList, step: Step) -> Result<(), (usize, Errno)> {
        // SAFETY: called as `Writer::write` is.
        unsafe { writer.write(edits, step) }
    }
}

/// Puts `twin` in the place of the platform.
pub fn install(twin: impl Twin + 'static) {
    jumplabel::text_reserved(0..1).unwrap(); // the built-in lock, once: it makes what a twin goes on to use
    let text: &'static dyn Text = Box::leak(Box::new(Platform(twin)));
    // SAFETY: at the start of a scenario, where nobody flips yet.
    unsafe { set_text(Box::leak(Box::new(text))) };
}

struct Through<'a, T: ?Sized>(&'a T, &'a mut dyn Writer);

impl<T: Twin + ?Sized> Writer for Through<'_, T> {
    unsafe fn write(&mut self, edits: &EditList, step: Step) -> Result<(), (usize, Errno)> {
        self.0.write(self.1, edits, step)
    }
    fn sync(&mut self) -> Result<(), Errno> {
        self.1.sync()
    }
}

struct Platform<T>(T);

// SAFETY: as the built-in platform, but for what is broken on purpose.
unsafe impl<T: Twin> Text for Platform<T> {
    fn lock(&self) -> Result<Token, Error> {
        self.0.lock()
    }
    unsafe fn unlock(&self, token: Token) {
        self.0.unlock(token);
    }
    fn allocate(&self, bytes: usize) -> Option<NonNull<u8>> {
        builtin().allocate(bytes)
    }
    unsafe fn release(&self, memory: NonNull<u8>, bytes: usize) {
        // SAFETY: by the contract.
        unsafe { builtin().release(memory, bytes) }
    }
    fn page_size(&self) -> usize {
        builtin().page_size()
    }
    fn choose(&self, summary: &Summary, attempt: u32) -> Option<WriterKind> {
        self.0.choose(summary, attempt)
    }
    unsafe fn open(
        &self,
        kind: WriterKind,
        edits: &EditList,
        body: &mut dyn FnMut(&mut dyn Writer) -> Result<(), Failure>,
    ) -> Result<Written, Failure> {
        self.0.open(kind, edits, body)
    }
    fn core_sync(&self) -> Result<(), Errno> {
        builtin().core_sync()
    }
    fn is_synced(&self) -> bool {
        builtin().is_synced()
    }
    fn now(&self) -> Duration {
        builtin().now()
    }
    fn runtimes(&self) -> *const Runtime {
        builtin().runtimes()
    }
}

/// A lock that neither blocks signals, nor knows its owner, nor is taken for a fork, nor is wiped by one.
#[derive(Default)]
pub struct PrivateLock(AtomicBool);

impl PrivateLock {
    /// Waits until it is free.
    pub fn take(&self) -> Token {
        while self.0.swap(true, Ordering::Acquire) {
            std::thread::yield_now();
        }
        [0; 2]
    }

    /// Lets others in.
    pub fn release(&self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Writes edit by edit with a pause behind each, so that what looks at the wrong moment looks at half a batch.
pub fn write_slowly(writer: &mut dyn Writer, edits: &EditList, step: Step) -> Result<(), (usize, Errno)> {
    for (at, edit) in edits.chunks(1).enumerate() {
        // SAFETY: a part of what the writer was opened for.
        unsafe { writer.write(edit, step) }.map_err(|(_, errno)| (at, errno))?;
        std::thread::yield_now();
    }
    Ok(())
}
