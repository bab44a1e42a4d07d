//! The state of the library in a process: the lock, and the list of instances. All instances in the process share it.
//!
//! A program and a plugin can each contain an instance. They must not patch at the same time, and a flip by one must reach the sites of objects
//! that belong to the other. Symbols cannot connect them: an executable exports no symbols, a plugin's symbols are local, and with a GNU_UNIQUE
//! symbol the plugin could never be unloaded. So each instance carries an ELF [`note`] that leads to its [`Runtime`]. An instance looks for the
//! notes of others in its constructor, because there it is allowed to call the dynamic loader:
//!
//! ```text
//!   first instance            second instance, later
//!   Runtime.process_state ─┐  finds the note, makes a `ProcessState` if there is none, stores its address in both Runtimes
//!                          ▼
//!   anonymous pages: │ lock (wiped on fork) │ list of instances, notifiers │     they belong to no object, and are never freed
//! ```
//!
//! If there is only one instance, it makes the `ProcessState` at its first flip.

use core::ffi::c_int;
use core::mem::offset_of;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use super::futex::this_thread;
use super::mutex::{FORKING, Lock, NAMELESS, Refusal};
use super::waiting::Waiting;
use super::{cancellation, note, signals};
use crate::format::{Runtime, process};
use crate::platform::Token;
use crate::platform::instances::{GONE, RUNTIME, UNLISTED};
use crate::platform::linux::{libc, pages};
use crate::platform::notifiers::Notifiers;

#[repr(C)]
pub(crate) struct ProcessState {
    wiped: NonNull<Wiped>,
    runtimes: AtomicPtr<Runtime>,
    /// The number of times that the lock was taken over from a thread that was about to fork.
    takeovers: AtomicU32,
    fork: Fork,
    /// The functions to call when a key or a mode has changed.
    notifiers: Notifiers,
}

/// The page that fork wipes.
#[repr(C)]
struct Wiped {
    lock: Lock,
    /// 0 in a forked process, until a thread has made the sites agree with the keys.
    consistent: AtomicU32,
    /// 1 until fork wipes this word. Old kernels do not wipe. Emulators do not wipe either, although they accept the advice to wipe.
    kept: AtomicU32,
}

/// The fork for which the lock is held. These words belong to the thread in `thread`.
#[repr(C)]
struct Fork {
    /// The `pthread_self` of the thread that forks. It is the same number in the child. 0 if no thread forks.
    thread: AtomicUsize,
    token: [AtomicU64; 2],
    /// The value of [`ProcessState::takeovers`] before that thread took the lock; one less if the sites did not agree with their keys.
    takeovers: AtomicU32,
}

// Tools read the words at these offsets.
const _: () = assert!(offset_of!(ProcessState, wiped) == 0 && offset_of!(Wiped, lock) == process::LOCK);
const _: () = assert!(offset_of!(Wiped, consistent) == process::CONSISTENT);
// No system has smaller pages.
const _: () = assert!(size_of::<ProcessState>() <= 4 * 1024);

/// The number of a bit in the second word of a token. The bit says whether the thread could be cancelled. The bits below it hold the number of the
/// thread. (The first word is the mask of signals.)
const CANCEL_SHIFT: u32 = 32;

impl ProcessState {
    fn wiped(&self) -> &Wiped {
        // SAFETY: the page is never unmapped, and all of its bit patterns are valid.
        unsafe { self.wiped.as_ref() }
    }

    /// Takes the lock, and blocks all signals except SIGSYS. The thread cannot be cancelled while it has the lock. `role` is 0 or [`FORKING`]. If
    /// `anyway` is true, takes the lock even if the system refuses to block signals or to tell the thread's number.
    #[inline(never)]
    pub(super) fn take(&self, role: u32, anyway: bool) -> Result<Token, Refusal> {
        let me = match this_thread() {
            Some(number) => number.get() | role,
            None if anyway => NAMELESS | role,
            None => return Err(Refusal::Nameless),
        };
        let mut waiting = Waiting::new(role, anyway);
        self.wiped().lock.acquire(me, &mut waiting)?;
        if waiting.took_over() {
            // The takeover is counted after it has happened. If it were counted before, a fork could read the new count first, and would
            // then not notice that it loses the lock.
            self.takeovers.fetch_add(1, Ordering::AcqRel);
        }
        let (mask, cancellable) = waiting.before();
        Ok([mask, u64::from(me) | (cancellable as u64) << CANCEL_SHIFT])
    }

    /// Releases a lock that [`take`](Self::take) took.
    #[inline(never)]
    pub(crate) fn release(&self, token: Token) {
        self.wiped().lock.release(token[1] as u32);
        go_back(token);
    }

    /// Takes the lock for a fork of this thread. Continues without the lock if another fork has it, or if waiting takes too long. In both cases,
    /// the child must repair its sites.
    pub(super) fn before_fork(&self) {
        // The count is read before this thread takes the lock, because another thread can take the lock over before this thread continues.
        let count = self.takeovers.load(Ordering::Acquire);
        let Ok(token) = self.take(FORKING, true) else { return };
        let Fork { thread, token: kept, takeovers } = &self.fork;
        if thread.compare_exchange(0, libc::this_thread(), Ordering::Acquire, Ordering::Relaxed).is_err() {
            return self.release(token); // Another thread is forking: the lock was taken over from it.
        }
        kept.iter().zip(token).for_each(|(place, word)| place.store(word, Ordering::Relaxed));
        // If a tool was killed while it changed this process, the sites of the process do not agree with their keys, and neither do the child's.
        let agree = self.wiped().consistent.load(Ordering::Relaxed);
        takeovers.store(count.wrapping_add(agree).wrapping_sub(1), Ordering::Relaxed);
    }

    /// Called in the parent after a fork.
    pub(super) fn after_fork(&self) {
        if let Some(token) = self.forked() {
            self.release(token);
        }
    }

    /// Called in the child after a fork: frees the lock, if fork has not wiped it. Returns false if a thread of the parent may have been
    /// flipping at the time of the fork.
    ///
    /// Handlers that ran earlier may have started other threads, and one of these may have the lock.
    pub(super) fn after_fork_in_child(&self) -> bool {
        let Wiped { lock, consistent, kept } = self.wiped();
        let is_wiped = kept.load(Ordering::Relaxed) == 0;
        if let Some(token) = self.forked() {
            let alone = self.fork.takeovers.load(Ordering::Relaxed) == self.takeovers.load(Ordering::Relaxed);
            consistent.store(alone.into(), Ordering::Relaxed);
            if !is_wiped {
                lock.reset();
            }
            go_back(token);
        } else {
            // Either `before_fork` continued without the lock, or the handler of another instance in this process was called before.
            if !is_wiped && !lock.is_free() {
                consistent.store(0, Ordering::Relaxed);
                lock.reset();
            }
            self.fork.thread.store(0, Ordering::Relaxed);
        }
        consistent.load(Ordering::Relaxed) != 0
    }

    /// The token of the lock that [`before_fork`](Self::before_fork) took for this thread. `None` if it took none, and after the first call.
    fn forked(&self) -> Option<Token> {
        let Fork { thread, token, .. } = &self.fork;
        if thread.load(Ordering::Relaxed) != libc::this_thread() {
            return None;
        }
        let token = [token[0].load(Ordering::Relaxed), token[1].load(Ordering::Relaxed)];
        thread.store(0, Ordering::Release);
        Some(token)
    }

    /// Returns true if no thread has made the sites of this process agree with its keys yet. Returns true only once. Called under the lock.
    pub(crate) fn needs_repair(&self) -> bool {
        let consistent = &self.wiped().consistent;
        consistent.load(Ordering::Relaxed) == 0 && consistent.swap(1, Ordering::Relaxed) == 0
    }

    /// The first instance in the list of instances. Puts this instance on the list, if it is not there. Called under the lock.
    pub(crate) fn runtimes(&self) -> *const Runtime {
        RUNTIME.list(&self.runtimes);
        self.runtimes.load(Ordering::Acquire)
    }

    pub(crate) fn notifiers(&self) -> &Notifiers {
        &self.notifiers
    }

    /// Whether any instance on the list is never unloaded.
    fn has_one_that_stays(&self) -> bool {
        let Ok(token) = self.take(0, true) else { return false };
        let mut at: *const Runtime = self.runtimes.load(Ordering::Relaxed);
        let mut stays = false;
        // SAFETY: an instance on the list is loaded.
        while let Some(runtime) = unsafe { at.as_ref() } {
            stays |= runtime.stays();
            at = runtime.next.load(Ordering::Relaxed);
        }
        self.release(token);
        stays
    }

    /// Makes a state in two new pages. The first page holds the lock, and fork wipes it. The second page holds the rest. `runtime` is the instance
    /// that will use the state. `None` if there is no memory.
    fn make(runtime: &Runtime) -> Option<NonNull<ProcessState>> {
        let bytes = 2 * pages::size();
        let wiped = pages::allocate(bytes)?;
        // An old kernel refuses to wipe the page. Then the lock is not free in a child that a raw `clone` makes in mid-flip.
        pages::wipe(wiped, pages::size());
        // SAFETY: the address is inside the two pages, and aligned to a page.
        let state = unsafe { wiped.add(pages::size()) }.cast::<ProcessState>();
        // SAFETY: `state` is in the second page, which no other thread has. The page is zeroed, and zero is the first state of everything except
        // the pointer.
        unsafe { (&raw mut (*state.as_ptr()).wiped).write(wiped.cast()) };
        // SAFETY: the state was written above, and no other thread has seen it.
        let wiped = unsafe { state.as_ref() }.wiped();
        let was_forced = runtime.phase.load(Ordering::Relaxed) == process::FORCED;
        wiped.consistent.store(u32::from(!was_forced), Ordering::Relaxed);
        wiped.kept.store(1, Ordering::Relaxed);
        Some(state)
    }

    /// # Safety
    /// `state` came from [`make`](Self::make), and no other thread has seen it.
    unsafe fn unmake(state: NonNull<ProcessState>) {
        // SAFETY: the caller passes a state from `make`, which allocated two pages that begin with the lock.
        unsafe { pages::release(state.as_ref().wiped.cast(), 2 * pages::size()) };
    }
}

/// Restores the mask of signals and the state of cancellation that `token` has, which are those from before the lock was taken.
fn go_back([mask, rest]: Token) {
    signals::restore(mask);
    cancellation::restore((rest >> CANCEL_SHIFT) as c_int);
}

/// The state of this process. Makes it if there is none yet. `None` if there is no memory for it.
#[inline(never)]
pub(crate) fn get() -> Option<&'static ProcessState> {
    // SAFETY: a state is never freed.
    if let Some(state) = unsafe { RUNTIME.process_state.load(Ordering::Acquire).cast::<ProcessState>().as_ref() } {
        return Some(state);
    }
    if cfg!(jumplabel_sites) && RUNTIME.is_empty() {
        announce(); // The caller is a constructor that runs before the one of this instance.
    }
    agree(&RUNTIME, None)
}

/// The state of `runtime`. If it has none, it gets the state `with` or, if `with` is `None`, a new one.
#[inline(never)]
fn agree(runtime: &Runtime, with: Option<NonNull<ProcessState>>) -> Option<&'static ProcessState> {
    // SAFETY: `make` has made this state, and no other thread has seen it.
    let unmake = |state: NonNull<ProcessState>| unsafe { ProcessState::unmake(state) };
    // SAFETY: all states here are of this type, and are never freed once an instance has them.
    unsafe { runtime.agree(with, || ProcessState::make(runtime), unmake) }
}

/// Looks for another instance, and shares its state. The first constructor of this instance calls this. [`get`] also calls it, if an earlier
/// constructor needs the state. Returns true if one of the instances is never unloaded: that instance has the handlers of fork and exit, which work
/// for all instances.
pub(crate) fn announce() -> bool {
    RUNTIME.change_membership(GONE, UNLISTED);
    let other = note::find_other();
    let state = other.and_then(|other| agree(other, None));
    if let (Some(other), Some(state)) = (other, state) {
        agree(&RUNTIME, Some(NonNull::from(state)));
        if let Ok(token) = state.take(0, true) {
            other.list(&state.runtimes);
            RUNTIME.list(&state.runtimes);
            state.release(token);
        }
    } else if let Some(state) = (!RUNTIME.process_state.load(Ordering::Acquire).is_null()).then(get).flatten() {
        // This instance had left the list, because its last object was unloaded. It comes back now.
        if let Ok(token) = state.take(0, true) {
            RUNTIME.list(&state.runtimes);
            state.release(token);
        }
    }
    state.is_some_and(ProcessState::has_one_that_stays)
}

/// Takes this instance off the list, because its last object is being unloaded. The caller holds the lock.
pub(crate) fn unlist() {
    let Some(state) = get() else { return };
    RUNTIME.unlist(&state.runtimes);
}
