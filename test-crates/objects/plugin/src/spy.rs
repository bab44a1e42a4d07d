//! A platform that is the built-in one, but lets a function run in the middle of a flip, while the lock is held.

use std::ffi::CStr;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::time::Duration;

use jumplabel::text::{
    self, Body, Extent, Failure, Held, Callbacks, Image, Place, Runtime, Summary, Text, Token, Writers, Written,
};
use jumplabel::{Errno, Error, RawKey, WriterKind, set_text};

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
static TEXT: &dyn Text = &SPY;

/// Flips `key` there and back. What `inside` returned in the middle of it, -1 where it was not called.
pub fn locked(key: &RawKey, inside: extern "C" fn() -> i32) -> i32 {
    // SAFETY: nobody flips now, and the lock is the built-in one, or broken on purpose.
    unsafe { set_text(&TEXT) };
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

/// From now on this copy has a lock of its own: two patchers without a common lock are what the other must notice.
#[allow(dead_code)]
pub fn use_own_lock() {
    SPY.own_lock.store(true, Ordering::Relaxed);
}

// SAFETY: the built-in platform. The function runs before anything is written.
unsafe impl Text for Spy {
    fn lock(&self) -> Result<Token, Error> {
        if !self.own_lock.load(Ordering::Relaxed) {
            return text::builtin().lock();
        }
        if self.locked.swap(true, Ordering::Acquire) { Err(Error::Reentrant) } else { Ok([0; 2]) }
    }

    unsafe fn unlock(&self, token: Token) {
        if self.own_lock.load(Ordering::Relaxed) {
            return self.locked.store(false, Ordering::Release);
        }
        // SAFETY: passed on; so below.
        unsafe { text::builtin().unlock(token) };
    }

    fn allocate(&self, bytes: usize) -> Option<NonNull<u8>> {
        text::builtin().allocate(bytes)
    }

    fn allocate_wiped(&self, bytes: usize) -> Option<NonNull<u8>> {
        text::builtin().allocate_wiped(bytes)
    }

    unsafe fn release(&self, memory: NonNull<u8>, bytes: usize) {
        // SAFETY: passed on.
        unsafe { text::builtin().release(memory, bytes) };
    }

    fn page_size(&self) -> usize {
        text::builtin().page_size()
    }

    fn writers(&self, summary: &Summary, held: &mut Held) -> Writers {
        let inside = self.inside.load(Ordering::Relaxed);
        if inside != 0 {
            // SAFETY: stored by `locked`.
            let inside: extern "C" fn() -> i32 = unsafe { std::mem::transmute(inside) };
            self.result.store(inside(), Ordering::Relaxed);
        }
        text::builtin().writers(summary, held)
    }

    unsafe fn open(
        &self,
        kind: WriterKind,
        extents: &[Extent],
        held: &mut Held,
        body: &mut Body<'_>,
    ) -> Result<Written, Failure> {
        // SAFETY: passed on.
        unsafe { text::builtin().open(kind, extents, held, body) }
    }

    fn now(&self) -> Duration {
        text::builtin().now()
    }

    fn core_sync(&self, held: &mut Held) -> Result<(), Errno> {
        text::builtin().core_sync(held)
    }

    fn left_writable(&self, held: &mut Held) -> bool {
        text::builtin().left_writable(held)
    }

    fn is_synced(&self) -> bool {
        text::builtin().is_synced()
    }

    unsafe fn start(&self, in_program: bool, callbacks: &'static Callbacks) {
        // SAFETY: passed on.
        unsafe { text::builtin().start(in_program, callbacks) };
    }

    fn place(&self, record: usize) -> Place {
        text::builtin().place(record)
    }

    unsafe fn image(&self, words: [usize; 3]) -> Option<Image> {
        // SAFETY: passed on.
        unsafe { text::builtin().image(words) }
    }

    fn is_code(&self, address: usize) -> bool {
        text::builtin().is_code(address)
    }

    fn symbol(&self, address: usize) -> Option<&'static CStr> {
        text::builtin().symbol(address)
    }

    fn unload(&self, addresses: &Range<usize>, held: &mut Held) {
        text::builtin().unload(addresses, held);
    }

    unsafe fn stop(&self, held: &mut Held) {
        // SAFETY: passed on.
        unsafe { text::builtin().stop(held) };
    }

    fn runtimes(&self) -> *const Runtime {
        text::builtin().runtimes()
    }

    fn was_copied(&self, held: &mut Held) -> bool {
        text::builtin().was_copied(held)
    }
}
