//! Broken twins: the built-in platform with one of its precautions left out. What tests the precaution must find out.

use std::ffi::CStr;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jumplabel::platform::{
    Body, Extent, Failure, Held, Image, Notifiers, Place, Platform, Runtime, Summary, Token, Write, WriteReport,
    Writer, WriterList, builtin,
};
use jumplabel::{Error, Refusal, WriterKind, set_platform};

/// What a twin does in its own way; the rest is built in.
pub trait Twin: Sync {
    /// As `Platform::lock`.
    fn lock(&self) -> Result<Token, Error> {
        builtin().lock()
    }
    /// As `Platform::lock_anyway`.
    fn lock_anyway(&self) -> Result<Token, Error> {
        builtin().lock_anyway()
    }
    /// As `Platform::unlock`.
    fn unlock(&self, token: Token) {
        // SAFETY: called as `Platform::unlock` is.
        unsafe { builtin().unlock(token) }
    }
    /// As `Platform::writers`.
    fn writers(&self, summary: &Summary, held: &mut Held) -> WriterList {
        builtin().writers(summary, held)
    }
    /// As `Platform::open`.
    fn open(
        &self,
        kind: WriterKind,
        extents: &[Extent],
        held: &mut Held,
        body: &mut Body<'_>,
    ) -> Result<WriteReport, Failure> {
        self.begin();
        // SAFETY: called as `Platform::open` is.
        unsafe { builtin().open(kind, extents, held, &mut |writer| body(&mut Through(self, writer))) }
    }
    /// As `Writer::sync` of the writer that was opened.
    fn sync(&self, writer: &mut dyn Writer) -> Result<(), Refusal> {
        writer.sync()
    }
    /// As `Platform::core_sync`.
    fn core_sync(&self, held: &mut Held) -> Result<(), Refusal> {
        builtin().core_sync(held)
    }
    /// As `Platform::left_writable`.
    fn left_writable(&self, held: &mut Held) -> bool {
        builtin().left_writable(held)
    }
    /// As `Platform::is_alone`.
    fn is_alone(&self, held: &mut Held) -> bool {
        builtin().is_alone(held)
    }
    /// As `Platform::readable`.
    fn readable(&self, addresses: Range<usize>) -> Range<usize> {
        builtin().readable(addresses)
    }
    /// A writer is opened.
    fn begin(&self) {}
    /// As `Writer::write` of the writer that was opened.
    fn write(&self, writer: &mut dyn Writer, writes: &[Write]) -> Result<(), (usize, Refusal)> {
        // SAFETY: called as `Writer::write` is.
        unsafe { writer.write(writes) }
    }
}

/// Puts `twin` in the place of the platform.
pub fn install(twin: impl Twin + 'static) {
    jumplabel::text_reserved(0..1).unwrap(); // the built-in lock, once: it makes what a twin goes on to use
    // SAFETY: at the start of a scenario, where nobody flips yet.
    unsafe { set_platform(platform(twin)) };
}

/// `twin` as a platform.
pub fn platform(twin: impl Twin + 'static) -> &'static &'static dyn Platform {
    let platform: &'static dyn Platform = Box::leak(Box::new(Twinned(twin)));
    Box::leak(Box::new(platform))
}

struct Through<'a, T: ?Sized>(&'a T, &'a mut dyn Writer);

impl<T: Twin + ?Sized> Writer for Through<'_, T> {
    unsafe fn write(&mut self, writes: &[Write]) -> Result<(), (usize, Refusal)> {
        self.0.write(self.1, writes)
    }
    fn sync(&mut self) -> Result<(), Refusal> {
        self.0.sync(self.1)
    }
}

struct Twinned<T>(T);

// SAFETY: as the built-in platform, but for what is broken on purpose.
unsafe impl<T: Twin> Platform for Twinned<T> {
    fn lock(&self) -> Result<Token, Error> {
        self.0.lock()
    }
    fn lock_anyway(&self) -> Result<Token, Error> {
        self.0.lock_anyway()
    }
    unsafe fn unlock(&self, token: Token) {
        self.0.unlock(token);
    }
    fn allocate(&self, bytes: usize) -> Option<NonNull<u8>> {
        builtin().allocate(bytes)
    }
    fn allocate_wiped(&self, bytes: usize) -> Option<NonNull<u8>> {
        builtin().allocate_wiped(bytes)
    }
    unsafe fn release(&self, memory: NonNull<u8>, bytes: usize) {
        // SAFETY: the caller gives back memory of the built-in platform, with the same size.
        unsafe { builtin().release(memory, bytes) }
    }
    fn page_size(&self) -> usize {
        builtin().page_size()
    }
    fn now(&self) -> Duration {
        builtin().now()
    }
    fn writers(&self, summary: &Summary, held: &mut Held) -> WriterList {
        self.0.writers(summary, held)
    }
    fn is_alone(&self, held: &mut Held) -> bool {
        self.0.is_alone(held)
    }
    unsafe fn open(
        &self,
        kind: WriterKind,
        extents: &[Extent],
        held: &mut Held,
        body: &mut Body<'_>,
    ) -> Result<WriteReport, Failure> {
        self.0.open(kind, extents, held, body)
    }
    fn prepare(&self, kind: WriterKind, held: &mut Held) -> Result<(), Refusal> {
        builtin().prepare(kind, held)
    }
    fn core_sync(&self, held: &mut Held) -> Result<(), Refusal> {
        self.0.core_sync(held)
    }
    fn left_writable(&self, held: &mut Held) -> bool {
        self.0.left_writable(held)
    }
    fn is_synced(&self) -> bool {
        builtin().is_synced()
    }
    fn set_writer(&self, kind: Option<WriterKind>) {
        builtin().set_writer(kind);
    }
    fn place(&self, record: usize) -> Place {
        builtin().place(record)
    }
    unsafe fn image(&self, words: [usize; 3]) -> Option<Image> {
        // SAFETY: the words are 0 or the built-in platform's, and the caller keeps their object loaded.
        unsafe { builtin().image(words) }
    }
    fn has_record(&self, address: usize) -> bool {
        builtin().has_record(address)
    }
    fn is_code(&self, address: usize) -> bool {
        builtin().is_code(address)
    }
    fn readable(&self, addresses: Range<usize>) -> Range<usize> {
        self.0.readable(addresses)
    }
    fn symbol(&self, address: usize) -> Option<&'static CStr> {
        builtin().symbol(address)
    }
    fn unload(&self, addresses: &Range<usize>, held: &mut Held) {
        builtin().unload(addresses, held);
    }
    unsafe fn stop(&self, held: &mut Held) {
        // SAFETY: the caller says that nobody uses anything of this instance any more.
        unsafe { builtin().stop(held) }
    }
    fn runtimes(&self) -> *const Runtime {
        builtin().runtimes()
    }
    fn notifiers(&self) -> Option<&'static Notifiers> {
        builtin().notifiers()
    }
    fn thread(&self) -> usize {
        builtin().thread()
    }
    fn stay(&self) {
        builtin().stay();
    }
    fn start_thread(&self, start: &mut dyn FnMut()) {
        builtin().start_thread(start);
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

/// Writes one by one with a pause behind each, so that what looks at the wrong moment looks at half a batch.
pub fn write_slowly(writer: &mut dyn Writer, writes: &[Write]) -> Result<(), (usize, Refusal)> {
    for (at, write) in writes.chunks(1).enumerate() {
        // SAFETY: a part of what the writer was opened for.
        unsafe { writer.write(write) }.map_err(|(_, refusal)| (at, refusal))?;
        std::thread::yield_now();
    }
    Ok(())
}
