//! Counts the readers (threads that are in probes), and the threads that free lists. The process counts them in shared words
//! ([`counting`](super::counting)); in addition, each thread counts itself in a thread-local variable.

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

/// The words in which threads are counted. They are allocated before the first list is made, and stay until this instance of the library is unloaded.
static WORDS: AtomicPtr<Words> = AtomicPtr::new(null_mut());

/// The number of the last generation. A forked child inherits this number, so the generations that the child makes differ from those in which its
/// thread was counted before the fork.
static GENERATION: AtomicU32 = AtomicU32::new(0);

fn words() -> Option<&'static Words> {
    // SAFETY: the pointer is null, or `make` stored it. `make` allocates zeroed words, and zeros are valid `Words`. `stop` takes the pointer away
    // before it frees them.
    unsafe { WORDS.load(Ordering::Acquire).as_ref() }
}

/// Allocates the words, if that was not done before.
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
        // SAFETY: `new` was allocated above with this size. The exchange failed, so no other thread has its address.
        unsafe { platform.release(new, size_of::<Words>()) };
    }
    Ok(())
}

/// Counts this thread as a reader until the result is dropped. `None` if no list was ever made.
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

/// If this is true, `empty` always says that no thread is in a list, which is wrong. Tests set it to see that they notice the error.
#[cfg(test)]
pub(super) static FREES_AT_ONCE: core::sync::atomic::AtomicBool = core::sync::atomic::AtomicBool::new(false);

/// The words of readers whose count is 0 now: a bit for each. No bit is set if this thread itself is counted, because the words may have lost its
/// count: in a forked child, the system may have wiped them. Called under the lock.
pub(super) fn empty() -> u8 {
    #[cfg(test)]
    if FREES_AT_ONCE.load(Ordering::Relaxed) {
        return BOTH;
    }
    words().map_or(BOTH, |words| if is_inside() { 0 } else { words.readers.empty() })
}

/// Functions that are linked only into programs that call [`make`].
#[cfg(jumplabel_sites)]
struct ProbeCode {
    forked: fn(&'static Words),
    release: unsafe fn(&Words, &dyn platform::Platform),
}

/// The functions; null until the first list is made.
#[cfg(jumplabel_sites)]
static PROBE_CODE: AtomicPtr<ProbeCode> = AtomicPtr::new(null_mut());

#[cfg(jumplabel_sites)]
fn probe_code() -> Option<(&'static ProbeCode, &'static Words)> {
    // SAFETY: the pointer is null, or `register` stored it, and leads to a static.
    unsafe { PROBE_CODE.load(Ordering::Acquire).as_ref() }.zip(words())
}

/// Called in a forked child, in which the system has wiped the words. If this thread was counted, counts it again, because the child may start other
/// threads. (In builds without sites, and after a raw `clone`, this is not called. Then other threads of the child must not change lists until this
/// thread has left all probes.)
#[cfg(jumplabel_sites)]
pub(crate) fn forked() {
    if let Some((code, words)) = probe_code() {
        (code.forked)(words);
    }
}

/// Frees the words. Called when this instance of the library is unloaded. No thread is a reader then, and none becomes one later.
#[cfg(jumplabel_sites)]
pub(crate) fn stop(platform: &dyn platform::Platform) {
    if let Some((code, words)) = probe_code() {
        WORDS.store(null_mut(), Ordering::Release);
        // SAFETY: `make` allocated the words. No thread uses them now, and no thread can find them any more.
        unsafe { (code.release)(words, platform) };
    }
}

/// Stores the functions below in `PROBE_CODE`. Called before the first list is made.
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
        // SAFETY: `stop` passes the words that `make` allocated with this size, after it has taken their address away from all threads.
        release: |words, platform| unsafe {
            platform.release(core::ptr::NonNull::from(words).cast(), size_of::<Words>())
        },
    };
    // `black_box` hides the value from the compiler. If the compiler knew that `PROBE_CODE` has only one value apart from null, it would replace
    // calls through it by direct calls, and so every program would contain these functions.
    PROBE_CODE.store(core::hint::black_box((&raw const THESE).cast_mut()), Ordering::Release);
}

fn new_generation() -> u32 {
    GENERATION.fetch_add(1, Ordering::Relaxed) + 1
}

/// Whether any thread is freeing lists.
pub(super) fn is_freeing() -> bool {
    words().is_some_and(|words| !words.freeing.is_empty())
}

/// A count of this thread. Dropping this value counts the thread off. It must be dropped on the same thread, so it cannot be sent to another.
pub struct Inside {
    word: &'static Word,
    generation: u64,
    here: PhantomData<*const ()>,
}

impl Inside {
    /// Turns this value into two words, for C. The thread stays counted.
    #[must_use]
    pub fn into_raw(self) -> (*const (), u64) {
        let inside = core::mem::ManuallyDrop::new(self);
        (core::ptr::from_ref(inside.word).cast(), inside.generation)
    }

    /// Turns the two words of [`into_raw`](Self::into_raw) back into the value. `None` if the first word is null.
    ///
    /// # Safety
    /// The first word is null. Or [`into_raw`](Self::into_raw) returned the words on this thread, and they are passed here only once.
    #[must_use]
    pub unsafe fn from_raw(word: *const (), generation: u64) -> Option<Inside> {
        // SAFETY: the pointer is null, or it comes from `into_raw` on this thread. In the second case it leads to one of the counters in `WORDS`,
        // which are not freed while a thread is counted.
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
            // SAFETY: the pointer is null, or `forked` stored it. In the second case it leads to one of the counters in `WORDS`, which are not freed
            // until this instance of the library is unloaded.
            let again = unsafe { here.again.get().as_ref() };
            if let Some(word) = again.filter(|_| depth == 0) {
                here.again.set(null());
                word.count_off(here.generation.get());
            }
        });
    }
}
