//! The state of the library in a process, which all of its instances there share: the lock, and the list of instances.
//!
//! A program and a plugin can each contain an instance. They must not patch at the same time, and a flip by one must reach the sites of
//! objects that belong to the other. Symbols cannot bring them together: an executable exports none, and a plugin's are local; with a
//! GNU_UNIQUE symbol, the plugin could never be unloaded. So each instance carries an ELF [`note`] that leads to its [`Runtime`]. An
//! instance looks for the notes of others in its constructor, when it may call the dynamic loader:
//!
//! ```text
//!   first instance            second instance, later
//!   Runtime.process_state ─┐  finds the note, makes or takes over the `ProcessState`, and puts its address into both
//!                          ▼
//!   anonymous pages: │ lock (wiped on fork) │ list of instances │     they belong to no object and stay
//! ```
//!
//! If there is only one instance, it makes the `ProcessState` at its first flip.

use core::ffi::c_int;
use core::mem::offset_of;
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use super::mutex::{FORKING, Lock, Refusal};
use super::waiting::Waiting;
use super::{cancellation, note, signals};
use crate::format::{Runtime, process};
use crate::platform::Token;
use crate::platform::instances::{GONE, LISTED, RUNTIME, UNLISTED};
use crate::platform::linux::{libc, pages};

#[repr(C)]
pub(crate) struct ProcessState {
    wiped: NonNull<Wiped>,
    runtimes: AtomicPtr<Runtime>,
    /// How often the lock was taken over from a thread that was about to fork.
    takeovers: AtomicU32,
    fork: Fork,
}

/// What fork wipes.
#[repr(C)]
struct Wiped {
    lock: Lock,
    /// 0 in a process that was forked, until somebody has made its sites agree with its keys.
    consistent: AtomicU32,
    /// 1, until fork wipes it. Old kernels do not wipe; nor do emulators, though they accept the advice.
    kept: AtomicU32,
}

/// The fork that the lock is held for. Belongs to the thread that it names.
#[repr(C)]
struct Fork {
    /// Its `pthread_self`, which is the same in the child; 0 if there is none.
    thread: AtomicUsize,
    token: [AtomicU64; 2],
    /// [`ProcessState::takeovers`] before it took the lock.
    takeovers: AtomicU32,
}

// Tools look for these.
const _: () = assert!(offset_of!(ProcessState, wiped) == 0 && offset_of!(Wiped, lock) == process::LOCK);
const _: () = assert!(offset_of!(Wiped, consistent) == process::CONSISTENT);

/// What a token holds beside the mask of signals: the number of the thread, and whether it could be cancelled.
const CANCEL_SHIFT: u32 = 32;

impl ProcessState {
    fn wiped(&self) -> &Wiped {
        // SAFETY: a page that is never unmapped; all of its bit patterns are valid.
        unsafe { self.wiped.as_ref() }
    }

    /// Takes the lock, with all signals but SIGSYS blocked. The thread cannot be cancelled while it has it. `role` is 0 or [`FORKING`].
    /// `anyway`: also if the system refuses to block signals.
    #[inline(never)]
    pub(super) fn take(&self, role: u32, anyway: bool) -> Result<Token, Refusal> {
        let me = rustix::thread::gettid().as_raw_nonzero().get() as u32 | role;
        let mut waiting = Waiting::new(role, anyway);
        self.wiped().lock.acquire(me, &mut waiting)?;
        if waiting.took_over() {
            // Counted after the takeover: if a fork comes between the judgement and the takeover, it sees this count, too.
            self.takeovers.fetch_add(1, Ordering::AcqRel);
        }
        let (mask, cancellable) = waiting.before();
        Ok([mask, u64::from(me) | (cancellable as u64) << CANCEL_SHIFT])
    }

    /// Releases what [`take`](Self::take) took.
    #[inline(never)]
    pub(crate) fn release(&self, token: Token) {
        self.wiped().lock.release(token[1] as u32);
        go_back(token);
    }

    /// Takes the lock for a fork of this thread. If another fork has it, or if that takes too long, goes on without it; then the child
    /// has to look at its sites.
    pub(super) fn before_fork(&self) {
        // Before this thread has the lock: another may take it over before this one goes on.
        let count = self.takeovers.load(Ordering::Acquire);
        let Ok(token) = self.take(FORKING, true) else { return };
        let Fork { thread, token: kept, takeovers } = &self.fork;
        if thread.compare_exchange(0, libc::this_thread(), Ordering::Acquire, Ordering::Relaxed).is_err() {
            return self.release(token); // Another thread's fork, from which the lock was taken over.
        }
        kept.iter().zip(token).for_each(|(place, word)| place.store(word, Ordering::Relaxed));
        // A tool that was killed while it changed this process leaves the child as much to repair.
        let agree = self.wiped().consistent.load(Ordering::Relaxed);
        takeovers.store(count.wrapping_add(agree).wrapping_sub(1), Ordering::Relaxed);
    }

    /// In the parent.
    pub(super) fn after_fork(&self) {
        if let Some(token) = self.forked() {
            self.release(token);
        }
    }

    /// In the child: frees the lock, if fork has not wiped it. False if somebody may have flipped while the process was forked.
    ///
    /// There may be other threads, which handlers before ours have started, and one of them may have the lock.
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
            // `before_fork` went on without the lock, or the handler of another instance was here before.
            if !is_wiped && !lock.is_free() {
                consistent.store(0, Ordering::Relaxed);
                lock.reset();
            }
            self.fork.thread.store(0, Ordering::Relaxed);
        }
        consistent.load(Ordering::Relaxed) != 0
    }

    /// What [`before_fork`](Self::before_fork) took for this thread, once.
    fn forked(&self) -> Option<Token> {
        let Fork { thread, token, .. } = &self.fork;
        if thread.load(Ordering::Relaxed) != libc::this_thread() {
            return None;
        }
        let token = [token[0].load(Ordering::Relaxed), token[1].load(Ordering::Relaxed)];
        thread.store(0, Ordering::Release);
        Some(token)
    }

    /// Under the lock: whether nobody has made the sites of this process agree with its keys yet. True once.
    pub(crate) fn needs_repair(&self) -> bool {
        let consistent = &self.wiped().consistent;
        consistent.load(Ordering::Relaxed) == 0 && consistent.swap(1, Ordering::Relaxed) == 0
    }

    /// Under the lock: the list of instances, with this one on it.
    pub(crate) fn runtimes(&self) -> *const Runtime {
        self.list(&RUNTIME);
        self.runtimes.load(Ordering::Acquire)
    }

    /// Whether an instance on the list is never unloaded.
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

    /// Two pages. The first holds the lock, and fork wipes it; the second holds the rest. `runtime` is the instance that it is made for.
    fn make(runtime: &Runtime) -> Option<NonNull<ProcessState>> {
        let bytes = 2 * pages::size();
        let wiped = pages::allocate(bytes)?;
        // An old kernel refuses; then a raw clone in mid-flip is not covered.
        pages::wipe(wiped, pages::size());
        // SAFETY: inside the two pages, aligned to a page.
        let state = unsafe { wiped.add(pages::size()) }.cast::<ProcessState>();
        let fork = Fork { thread: AtomicUsize::new(0), token: Default::default(), takeovers: AtomicU32::new(0) };
        let (runtimes, takeovers) = (AtomicPtr::new(null_mut()), AtomicU32::new(0));
        // SAFETY: `state` is in the second page, which nobody else has.
        unsafe { state.write(ProcessState { wiped: wiped.cast(), runtimes, takeovers, fork }) };
        // SAFETY: the state was written above, and nobody else has seen it.
        let wiped = unsafe { state.as_ref() }.wiped();
        let was_forced = runtime.phase.load(Ordering::Relaxed) == process::FORCED;
        wiped.consistent.store(u32::from(!was_forced), Ordering::Relaxed);
        wiped.kept.store(1, Ordering::Relaxed);
        Some(state)
    }

    /// # Safety
    /// From [`make`](Self::make), and nobody else has seen it.
    unsafe fn unmake(state: NonNull<ProcessState>) {
        // SAFETY: the caller passes a state from `make`, which allocated two pages that begin with the lock.
        unsafe { pages::release(state.as_ref().wiped.cast(), 2 * pages::size()) };
    }

    /// Under the lock: puts an instance on the list, if it is not there.
    fn list(&self, runtime: &Runtime) {
        if runtime.change_membership(UNLISTED, LISTED) {
            runtime.next.store(self.runtimes.load(Ordering::Relaxed), Ordering::Relaxed);
            self.runtimes.store(core::ptr::from_ref(runtime).cast_mut(), Ordering::Release);
        }
    }
}

/// Lets signals and cancellation come as they did before `token` was taken.
fn go_back([mask, rest]: Token) {
    signals::restore(mask);
    cancellation::restore((rest >> CANCEL_SHIFT) as c_int);
}

/// The state of this process; makes it, if there is none yet. `None` without memory.
pub(crate) fn get() -> Option<&'static ProcessState> {
    // SAFETY: a state stays for ever.
    if let Some(state) = unsafe { RUNTIME.process_state.load(Ordering::Acquire).cast::<ProcessState>().as_ref() } {
        return Some(state);
    }
    if cfg!(jumplabel_sites) && RUNTIME.is_empty() {
        announce(); // A flip by a constructor that came before ours.
    }
    agree(&RUNTIME, None)
}

/// Gives `runtime` the state: `with`, or a new one. If two threads or instances try at once, one wins, and both get its state.
#[inline(never)]
fn agree(runtime: &Runtime, with: Option<NonNull<ProcessState>>) -> Option<&'static ProcessState> {
    let place = &runtime.process_state;
    // SAFETY: a state that was published stays for ever.
    if let Some(state) = unsafe { place.load(Ordering::Acquire).cast::<ProcessState>().as_ref() } {
        return Some(state);
    }
    let offered = match with {
        Some(state) => state,
        None => ProcessState::make(runtime)?,
    };
    match place.compare_exchange(null_mut(), offered.as_ptr().cast(), Ordering::AcqRel, Ordering::Acquire) {
        // SAFETY: the state is published now, and stays for ever.
        Ok(_) => Some(unsafe { offered.as_ref() }),
        Err(winner) => {
            if with.is_none() {
                // SAFETY: made here, and not published.
                unsafe { ProcessState::unmake(offered) };
            }
            // SAFETY: the winner's state was published, and stays for ever.
            unsafe { winner.cast::<ProcessState>().as_ref() }
        }
    }
}

/// Looks for another instance and joins it. This instance's first constructor calls it. Returns whether some instance stays, and has the
/// handlers of fork and exit for all.
pub(crate) fn announce() -> bool {
    RUNTIME.change_membership(GONE, UNLISTED);
    let other = note::find_other();
    let state = other.and_then(|other| agree(other, None));
    if let (Some(other), Some(state)) = (other, state) {
        agree(&RUNTIME, Some(NonNull::from(state)));
        if let Ok(token) = state.take(0, true) {
            state.list(other);
            state.list(&RUNTIME);
            state.release(token);
        }
    } else if let Some(state) = (!RUNTIME.process_state.load(Ordering::Acquire).is_null()).then(get).flatten() {
        // Back after its last object had gone.
        if let Ok(token) = state.take(0, true) {
            state.list(&RUNTIME);
            state.release(token);
        }
    }
    state.is_some_and(ProcessState::has_one_that_stays)
}

/// Takes this instance off the list, because its last object goes. The lock is held.
pub(crate) fn unlist() {
    let Some(state) = get() else { return };
    let me = core::ptr::from_ref(&RUNTIME).cast_mut();
    RUNTIME.change_membership(LISTED, GONE);
    let mut link = &state.runtimes;
    while let Some(at) = NonNull::new(link.load(Ordering::Relaxed)) {
        if at.as_ptr() == me {
            link.store(RUNTIME.next.load(Ordering::Relaxed), Ordering::Release);
            return;
        }
        // SAFETY: an instance on the list is loaded.
        link = unsafe { &at.as_ref().next };
    }
}
