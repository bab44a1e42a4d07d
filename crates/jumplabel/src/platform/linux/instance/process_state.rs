//! The process state: the lock, the list of instances and the table of registered functions. All instances of the library in a process share one such
//! state.
//!
//! A program and a plugin can each contain an instance. Two instances must not patch at the same time, and a flip by one instance must reach the
//! sites of objects that belong to the other. A common symbol cannot connect the instances: an executable exports no symbols, a plugin's symbols are
//! local, and a plugin with a GNU_UNIQUE symbol could never be unloaded. So each instance has an ELF [`note`] that leads to its [`Runtime`]. An
//! instance looks for the notes of other instances in its constructor, because a flip must not call the dynamic loader:
//!
//! ```text
//!   first instance            second instance, later
//!   Runtime.process_state ─┐  finds the note, makes a `ProcessState` if there is none, stores its address in both Runtimes
//!                          ▼
//!   anonymous pages: │ lock (wiped on fork) │ list of instances, notifiers │     they belong to no object, and are never freed
//! ```
//!
//! An instance that is alone makes the `ProcessState` when it first takes the lock.

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
    /// The number of times that a thread took the lock over from a thread that was about to fork.
    takeovers: AtomicU32,
    fork: Fork,
    /// The functions to call when a key or a mode has changed.
    notifiers: Notifiers,
}

/// The data in the page that a fork fills with zeros in the child.
#[repr(C)]
struct Wiped {
    lock: Lock,
    /// 0 if the sites of this process may not agree with their keys, as in a forked process. Otherwise 1.
    consistent: AtomicU32,
    /// 1 until a fork wipes the page. Still 1 in a child if the kernel is too old to wipe it, or if an emulator only pretends to.
    kept: AtomicU32,
}

/// The fork for which the lock is held. Only the thread that `thread` names uses the other fields.
#[repr(C)]
struct Fork {
    /// The `pthread_self` of the thread that is forking, which is the same number in the child. 0 if no thread is forking.
    thread: AtomicUsize,
    token: [AtomicU64; 2],
    /// The value of [`ProcessState::takeovers`] before that thread took the lock, or that value minus one if the sites did not agree with their keys.
    /// In the child, a difference from the current value means that the sites must be repaired.
    takeovers: AtomicU32,
}

// Tools read the words at these offsets.
const _: () = assert!(offset_of!(ProcessState, wiped) == 0 && offset_of!(Wiped, lock) == process::LOCK);
const _: () = assert!(offset_of!(Wiped, consistent) == process::CONSISTENT);
// No system has smaller pages.
const _: () = assert!(size_of::<ProcessState>() <= 4 * 1024);

/// In a token's second word, the bits from this number on hold the thread's previous state of cancellation. The bits below hold the name under which
/// the thread took the lock. (The first word of a token is the previous mask of signals.)
const CANCEL_SHIFT: u32 = 32;

impl ProcessState {
    fn wiped(&self) -> &Wiped {
        // SAFETY: `make` has set the pointer to the wiped page, which is never unmapped while the state is in use. All bit patterns of a `Wiped` are
        // valid.
        unsafe { self.wiped.as_ref() }
    }

    /// Takes the lock, blocks all signals except SIGSYS, and turns cancellation of the thread off. `role` is [`FORKING`] for a thread that is about
    /// to fork, otherwise 0. If `anyway` is true, takes the lock even if the system refuses to block signals or to tell the thread's number.
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
            // The takeover is counted after it has happened. If it were counted before, a thread that is about to fork could read the new count, then
            // lose the lock, and not notice the takeover.
            self.takeovers.fetch_add(1, Ordering::AcqRel);
        }
        let (mask, cancellable) = waiting.before();
        Ok([mask, u64::from(me) | (cancellable as u64) << CANCEL_SHIFT])
    }

    /// Releases the lock that [`take`](Self::take) took, and restores signals and cancellation. `token` is the result of `take`.
    #[inline(never)]
    pub(crate) fn release(&self, token: Token) {
        self.wiped().lock.release(token[1] as u32);
        go_back(token);
    }

    /// Takes the lock for a fork by this thread. Does nothing if the thread has the lock already, for example because the handlers of another
    /// instance have taken it for this fork. Continues without the lock if waiting takes too long, or if another thread, from which the lock was
    /// taken over, is still forking. In these last two cases, the child must repair its sites.
    pub(super) fn before_fork(&self) {
        // The count is read before the lock is taken, because another thread can take the lock over as soon as this thread has it.
        let count = self.takeovers.load(Ordering::Acquire);
        let Ok(token) = self.take(FORKING, true) else { return };
        let Fork { thread, token: kept, takeovers } = &self.fork;
        if thread.compare_exchange(0, libc::this_thread(), Ordering::Acquire, Ordering::Relaxed).is_err() {
            return self.release(token); // Another thread is still forking, and has lost the lock by a takeover.
        }
        kept.iter().zip(token).for_each(|(place, word)| place.store(word, Ordering::Relaxed));
        // The sites may already disagree with their keys, if a tool was killed while it changed this process. The child's sites then disagree, too.
        let agree = self.wiped().consistent.load(Ordering::Relaxed);
        takeovers.store(count.wrapping_add(agree).wrapping_sub(1), Ordering::Relaxed);
    }

    /// Releases the lock that [`before_fork`](Self::before_fork) took. Called in the parent after a fork.
    pub(super) fn after_fork(&self) {
        if let Some(token) = self.forked() {
            self.release(token);
        }
    }

    /// Frees the lock if the fork has not wiped it, and restores signals and cancellation. Returns false if a thread of the parent may have been
    /// flipping at the time of the fork. Called in the child after a fork.
    ///
    /// Other atfork handlers may have run in the child before and started threads, and one of these may have the lock now.
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
            // There are two cases: `before_fork` has continued without the lock, or the handler of another instance has already done this work.
            if !is_wiped && !lock.is_free() {
                consistent.store(0, Ordering::Relaxed);
                lock.reset();
            }
            self.fork.thread.store(0, Ordering::Relaxed);
        }
        consistent.load(Ordering::Relaxed) != 0
    }

    /// Takes the token that [`before_fork`](Self::before_fork) stored for this thread. `None` if `before_fork` stored none, or if an earlier call
    /// took it.
    fn forked(&self) -> Option<Token> {
        let Fork { thread, token, .. } = &self.fork;
        if thread.load(Ordering::Relaxed) != libc::this_thread() {
            return None;
        }
        let token = [token[0].load(Ordering::Relaxed), token[1].load(Ordering::Relaxed)];
        thread.store(0, Ordering::Release);
        Some(token)
    }

    /// Whether the sites of this process may disagree with their keys. Only the first call returns true, and its caller must repair the sites. Called
    /// under the lock.
    pub(crate) fn needs_repair(&self) -> bool {
        let consistent = &self.wiped().consistent;
        consistent.load(Ordering::Relaxed) == 0 && consistent.swap(1, Ordering::Relaxed) == 0
    }

    /// The first instance in the list of instances. First puts this instance on the list, unless it is there or was taken off. Called under the lock.
    pub(crate) fn runtimes(&self) -> *const Runtime {
        RUNTIME.list(&self.runtimes);
        self.runtimes.load(Ordering::Acquire)
    }

    pub(crate) fn notifiers(&self) -> &Notifiers {
        &self.notifiers
    }

    /// Whether an instance on the list is never unloaded, and so has the handlers of fork and exit. Takes the lock; false if that fails.
    fn has_one_that_stays(&self) -> bool {
        let Ok(token) = self.take(0, true) else { return false };
        let mut at: *const Runtime = self.runtimes.load(Ordering::Relaxed);
        let mut stays = false;
        // SAFETY: this thread holds the lock, and an instance leaves the list, under the lock, before it is unloaded.
        while let Some(runtime) = unsafe { at.as_ref() } {
            stays |= runtime.stays();
            at = runtime.next.load(Ordering::Relaxed);
        }
        self.release(token);
        stays
    }

    /// Makes a state in two new pages. The first page contains the lock, and is wiped by forks. The second page contains the rest. `runtime` is the
    /// instance that will use the state. `None` if there is no memory.
    fn make(runtime: &Runtime) -> Option<NonNull<ProcessState>> {
        let bytes = 2 * pages::size();
        let wiped = pages::allocate(bytes)?;
        // If the kernel is too old to wipe the page, the lock is not free in a child that a raw `clone` makes in mid-flip.
        pages::wipe(wiped, pages::size());
        // SAFETY: the address is that of the second of the two pages.
        let state = unsafe { wiped.add(pages::size()) }.cast::<ProcessState>();
        // SAFETY: `state` is the second page, which no other thread knows. The page is zeroed, and zero is a valid first value of every field except
        // this pointer.
        unsafe { (&raw mut (*state.as_ptr()).wiped).write(wiped.cast()) };
        // SAFETY: the lines above have completed the state, and no other thread knows it.
        let wiped = unsafe { state.as_ref() }.wiped();
        let was_forced = runtime.phase.load(Ordering::Relaxed) == process::FORCED;
        wiped.consistent.store(u32::from(!was_forced), Ordering::Relaxed);
        wiped.kept.store(1, Ordering::Relaxed);
        Some(state)
    }

    /// Frees a state that no instance has got.
    ///
    /// # Safety
    /// `state` came from [`make`](Self::make), and nothing else uses it.
    unsafe fn unmake(state: NonNull<ProcessState>) {
        // SAFETY: the caller passes an unused state from `make`. Its field `wiped` is the address of the two pages that `make` allocated.
        unsafe { pages::release(state.as_ref().wiped.cast(), 2 * pages::size()) };
    }
}

/// Restores the mask of signals and the state of cancellation that the thread had before it took the lock. The token contains both.
fn go_back([mask, rest]: Token) {
    signals::restore(mask);
    cancellation::restore((rest >> CANCEL_SHIFT) as c_int);
}

/// The state of this process. Makes the state if there is none yet. `None` if there is no memory for it.
#[inline(never)]
pub(crate) fn get() -> Option<&'static ProcessState> {
    // SAFETY: the word is null or leads to a `ProcessState`, which is never freed once an instance has it.
    if let Some(state) = unsafe { RUNTIME.process_state.load(Ordering::Acquire).cast::<ProcessState>().as_ref() } {
        return Some(state);
    }
    if cfg!(jumplabel_sites) && RUNTIME.is_empty() {
        announce(); // The caller is a constructor that runs before this instance's own constructor.
    }
    agree(&RUNTIME, None)
}

/// The state that `runtime` has. If `runtime` has none, gives it the state `with` or, if `with` is `None`, a new state.
#[inline(never)]
fn agree(runtime: &Runtime, with: Option<NonNull<ProcessState>>) -> Option<&'static ProcessState> {
    // SAFETY: `Runtime::agree` passes the state that `make` has just made, and that no instance has.
    let unmake = |state: NonNull<ProcessState>| unsafe { ProcessState::unmake(state) };
    // SAFETY: on this platform every state is a `ProcessState`, and is never freed once an instance has it.
    unsafe { runtime.agree(with, || ProcessState::make(runtime), unmake) }
}

/// Looks for another instance, and shares one state with it. Returns true if an instance in the process is never unloaded: that instance has the
/// handlers of fork and exit, which work for all instances. The first constructor of this instance calls this function. [`get`] calls it, too, if
/// another constructor needs the state earlier. Calls the dynamic loader.
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
        // This instance may have left the list, because its last object was unloaded. An object was loaded again, so the instance comes back.
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
