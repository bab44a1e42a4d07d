//! Counts the threads that are in probes, and the threads that free lists. The process counts them in shared words
//! ([`counting`](super::counting)), and each thread counts itself in a thread-local variable.

use core::marker::PhantomData;
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

pub(super) use super::counting::BOTH;
use super::counting::{Readers, Word};
use super::here::here;
use crate::error::Error;
use crate::platform;

#[repr(C)]
struct Words {
    readers: Readers,
    freeing: Word,
}

/// The words in which threads are counted. They are allocated before the first list, and stay until this instance of the library is unloaded.
static WORDS: AtomicPtr<Words> = AtomicPtr::new(null_mut());

/// The number of the last generation. A fork copies it with the process, so a child's next generation differs from all generations of its
/// ancestors.
static GENERATION: AtomicU32 = AtomicU32::new(0);

fn words() -> Option<&'static Words> {
    // SAFETY: the pointer is null, or came from `make`, which zeroes the words; zeros are valid.
    unsafe { WORDS.load(Ordering::Acquire).as_ref() }
}

/// Allocates the words, if there are none yet.
pub(super) fn make() -> Result<(), Error> {
    crate::patch::demand_registered()?;
    if words().is_some() {
        return Ok(());
    }
    #[cfg(jumplabel_sites)]
    register();
    const { assert!(align_of::<Words>() <= 64, "what a platform aligns to") };
    let platform = platform::platform();
    let new = platform.allocate_wiped(size_of::<Words>()).ok_or(Error::OutOfMemory)?;
    if WORDS.compare_exchange(null_mut(), new.as_ptr().cast(), Ordering::AcqRel, Ordering::Relaxed).is_err() {
        // SAFETY: the memory was allocated above, and no other thread has seen it.
        unsafe { platform.release(new, size_of::<Words>()) };
    }
    Ok(())
}

/// Counts this thread as a reader until the result is dropped. `None` if there has never been a list.
#[inline(always)] // For emissions in C: the libraries for C are built for size, so the compiler would not inline it.
#[must_use]
pub fn enter() -> Option<Inside> {
    words().map(|words| Inside::of(words.readers.word()))
}

/// Counts this thread as one that frees lists until the result is dropped.
pub(super) fn free() -> Option<Inside> {
    words().map(|words| Inside::of(&words.freeing))
}

/// Whether this thread is counted as a reader, or as one that frees lists.
pub(super) fn is_inside() -> bool {
    here(|here| here.depth.get() != 0)
}

/// Only for tests. If this is true, the module is its own broken twin: `empty` always says that no thread is in a list.
#[cfg(test)]
pub(super) static FREES_AT_ONCE: core::sync::atomic::AtomicBool = core::sync::atomic::AtomicBool::new(false);

/// The readers' words that have a count of 0 now: a bit for each. No bit is set if this thread itself is inside, because in a forked process the
/// system may have wiped the words, so that they do not count this thread. Called under the lock.
pub(super) fn empty() -> u8 {
    #[cfg(test)]
    if FREES_AT_ONCE.load(Ordering::Relaxed) {
        return BOTH;
    }
    words().map_or(BOTH, |words| if is_inside() { 0 } else { words.readers.empty() })
}

/// Functions that a program contains only if it has probes.
#[cfg(jumplabel_sites)]
struct ProbeCode {
    forked: fn(&'static Words),
    release: unsafe fn(&Words, &dyn platform::Platform),
}

/// The functions, once the first list is made. Null before that.
#[cfg(jumplabel_sites)]
static PROBE_CODE: AtomicPtr<ProbeCode> = AtomicPtr::new(null_mut());

#[cfg(jumplabel_sites)]
fn probe_code() -> Option<(&'static ProbeCode, &'static Words)> {
    // SAFETY: the pointer is null, or leads to a static.
    unsafe { PROBE_CODE.load(Ordering::Acquire).as_ref() }.zip(words())
}

/// Called in a forked child, where the system has wiped the words. If this thread is inside, counts it again, for the threads that the child will
/// start. (In builds without sites, and after a raw `clone`, nobody tells the library of the fork. Then the child's other threads must not change
/// lists while this thread is still in a probe.)
#[cfg(jumplabel_sites)]
pub(crate) fn forked() {
    if let Some((code, words)) = probe_code() {
        (code.forked)(words);
    }
}

/// Called when this instance of the library is unloaded. No thread is inside, and none will come.
#[cfg(jumplabel_sites)]
pub(crate) fn stop(platform: &dyn platform::Platform) {
    if let Some((code, words)) = probe_code() {
        WORDS.store(null_mut(), Ordering::Release);
        // SAFETY: the words come from `make`, and no thread can find them any more.
        unsafe { (code.release)(words, platform) };
    }
}

/// Puts the functions below into `PROBE_CODE`. Called before the first list is made.
#[cfg(jumplabel_sites)]
fn register() {
    static THESE: ProbeCode = ProbeCode {
        forked: |words| {
            if is_inside() {
                let word = words.readers.word();
                let generation = word.count_in(new_generation);
                here(|here| {
                    here.again.set(word);
                    here.generation.set(generation);
                });
            }
        },
        // SAFETY: `stop` passes the words that `make` allocated, and no thread can find them any more.
        release: |words, platform| unsafe {
            platform.release(core::ptr::NonNull::from(words).cast(), size_of::<Words>())
        },
    };
    // `black_box` hides the value. If the compiler knew that only one value is possible, it would call these functions directly at each use of
    // `PROBE_CODE`, and so link them into every program.
    PROBE_CODE.store(core::hint::black_box((&raw const THESE).cast_mut()), Ordering::Release);
}

fn new_generation() -> u32 {
    GENERATION.fetch_add(1, Ordering::Relaxed) + 1
}

/// Whether any thread is freeing lists.
pub(super) fn is_freeing() -> bool {
    words().is_some_and(|words| !words.freeing.is_empty())
}

/// Shows that this thread is counted, and counts it off when it is dropped. It must not be sent to another thread.
pub struct Inside {
    word: &'static Word,
    generation: u64,
    here: PhantomData<*const ()>,
}

impl Inside {
    /// This value as two words, for C.
    #[must_use]
    pub fn into_raw(self) -> (*const (), u64) {
        let inside = core::mem::ManuallyDrop::new(self);
        (core::ptr::from_ref(inside.word).cast(), inside.generation)
    }

    /// The value that [`into_raw`](Self::into_raw) turned into these words. `None` if the first word is null.
    ///
    /// # Safety
    /// The words come from [`into_raw`](Self::into_raw) on this thread, and are passed once for each call of it. Or the first word is null.
    #[must_use]
    pub unsafe fn from_raw(word: *const (), generation: u64) -> Option<Inside> {
        // SAFETY: the caller passes null, or the words that `into_raw` returned on this thread. The count stays while the thread is inside.
        unsafe { word.cast::<Word>().as_ref() }.map(|word| Inside { word, generation, here: PhantomData })
    }

    #[inline(always)]
    fn of(word: &'static Word) -> Inside {
        here(|here| here.depth.set(here.depth.get() + 1));
        let generation = word.count_in(new_generation);
        Inside { word, generation, here: PhantomData }
    }
}

impl Drop for Inside {
    #[inline(always)]
    fn drop(&mut self) {
        self.word.count_off(self.generation);
        here(|here| {
            let depth = here.depth.get() - 1;
            here.depth.set(depth);
            // SAFETY: the pointer is null, or `forked` has stored it. The words stay as long as this instance of the library.
            let again = unsafe { here.again.get().as_ref() };
            if let Some(word) = again.filter(|_| depth == 0) {
                here.again.set(null());
                word.count_off(here.generation.get());
            }
        });
    }
}
