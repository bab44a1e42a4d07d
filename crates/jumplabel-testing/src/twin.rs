//! Broken twins: the built-in platform without one of its precautions. The test of that precaution must notice the twin.

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

/// The functions that a twin may replace. The default of each is the built-in one.
pub trait Twin: Sync {
    /// Replaces `Platform::lock`.
    fn lock(&self) -> Result<Token, Error> {
        builtin().lock()
    }
    /// Replaces `Platform::lock_anyway`.
    fn lock_anyway(&self) -> Result<Token, Error> {
        builtin().lock_anyway()
    }
    /// Replaces `Platform::unlock`.
    fn unlock(&self, token: Token) {
        // SAFETY: the caller keeps the conditions of `Platform::unlock`.
        unsafe { builtin().unlock(token) }
    }
    /// Replaces `Platform::writers`.
    fn writers(&self, summary: &Summary, held: &mut Held) -> WriterList {
        builtin().writers(summary, held)
    }
    /// Replaces `Platform::open`.
    fn open(
        &self,
        kind: WriterKind,
        extents: &[Extent],
        held: &mut Held,
        body: &mut Body<'_>,
    ) -> Result<WriteReport, Failure> {
        self.begin();
        // SAFETY: the caller keeps the conditions of `Platform::open`.
        unsafe { builtin().open(kind, extents, held, &mut |writer| body(&mut Through(self, writer))) }
    }
    /// Replaces `Writer::sync` of the writer that was opened.
    fn sync(&self, writer: &mut dyn Writer) -> Result<(), Refusal> {
        writer.sync()
    }
    /// Replaces `Platform::core_sync`.
    fn core_sync(&self, held: &mut Held) -> Result<(), Refusal> {
        builtin().core_sync(held)
    }
    /// Replaces `Platform::left_writable`.
    fn left_writable(&self, held: &mut Held) -> bool {
        builtin().left_writable(held)
    }
    /// Replaces `Platform::is_alone`.
    fn is_alone(&self, held: &mut Held) -> bool {
        builtin().is_alone(held)
    }
    /// Replaces `Platform::readable`.
    fn readable(&self, addresses: Range<usize>) -> Range<usize> {
        builtin().readable(addresses)
    }
    /// Called when a writer is opened.
    fn begin(&self) {}
    /// Replaces `Platform::start_thread`.
    fn start_thread(&self, start: &mut dyn FnMut()) {
        builtin().start_thread(start);
    }
    /// Replaces `Writer::write` of the writer that was opened.
    fn write(&self, writer: &mut dyn Writer, writes: &[Write]) -> Result<(), (usize, Refusal)> {
        // SAFETY: the caller keeps the conditions of `Writer::write`.
        unsafe { writer.write(writes) }
    }
}

/// Replaces the platform by `twin`.
pub fn install(twin: impl Twin + 'static) {
    jumplabel::text_reserved(0..1).unwrap(); // This call initialises parts of the built-in platform that a twin uses.
    // SAFETY: a scenario calls this at its start, where no thread flips yet, and the platform is leaked, so it lives for ever.
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

// SAFETY: the built-in platform keeps the contract of `Platform`. A twin breaks the contract only where its test wants that.
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
        // SAFETY: the caller gives back memory that came from the built-in platform, with the same size.
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
        // SAFETY: the words are 0 or come from the built-in platform, and the caller keeps their object loaded.
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
        // SAFETY: the caller guarantees that nobody uses anything of this instance any more.
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
        self.0.start_thread(start);
    }
}

/// A lock without precautions: it does not block signals, does not know its owner, and is neither taken before a fork nor reset in the forked child.
#[derive(Default)]
pub struct PrivateLock(AtomicBool);

impl PrivateLock {
    /// Waits until the lock is free, and takes it.
    pub fn take(&self) -> Token {
        while self.0.swap(true, Ordering::Acquire) {
            std::thread::yield_now();
        }
        [0; 2]
    }

    /// Gives the lock back.
    pub fn release(&self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Makes the writes one by one, with a pause after each. So another thread may see half a batch.
pub fn write_slowly(writer: &mut dyn Writer, writes: &[Write]) -> Result<(), (usize, Refusal)> {
    for (at, write) in writes.chunks(1).enumerate() {
        // SAFETY: the caller opened the writer for all of `writes`, and this is one of them.
        unsafe { writer.write(write) }.map_err(|(_, refusal)| (at, refusal))?;
        std::thread::yield_now();
    }
    Ok(())
}
