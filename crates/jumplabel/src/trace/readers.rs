//! Counts the threads that are in probes, and those that free lists: in words of the process ([`counting`](super::counting)), and in each
//! thread.

use core::cell::Cell;
use core::marker::PhantomData;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

pub(super) use super::counting::BOTH;
use super::counting::{Readers, Word};
use crate::error::Error;
use crate::platform;

#[repr(C)]
struct Words {
    readers: Readers,
    freeing: Word,
}

/// Made before the first list, and there for good.
static WORDS: AtomicPtr<Words> = AtomicPtr::new(null_mut());

/// Copied with the process: a child's next one is no ancestor's.
static GENERATION: AtomicU32 = AtomicU32::new(0);

std::thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// In a child of a fork in a probe: how the child has counted this thread once more, until it has left all probes.
    static AGAIN: Cell<Option<(&'static Word, u64)>> = const { Cell::new(None) };
}

fn words() -> Option<&'static Words> {
    // SAFETY: null, or from `make`; zeroes are valid.
    unsafe { WORDS.load(Ordering::Acquire).as_ref() }
}

/// Makes the words, if they are not there.
pub(super) fn make() -> Result<(), Error> {
    if words().is_some() {
        return Ok(());
    }
    #[cfg(jumplabel_sites)]
    register();
    let platform = platform::platform();
    let new = platform.allocate_wiped(size_of::<Words>()).ok_or(Error::OutOfMemory)?;
    if WORDS.compare_exchange(null_mut(), new.as_ptr().cast(), Ordering::AcqRel, Ordering::Relaxed).is_err() {
        // SAFETY: made above, and nobody has seen it.
        unsafe { platform.release(new, size_of::<Words>()) };
    }
    Ok(())
}

/// Counts this thread as a reader. `None` if there has never been a list.
#[must_use]
pub fn enter() -> Option<Inside> {
    words().map(|words| Inside::of(words.readers.word()))
}

/// Counts this thread as one that frees.
pub(super) fn free() -> Option<Inside> {
    words().map(|words| Inside::of(&words.freeing))
}

/// Whether this thread is counted.
pub(super) fn is_inside() -> bool {
    DEPTH.get() != 0
}

/// A broken twin: it says that nobody is in a list.
#[cfg(test)]
pub(super) static FREES_AT_ONCE: core::sync::atomic::AtomicBool = core::sync::atomic::AtomicBool::new(false);

/// Under the lock: which of the readers' words are 0 now. For a thread that is inside itself, none: if its process is a copy, the words may
/// be wiped.
pub(super) fn empty() -> u8 {
    #[cfg(test)]
    if FREES_AT_ONCE.load(Ordering::Relaxed) {
        return BOTH;
    }
    words().map_or(BOTH, |words| if is_inside() { 0 } else { words.readers.empty() })
}

/// Code that is linked into a program only if it has probes.
#[cfg(jumplabel_sites)]
struct ProbeCode {
    forked: fn(&'static Words),
    release: unsafe fn(&Words, &dyn platform::Platform),
}

/// Null as long as there has never been a list.
#[cfg(jumplabel_sites)]
static PROBE_CODE: AtomicPtr<ProbeCode> = AtomicPtr::new(null_mut());

#[cfg(jumplabel_sites)]
fn probe_code() -> Option<(&'static ProbeCode, &'static Words)> {
    // SAFETY: null, or a static.
    unsafe { PROBE_CODE.load(Ordering::Acquire).as_ref() }.zip(words())
}

/// In a child of fork: the system has wiped the words. If this thread is inside, threads that the child starts must know that. (In builds
/// without sites, and of a raw clone, nobody hears of a fork: a thread that goes on from there in a probe must not let others change
/// lists.)
#[cfg(jumplabel_sites)]
pub(crate) fn forked() {
    if let Some((code, words)) = probe_code() {
        (code.forked)(words);
    }
}

/// This instance of the library is unloaded: nobody is inside, and nobody comes.
#[cfg(jumplabel_sites)]
pub(crate) fn stop(platform: &dyn platform::Platform) {
    if let Some((code, words)) = probe_code() {
        WORDS.store(null_mut(), Ordering::Release);
        // SAFETY: from `make`, and nobody finds them any more.
        unsafe { (code.release)(words, platform) };
    }
}

/// Under way to the first list.
#[cfg(jumplabel_sites)]
fn register() {
    static THESE: ProbeCode = ProbeCode {
        forked: |words| {
            if is_inside() {
                let word = words.readers.word();
                AGAIN.set(Some((word, word.count_in(new_generation))));
            }
        },
        // SAFETY: `stop` passes the words that `make` allocated, and nobody finds them any more.
        release: |words, platform| unsafe {
            platform.release(core::ptr::NonNull::from(words).cast(), size_of::<Words>())
        },
    };
    // If the compiler knew the only value, it would call these functions wherever `PROBE_CODE` is looked at: in every program.
    PROBE_CODE.store(core::hint::black_box((&raw const THESE).cast_mut()), Ordering::Release);
}

fn new_generation() -> u32 {
    GENERATION.fetch_add(1, Ordering::Relaxed) + 1
}

/// Whether anybody frees.
pub(super) fn is_freeing() -> bool {
    words().is_some_and(|words| !words.freeing.is_empty())
}

/// This thread is counted. Must not be sent to another.
pub struct Inside {
    word: &'static Word,
    generation: u64,
    here: PhantomData<*const ()>,
}

impl Inside {
    /// In two words, for C.
    #[must_use]
    pub fn into_raw(self) -> (*const (), u64) {
        let inside = core::mem::ManuallyDrop::new(self);
        (core::ptr::from_ref(inside.word).cast(), inside.generation)
    }

    /// Of the words. `None` if the first is null.
    ///
    /// # Safety
    /// From [`into_raw`](Self::into_raw) on this thread, and once for each, or null.
    #[must_use]
    pub unsafe fn from_raw(word: *const (), generation: u64) -> Option<Inside> {
        // SAFETY: the caller passes null, or what `into_raw` gave on this thread. The words stay while it is inside.
        unsafe { word.cast::<Word>().as_ref() }.map(|word| Inside { word, generation, here: PhantomData })
    }

    fn of(word: &'static Word) -> Inside {
        DEPTH.set(DEPTH.get() + 1);
        let generation = word.count_in(new_generation);
        Inside { word, generation, here: PhantomData }
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        self.word.count_off(self.generation);
        DEPTH.set(DEPTH.get() - 1);
        if let Some((word, generation)) = AGAIN.get().filter(|_| !is_inside()) {
            AGAIN.set(None);
            word.count_off(generation);
        }
    }
}
