//! A platform that is the built-in one, but lets a function run in the middle of a flip, while the lock is held.

use std::ffi::CStr;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::time::Duration;

use jumplabel::platform::{
    self, Body, Callbacks, Extent, Failure, Held, Image, Place, Platform, Runtime, Summary, Token, WriteReport,
    WriterList,
};
use jumplabel::{Error, RawKey, Refusal, WriterKind, set_platform};

struct Spy {
    /// The function, 0 where there is none.
    inside: AtomicUsize,
    result: AtomicI32,
    /// Broken on purpose: a lock of its own instead of the process's.
    own_lock: AtomicBool,
    locked: AtomicBool,
}

static SPY: Spy = Spy {
    inside: AtomicUsize::new(0),
    result: AtomicI32::new(0),
    own_lock: AtomicBool::new(false),
    locked: AtomicBool::new(false),
};
static PLATFORM: &dyn Platform = &SPY;

/// Flips `key` there and back. What `inside` returned in the middle of it, -1 where it was not called.
pub fn locked(key: &RawKey, inside: extern "C" fn() -> i32) -> i32 {
    // SAFETY: nobody flips now, and the lock is the built-in one, or broken on purpose.
    unsafe { set_platform(&PLATFORM) };
    SPY.result.store(-1, Ordering::Relaxed);
    SPY.inside.store(inside as usize, Ordering::Relaxed);
    let on = key.is_enabled();
    let flips = if on { [RawKey::disable, RawKey::enable] } else { [RawKey::enable, RawKey::disable] };
    let flipped = flips.iter().all(|flip| flip(key).is_ok_and(|outcome| outcome.sites > 0));
    SPY.inside.store(0, Ordering::Relaxed);
    let result = SPY.result.load(Ordering::Relaxed);
    // Whoever got the lock took this flip for one that was left unfinished, and undid it.
    assert!(flipped || result == 0);
    result
}

/// From now on this instance has a lock of its own: two patchers without a common lock are what the other must notice.
#[allow(dead_code)]
pub fn use_own_lock() {
    SPY.own_lock.store(true, Ordering::Relaxed);
}

// SAFETY: the built-in platform. The function runs before anything is written.
unsafe impl Platform for Spy {
    fn lock(&self) -> Result<Token, Error> {
        if !self.own_lock.load(Ordering::Relaxed) {
            return platform::builtin().lock();
        }
        if self.locked.swap(true, Ordering::Acquire) { Err(Error::Reentrant) } else { Ok([0; 2]) }
    }

    unsafe fn unlock(&self, token: Token) {
        if self.own_lock.load(Ordering::Relaxed) {
            return self.locked.store(false, Ordering::Release);
        }
        // SAFETY: passed on; so below.
        unsafe { platform::builtin().unlock(token) };
    }

    fn allocate(&self, bytes: usize) -> Option<NonNull<u8>> {
        platform::builtin().allocate(bytes)
    }

    fn allocate_wiped(&self, bytes: usize) -> Option<NonNull<u8>> {
        platform::builtin().allocate_wiped(bytes)
    }

    unsafe fn release(&self, memory: NonNull<u8>, bytes: usize) {
        // SAFETY: passed on.
        unsafe { platform::builtin().release(memory, bytes) };
    }

    fn page_size(&self) -> usize {
        platform::builtin().page_size()
    }

    fn writers(&self, summary: &Summary, held: &mut Held) -> WriterList {
        let inside = self.inside.load(Ordering::Relaxed);
        if inside != 0 {
            // SAFETY: stored by `locked`.
            let inside: extern "C" fn() -> i32 = unsafe { std::mem::transmute(inside) };
            self.result.store(inside(), Ordering::Relaxed);
        }
        platform::builtin().writers(summary, held)
    }

    unsafe fn open(
        &self,
        kind: WriterKind,
        extents: &[Extent],
        held: &mut Held,
        body: &mut Body<'_>,
    ) -> Result<WriteReport, Failure> {
        // SAFETY: passed on.
        unsafe { platform::builtin().open(kind, extents, held, body) }
    }

    fn now(&self) -> Duration {
        platform::builtin().now()
    }

    fn core_sync(&self, held: &mut Held) -> Result<(), Refusal> {
        platform::builtin().core_sync(held)
    }

    fn left_writable(&self, held: &mut Held) -> bool {
        platform::builtin().left_writable(held)
    }

    fn is_synced(&self) -> bool {
        platform::builtin().is_synced()
    }

    unsafe fn start(&self, in_program: bool, callbacks: &'static Callbacks) {
        // SAFETY: passed on.
        unsafe { platform::builtin().start(in_program, callbacks) };
    }

    fn place(&self, record: usize) -> Place {
        platform::builtin().place(record)
    }

    unsafe fn image(&self, words: [usize; 3]) -> Option<Image> {
        // SAFETY: passed on.
        unsafe { platform::builtin().image(words) }
    }

    fn has_record(&self, address: usize) -> bool {
        platform::builtin().has_record(address)
    }

    fn is_code(&self, address: usize) -> bool {
        platform::builtin().is_code(address)
    }

    fn symbol(&self, address: usize) -> Option<&'static CStr> {
        platform::builtin().symbol(address)
    }

    fn unload(&self, addresses: &Range<usize>, held: &mut Held) {
        platform::builtin().unload(addresses, held);
    }

    unsafe fn stop(&self, held: &mut Held) {
        // SAFETY: passed on.
        unsafe { platform::builtin().stop(held) };
    }

    fn runtimes(&self) -> *const Runtime {
        platform::builtin().runtimes()
    }

    fn notifiers(&self) -> Option<&'static platform::Notifiers> {
        platform::builtin().notifiers()
    }

    fn thread(&self) -> usize {
        platform::builtin().thread()
    }

    fn stay(&self) {
        platform::builtin().stay();
    }

    fn was_forked(&self, held: &mut Held) -> bool {
        platform::builtin().was_forked(held)
    }
}
