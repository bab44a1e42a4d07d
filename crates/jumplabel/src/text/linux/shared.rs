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
use super::{libc, pages, signals};
use crate::error::Error;
use crate::site::object::{RUNTIME, Runtime, VERSION};
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

    /// Blocks all signals, then takes the lock.
    pub(super) fn take(&self) -> Result<Token, Error> {
        let token = signals::block();
        let me = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        self.lock().acquire(me).map(|()| token).map_err(|Reentrant| {
            signals::restore(token);
            Error::Reentrant
        })
    }

    /// Releases what [`take`](Self::take) took.
    pub(super) fn release(&self, token: Token) {
        self.lock().release();
        signals::restore(token);
    }

    /// The same in a child of fork.
    pub(super) fn reset(&self, token: Token) {
        self.lock().reset();
        signals::restore(token);
    }

    pub(super) fn runtimes(&self) -> *const Runtime {
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

    /// Adds a copy. Once for each.
    fn add(&self, runtime: &Runtime) {
        let mut head = self.runtimes.load(Ordering::Relaxed);
        loop {
            runtime.next.store(head, Ordering::Relaxed);
            let new = core::ptr::from_ref(runtime).cast_mut();
            match self.runtimes.compare_exchange_weak(head, new, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }
}

/// What is shared, made where there is nothing yet; `None` without memory.
pub(super) fn get() -> Option<&'static Shared> {
    settle(&RUNTIME, None)
}

/// Gives `runtime` the shared state: `with`, or a new one. Where two threads or copies try, one wins for both.
fn settle(runtime: &Runtime, with: Option<NonNull<Shared>>) -> Option<&'static Shared> {
    let known = runtime.shared.load(Ordering::Acquire);
    if let Some(known) = NonNull::new(known) {
        // SAFETY: shared states stay for ever.
        return Some(unsafe { known.cast::<Shared>().as_ref() });
    }
    let offered = match with {
        Some(shared) => shared,
        None => Shared::make()?,
    };
    match runtime.shared.compare_exchange(null_mut(), offered.as_ptr().cast(), Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => {
            // SAFETY: as above.
            let shared = unsafe { offered.as_ref() };
            shared.add(runtime);
            Some(shared)
        }
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

/// Looks for another copy and joins it. Called once by this copy's first constructor.
pub(super) fn announce() {
    let mut other: *const Runtime = core::ptr::null();
    // SAFETY: the callback keeps to its arguments; the loader's lock is recursive, and ours is not held.
    unsafe { libc::dl_iterate_phdr(find_note, (&raw mut other).cast()) };
    // SAFETY: from the note of an object that is loaded; its destructor has not run.
    if let Some(other) = unsafe { other.as_ref() } {
        let shared = settle(other, None).map(NonNull::from);
        if shared.is_some() {
            settle(&RUNTIME, shared);
        }
    }
}

/// Takes this copy off the list: its last object goes. The lock is held, so nobody walks the list.
pub(super) fn leave() {
    let Some(shared) = get() else { return };
    let me = core::ptr::from_ref(&RUNTIME).cast_mut();
    let mut link = &shared.runtimes;
    while let Some(at) = NonNull::new(link.load(Ordering::Acquire)) {
        if at.as_ptr() != me {
            // SAFETY: a copy on the list is loaded.
            link = unsafe { &at.as_ref().next };
            continue;
        }
        let next = RUNTIME.next.load(Ordering::Acquire);
        if link.compare_exchange(me, next, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            return;
        }
        link = &shared.runtimes; // A copy joined meanwhile; the joiner holds no lock.
    }
}

core::arch::global_asm!(
    ".pushsection .note.jumplabel, \"a\", @note",
    ".balign 4",
    ".long 10, 4, {version}",
    ".asciz \"jumplabel\"",
    ".balign 4",
    ".long {runtime} - .",
    ".popsection",
    version = const VERSION,
    runtime = sym RUNTIME,
);

#[repr(C)]
struct Note {
    name_len: u32,
    desc_len: u32,
    version: u32,
    name: [u8; 12],
    runtime: i32,
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
        let mut at = info.addr.wrapping_add(segment.p_vaddr as usize);
        let end = at + segment.p_filesz.min(segment.p_memsz) as usize;
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
    ours.then(|| crate::site::relative(&raw const note.runtime) as *const Runtime)
}
