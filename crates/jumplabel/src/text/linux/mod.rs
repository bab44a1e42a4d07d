//! Linux user space: three writers, each of which must prove itself on a canary, and the choice between them.
//!
//! | writer | cost in interrupts of other processors | refused under |
//! |---|---|---|
//! | [`procmem`] | 1 (core sync), and a system call for each write | kernels that restrict it, no /proc, dumpable 0 without root |
//! | [`mprotect`] | 3 (open, core sync, close) | MDWE, seccomp as systemd sets it, SELinux execmod, mseal |
//! | [`swap`] | 2 and more, and a copy of the pages | MDWE, SELinux, mseal, a file that is gone |
//!
//! If one refuses, the next is tried before an error is reported.

#[cfg(jumplabel_short_engine)]
mod abort;
mod bti;
mod caches;
mod canary;
mod cancellation;
mod events;
mod exit;
mod fork;
mod futex;
mod libc;
mod loader;
mod maps;
mod mprotect;
mod mutex;
mod note;
mod pages;
mod procfs;
mod procmem;
mod segments;
mod shared;
mod signals;
mod swap;
mod sync;
mod waiting;

use core::ffi::{CStr, c_char};
use core::ops::Range;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, AtomicU8, Ordering};
use core::time::Duration;

use super::copies::RUNTIME;
use super::{
    Body, Callbacks, Extent, Failure, Held, Image, Place, Summary, Text, Token, Warnings, WriterKind, Writers, Written,
};
use crate::arch::{Arch, Native};
use crate::error::{Errno, Error};
use crate::format::Runtime;

#[cfg(jumplabel_short_engine)]
pub(crate) use abort::abort;
pub use sync::{core_sync_by_signal, core_sync_handler};

pub(super) struct Linux;
pub(super) static TEXT: Linux = Linux;

/// Up to this many sites in a span, a `pwrite` each costs less than opening and closing the span, which interrupts the other
/// processors twice. The right number depends on what an interrupt costs: 13 and 90 sites on two machines. `cargo run --release -p
/// jumplabel-bench -- flips` shows it.
const PROCMEM_SITES: usize = 32;

impl From<rustix::io::Errno> for Errno {
    fn from(errno: rustix::io::Errno) -> Errno {
        Errno(errno.raw_os_error())
    }
}

/// A writer of this platform.
trait Open {
    /// Makes `extents` writable and runs `body`, as [`Text::open`] does for the writer that was proven.
    ///
    /// # Safety
    /// As for [`Text::open`].
    unsafe fn open(extents: &[Extent], held: &mut Held, body: &mut Body<'_>) -> Result<(), Failure>;
}

// SAFETY: the lock is process-wide (shared), the writers restore what they open, and nothing below runs foreign code.
unsafe impl Text for Linux {
    fn lock(&self) -> Result<Token, Error> {
        shared::get().ok_or(Error::OutOfMemory)?.take()
    }

    unsafe fn unlock(&self, token: Token) {
        if let Some(shared) = shared::get() {
            shared.release(token);
        }
    }

    fn allocate(&self, bytes: usize) -> Option<NonNull<u8>> {
        pages::allocate(bytes)
    }

    fn allocate_wiped(&self, bytes: usize) -> Option<NonNull<u8>> {
        pages::allocate(bytes).inspect(|&memory| pages::wipe(memory, bytes))
    }

    unsafe fn release(&self, memory: NonNull<u8>, bytes: usize) {
        // SAFETY: by the contract.
        unsafe { pages::release(memory, bytes) };
    }

    fn page_size(&self) -> usize {
        pages::size()
    }

    fn now(&self) -> Duration {
        libc::now()
    }

    fn writers(&self, summary: &Summary, _: &mut Held) -> Writers {
        use WriterKind::{Mprotect, Procmem, Swap};
        let Some(forced) = forced(FORCED.load(Ordering::Relaxed)) else { return Writers::unknown() };
        match forced {
            // It never writes to running code.
            None | Some(Swap) if summary.unsynced => Writers::of(&[Swap]),
            Some(_) if summary.unsynced => Writers::default(),
            // The kernel copies an aligned word with one store (its memcpy), but does not promise to. Others it copies as it likes.
            Some(Procmem) if summary.whole && !Native::WHOLE => Writers::default(),
            None if summary.whole && !Native::WHOLE => Writers::of(&[Mprotect, Swap]),
            Some(kind) => Writers::of(&[kind]),
            None if Native::WHOLE => Writers::of(&[Mprotect, Swap, Procmem]),
            None if summary.sites <= PROCMEM_SITES * summary.spans => Writers::of(&[Procmem, Mprotect, Swap]),
            None => Writers::of(&[Mprotect, Procmem, Swap]),
        }
    }

    unsafe fn open(
        &self,
        kind: WriterKind,
        extents: &[Extent],
        held: &mut Held,
        body: &mut Body<'_>,
    ) -> Result<Written, Failure> {
        mprotect::close_remaining(held);
        sync::reset();
        canary::prove(kind, held).map_err(Failure::Refused)?;
        // SAFETY: by the contract.
        unsafe { open(kind, extents, held, body) }.inspect_err(|failure| canary::doubt(kind, *failure))?;
        let warnings = Warnings { left_writable: self.left_writable(held) };
        Ok(Written { visibility: sync::visibility(), warnings })
    }

    /// Whatever left it open: the last writer, its canary, one that was tried before, an earlier flip.
    fn left_writable(&self, held: &mut Held) -> bool {
        !mprotect::close_remaining(held)
    }

    fn prepare(&self, kind: WriterKind, held: &mut Held) -> Result<(), Errno> {
        mprotect::close_remaining(held);
        let _ = sync::register(); // If it is refused, the flips that need it say so.
        canary::prove(kind, held)
    }

    fn core_sync(&self, _: &mut Held) -> Result<(), Errno> {
        sync::reset();
        sync::core_sync()
    }

    fn is_alone(&self, _: &mut Held) -> bool {
        pages::single_threaded()
    }

    fn is_synced(&self) -> bool {
        sync::is_synced()
    }

    fn set_writer(&self, kind: Option<WriterKind>) {
        FORCED.store(number(kind.filter(|kind| *kind != WriterKind::Custom)), Ordering::Relaxed);
    }

    /// Finds other copies of the library. If none of them is told of forks and of the end of the process, asks to be told of them. Makes
    /// no system call if this copy is the only one.
    unsafe fn start(&self, in_program: bool, callbacks: &'static Callbacks) {
        CALLBACKS.store(core::ptr::from_ref(callbacks).cast_mut(), Ordering::Release);
        if RUNTIME.stays() {
            return; // It has the handlers.
        }
        let one_stays = shared::announce();
        if in_program || (!one_stays && loader::keep_loaded((&raw const RUNTIME) as usize)) {
            RUNTIME.stay();
            fork::register();
            exit::register(in_program);
        }
        if FORCED.load(Ordering::Relaxed) == UNKNOWN {
            FORCED.store(from_environment(), Ordering::Relaxed);
        }
    }

    fn place(&self, record: usize) -> Place {
        loader::place(record)
    }

    unsafe fn image(&self, words: [usize; 3]) -> Option<Image> {
        // SAFETY: by the contract.
        unsafe { segments::image(words) }
    }

    fn is_code(&self, address: usize) -> bool {
        maps::is_code(address)
    }

    fn symbol(&self, address: usize) -> Option<&'static CStr> {
        loader::symbol(address)
    }

    fn unload(&self, addresses: &Range<usize>, held: &mut Held) {
        mprotect::unload(addresses, held);
    }

    unsafe fn stop(&self, held: &mut Held) {
        shared::unlist();
        mprotect::stop(held);
    }

    fn runtimes(&self) -> *const Runtime {
        shared::get().map_or(core::ptr::null(), shared::Shared::runtimes)
    }

    fn was_copied(&self, _: &mut Held) -> bool {
        shared::get().is_some_and(shared::Shared::needs_repair)
    }

    fn start_thread(&self, start: &mut dyn FnMut()) {
        if !RUNTIME.stays() {
            loader::keep_loaded((&raw const RUNTIME) as usize);
        }
        let mask = signals::block();
        start();
        signals::restore(mask);
    }
}

/// # Safety
/// As for [`Text::open`].
unsafe fn open(kind: WriterKind, extents: &[Extent], held: &mut Held, body: &mut Body<'_>) -> Result<(), Failure> {
    // SAFETY: by the contract.
    unsafe {
        match kind {
            WriterKind::Procmem => procmem::Procmem::open(extents, held, body),
            WriterKind::Mprotect => mprotect::Mprotect::open(extents, held, body),
            WriterKind::Swap => swap::Swap::open(extents, held, body),
            WriterKind::Custom => Err(Failure::Refused(Errno::NONE)),
        }
    }
}

/// What was given to [`Text::start`].
static CALLBACKS: AtomicPtr<Callbacks> = AtomicPtr::new(core::ptr::null_mut());

fn callbacks() -> Option<&'static Callbacks> {
    // SAFETY: null, or a reference for ever.
    unsafe { CALLBACKS.load(Ordering::Acquire).as_ref() }
}

const AUTOMATIC: u8 = 0;
const UNKNOWN: u8 = u8::MAX;
const BAD: u8 = UNKNOWN - 1;
/// What [`set_writer`](super::set_writer) or the environment asks for.
static FORCED: AtomicU8 = AtomicU8::new(UNKNOWN);

/// What stands for a writer in [`FORCED`], and for the automatic choice.
fn number(kind: Option<WriterKind>) -> u8 {
    kind.map_or(AUTOMATIC, |kind| kind as u8 + 1)
}

/// What `number` stands for; `None` for a name that is no writer's.
fn forced(number: u8) -> Option<Option<WriterKind>> {
    match number {
        UNKNOWN | AUTOMATIC => Some(None),
        BAD => None,
        number => Some(WriterKind::ALL.get(usize::from(number) - 1).copied()),
    }
}

/// Read once, in the first constructor: in a program, no other thread can change it at that time.
fn from_environment() -> u8 {
    const AT_SECURE: core::ffi::c_ulong = 23;
    // SAFETY: reads of the auxiliary vector and of the environment, once.
    let value = unsafe {
        if libc::getauxval(AT_SECURE) != 0 {
            return AUTOMATIC;
        }
        let value: *const c_char = libc::getenv(c"JUMPLABEL_WRITER".as_ptr());
        if value.is_null() {
            return AUTOMATIC;
        }
        CStr::from_ptr(value)
    };
    match value.to_bytes() {
        b"" => AUTOMATIC,
        name => WriterKind::named_by(name).map_or(BAD, number),
    }
}
