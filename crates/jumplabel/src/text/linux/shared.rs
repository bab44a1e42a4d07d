//! What the copies of this library in one process share: the lock, and the list of copies.
//!
//! A program and a plugin can each contain a copy. They must not patch at the same time, and a flip by one must reach the
//! sites of objects that belong to the other. Symbols cannot bring them together: an executable exports none, a plugin's
//! are local. A GNU_UNIQUE symbol would also keep the plugin from ever being unloaded. So each copy carries an ELF note
//! that leads to its [`Runtime`], and a copy looks for the notes of others when it starts, in its constructor, where the
//! dynamic loader is at rest:
//!
//! ```text
//!   first copy            second copy, later
//!   Runtime.shared ─┐     finds the note, makes or takes over `Shared`, and puts its address into both
//!                   ▼
//!   anonymous pages: │ lock (wiped on fork) │ list of copies │     they belong to no object and stay
//! ```
//!
//! One copy alone makes `Shared` at its first flip.

use core::ffi::{c_int, c_void};
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicPtr, Ordering};

use super::lock::{Lock, Reentrant};
use super::{cancellation, libc, pages, signals};
use crate::error::Error;
use crate::site::object::{LEFT, LISTED, RUNTIME, Runtime, UNLISTED, VERSION};
use crate::text::Token;

#[repr(C)]
pub(super) struct Shared {
    lock: NonNull<Lock>,
    runtimes: AtomicPtr<Runtime>,
}

impl Shared {
    fn lock(&self) -> &Lock {
        // SAFETY: a page that is never unmapped; all of its bit patterns are a lock.
        unsafe { self.lock.as_ref() }
    }

    /// Blocks all signals, then takes the lock. The thread cannot be cancelled while it has it.
    pub(super) fn take(&self) -> Result<Token, Error> {
        let token = signals::block();
        let me = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        match self.lock().acquire(me) {
            Ok(()) => {
                cancellation::disable();
                Ok(token)
            }
            Err(Reentrant) => {
                signals::restore(token);
                Err(Error::Reentrant)
            }
        }
    }

    /// Releases what [`take`](Self::take) took.
    pub(super) fn release(&self, token: Token) {
        let cancellable = cancellation::before();
        self.lock().release();
        signals::restore(token);
        cancellation::restore(cancellable);
    }

    /// The same in a child of fork.
    pub(super) fn reset(&self, token: Token) {
        let cancellable = cancellation::before();
        self.lock().reset();
        signals::restore(token);
        cancellation::restore(cancellable);
    }

    /// Under the lock: the list of copies, with this one on it.
    pub(super) fn runtimes(&self) -> *const Runtime {
        self.list(&RUNTIME);
        self.runtimes.load(Ordering::Acquire)
    }

    /// Two pages: the first is wiped on fork and holds the lock, the second the rest.
    fn make() -> Option<NonNull<Shared>> {
        let bytes = 2 * pages::size();
        let lock = pages::allocate(bytes)?;
        // An old kernel refuses; then only a raw clone in mid-flip is not covered.
        // SAFETY: the page was allocated above.
        let _ =
            unsafe { rustix::mm::madvise(lock.as_ptr().cast(), pages::size(), rustix::mm::Advice::LinuxWipeOnFork) };
        // SAFETY: inside the two pages, aligned to a page.
        let shared = unsafe { lock.add(pages::size()) }.cast::<Shared>();
        // SAFETY: as above.
        unsafe { shared.write(Shared { lock: lock.cast(), runtimes: AtomicPtr::new(null_mut()) }) };
        Some(shared)
    }

    /// # Safety
    /// From [`make`](Self::make), and nobody else has seen it.
    unsafe fn unmake(shared: NonNull<Shared>) {
        // SAFETY: by the contract, `make` allocated two pages that begin with the lock.
        unsafe { pages::release(shared.as_ref().lock.cast(), 2 * pages::size()) };
    }

    /// Under the lock: puts a copy on the list, where it is not.
    fn list(&self, runtime: &Runtime) {
        if runtime.change_membership(UNLISTED, LISTED) {
            runtime.next.store(self.runtimes.load(Ordering::Relaxed), Ordering::Relaxed);
            self.runtimes.store(core::ptr::from_ref(runtime).cast_mut(), Ordering::Release);
        }
    }
}

/// What is shared, made where there is nothing yet; `None` without memory.
pub(super) fn get() -> Option<&'static Shared> {
    // SAFETY: shared states stay for ever.
    if let Some(shared) = unsafe { RUNTIME.shared.load(Ordering::Acquire).cast::<Shared>().as_ref() } {
        return Some(shared);
    }
    if cfg!(jumplabel_sites) && RUNTIME.is_empty() {
        announce(); // A flip by a constructor that came before ours.
    }
    settle(&RUNTIME, None)
}

/// Gives `runtime` the shared state: `with`, or a new one. Where two threads or copies try, one wins for both.
fn settle(runtime: &Runtime, with: Option<NonNull<Shared>>) -> Option<&'static Shared> {
    // SAFETY: as above.
    if let Some(shared) = unsafe { runtime.shared.load(Ordering::Acquire).cast::<Shared>().as_ref() } {
        return Some(shared);
    }
    let offered = match with {
        Some(shared) => shared,
        None => Shared::make()?,
    };
    match runtime.shared.compare_exchange(null_mut(), offered.as_ptr().cast(), Ordering::AcqRel, Ordering::Acquire) {
        // SAFETY: as above.
        Ok(_) => Some(unsafe { offered.as_ref() }),
        Err(winner) => {
            if with.is_none() {
                // SAFETY: made here, and not published.
                unsafe { Shared::unmake(offered) };
            }
            // SAFETY: as above.
            unsafe { winner.cast::<Shared>().as_ref() }
        }
    }
}

/// Looks for another copy and joins it. Called by this copy's first constructor. Returns whether the other copy is part of
/// the program.
pub(super) fn announce() -> bool {
    RUNTIME.change_membership(LEFT, UNLISTED);
    let mut other: *const Runtime = core::ptr::null();
    // SAFETY: the callback keeps to its arguments; the loader's lock is recursive, and ours is not held.
    unsafe { libc::dl_iterate_phdr(find_note, (&raw mut other).cast()) };
    // SAFETY: from the note of an object that is loaded; its destructor has not run.
    let other = unsafe { other.as_ref() };
    let shared = other.and_then(|other| settle(other, None));
    if let (Some(other), Some(shared)) = (other, shared) {
        settle(&RUNTIME, Some(NonNull::from(shared)));
        if let Ok(token) = shared.take() {
            shared.list(other);
            shared.list(&RUNTIME);
            shared.release(token);
        }
    } else if let Some(shared) = (!RUNTIME.shared.load(Ordering::Acquire).is_null()).then(get).flatten() {
        // Back after its last object had gone.
        if let Ok(token) = shared.take() {
            shared.list(&RUNTIME);
            shared.release(token);
        }
    }
    other.is_some_and(|other| other.in_program.load(Ordering::Relaxed) != 0)
}

/// Takes this copy off the list: its last object goes. The lock is held.
pub(super) fn leave() {
    let Some(shared) = get() else { return };
    let me = core::ptr::from_ref(&RUNTIME).cast_mut();
    RUNTIME.change_membership(LISTED, LEFT);
    let mut link = &shared.runtimes;
    while let Some(at) = NonNull::new(link.load(Ordering::Relaxed)) {
        if at.as_ptr() == me {
            link.store(RUNTIME.next.load(Ordering::Relaxed), Ordering::Release);
            return;
        }
        // SAFETY: a copy on the list is loaded.
        link = unsafe { &at.as_ref().next };
    }
}

/// What the note leads to: [`RUNTIME`] itself may be exported (Rust `dylib`s), and then has no address at link time.
#[cfg(jumplabel_sites)]
static HERE: &Runtime = &RUNTIME;

#[cfg(jumplabel_sites)]
core::arch::global_asm!(
    ".pushsection .note.jumplabel, \"a\", %note",
    ".balign 4",
    ".long 10, 4, {version}",
    ".asciz \"jumplabel\"",
    ".balign 4",
    ".long {here} - .",
    ".popsection",
    version = const VERSION,
    here = sym HERE,
);

#[repr(C)]
struct Note {
    name_len: u32,
    desc_len: u32,
    version: u32,
    name: [u8; 12],
    /// Leads to a pointer to the copy's [`Runtime`].
    here: i32,
}

/// Stops at the first object with a note of this version that leads to another copy than this.
unsafe extern "C" fn find_note(info: *const libc::DlPhdrInfo, _size: usize, data: *mut c_void) -> c_int {
    const PT_NOTE: u32 = 4;
    // SAFETY: the loader's arguments.
    let info = unsafe { &*info };
    if info.headers.is_null() {
        return 0;
    }
    // SAFETY: as the loader says.
    let headers = unsafe { core::slice::from_raw_parts(info.headers, usize::from(info.count)) };
    for segment in headers.iter().filter(|segment| segment.p_type == PT_NOTE) {
        let mut at = info.addr.wrapping_add(segment.p_vaddr);
        let end = at + segment.p_filesz.min(segment.p_memsz);
        while at + 12 <= end {
            // SAFETY: inside a note segment, which the loader has mapped; notes are 4-aligned.
            let (name_len, desc_len) = unsafe { ((at as *const u32).read(), (at as *const u32).add(1).read()) };
            let length = 12 + (name_len as usize).next_multiple_of(4) + (desc_len as usize).next_multiple_of(4);
            if at + length > end {
                break;
            }
            let runtime = (length == size_of::<Note>()).then(|| runtime_of(at)).flatten();
            if let Some(other) = runtime.filter(|&runtime| runtime != &raw const RUNTIME) {
                // SAFETY: `announce` passes a pointer to a pointer.
                unsafe { data.cast::<*const Runtime>().write(other) };
                return 1;
            }
            at += length;
        }
    }
    0
}

/// The runtime that a note of our size at `address` leads to.
fn runtime_of(address: usize) -> Option<*const Runtime> {
    // SAFETY: as long as a note, checked by the caller, in mapped memory.
    let note = unsafe { &*(address as *const Note) };
    let ours = note.name == *b"jumplabel\0\0\0" && note.version == VERSION && note.name_len == 10 && note.desc_len == 4;
    // SAFETY: `HERE` of that copy, which the loader has relocated.
    ours.then(|| unsafe { (crate::site::relative(&raw const note.here) as *const *const Runtime).read() })
}
