//! Linux user space: three writers, each of which must pass a self-test, and the choice between them.
//!
//! | writer | cost in interrupts of other processors | refused under |
//! |---|---|---|
//! | [`procmem`] | 1 (core sync), and a system call for each write | kernels that restrict it, no /proc, dumpable 0 without root |
//! | [`mprotect`] | 3 (open, core sync, close) | MDWE, seccomp as systemd sets it, SELinux execmod, mseal |
//! | [`remap`] | 2 and more, and a copy of the pages | MDWE, SELinux, mseal, a file that is gone |
//!
//! If one refuses, the next is tried before an error is reported.

#[cfg(jumplabel_short_engine)]
mod abort;
mod bti;
mod caches;
mod cancellation;
mod events;
mod exit;
mod forced;
mod fork;
mod futex;
mod libc;
mod loader;
mod maps;
mod mprotect;
mod mutex;
mod note;
mod pages;
mod process_state;
mod procfs;
mod procmem;
mod readable;
mod remap;
mod segments;
mod self_test;
mod signals;
mod sync;
mod waiting;

use core::ffi::CStr;
use core::ops::Range;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, Ordering};
use core::time::Duration;

use super::instances::RUNTIME;
use super::{
    Body, Callbacks, Extent, Failure, Held, Image, Place, Platform, Summary, Token, Warnings, WriteReport, WriterKind,
    WriterList,
};
use crate::arch::{Arch, Native};
use crate::error::{Error, Refusal, Refusals};
use crate::format::Runtime;

#[cfg(jumplabel_short_engine)]
pub(crate) use abort::abort;
pub use sync::{core_sync_by_signal, core_sync_handler};

pub(super) struct Linux;
pub(super) static PLATFORM: Linux = Linux;

/// Up to this many sites in a span, a `pwrite` each costs less than opening and closing the span, which interrupts the other
/// processors twice. The right number depends on what an interrupt costs: 13 and 90 sites on two machines. `cargo run --release -p
/// jumplabel-bench -- flips` shows it.
const PROCMEM_SITES: usize = 32;

impl From<rustix::io::Errno> for Refusal {
    fn from(errno: rustix::io::Errno) -> Refusal {
        Refusal::errno(errno.raw_os_error())
    }
}

/// A writer of this platform.
trait Open {
    /// Makes `extents` writable and runs `body`, as [`Platform::open`] does for the writer that was proven.
    ///
    /// # Safety
    /// As for [`Platform::open`].
    unsafe fn open(extents: &[Extent], held: &mut Held, body: &mut Body<'_>) -> Result<(), Failure>;
}

// SAFETY: the lock is process-wide (`process_state`), the writers restore what they open, and nothing below runs foreign code.
unsafe impl Platform for Linux {
    fn lock(&self) -> Result<Token, Error> {
        lock(false)
    }

    fn lock_anyway(&self) -> Result<Token, Error> {
        lock(true)
    }

    unsafe fn unlock(&self, token: Token) {
        if let Some(state) = process_state::get() {
            state.release(token);
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

    fn writers(&self, summary: &Summary, _: &mut Held) -> WriterList {
        use WriterKind::{Mprotect, Procmem, Remap};
        if forced::is_unknown() {
            return WriterList::unknown();
        }
        match forced::writer() {
            // It never writes to running code.
            None | Some(Remap) if summary.unsynced => WriterList::of(&[Remap]),
            Some(_) if summary.unsynced => WriterList::default(),
            // The kernel copies an aligned word with one store (its memcpy), but does not promise to. Others it copies as it likes.
            Some(Procmem) if summary.single_store && !Native::SINGLE_STORE => WriterList::default(),
            None if summary.single_store && !Native::SINGLE_STORE => WriterList::of(&[Mprotect, Remap]),
            Some(kind) => WriterList::of(&[kind]),
            None if Native::SINGLE_STORE => WriterList::of(&[Mprotect, Remap, Procmem]),
            None if summary.sites <= PROCMEM_SITES * summary.spans => WriterList::of(&[Procmem, Mprotect, Remap]),
            None => WriterList::of(&[Mprotect, Procmem, Remap]),
        }
    }

    unsafe fn open(
        &self,
        kind: WriterKind,
        extents: &[Extent],
        held: &mut Held,
        body: &mut Body<'_>,
    ) -> Result<WriteReport, Failure> {
        mprotect::close_remaining(held);
        sync::reset();
        self_test::pass(kind, held).map_err(Failure::Refused)?;
        // SAFETY: by the contract.
        unsafe { open(kind, extents, held, body) }.inspect_err(|failure| self_test::doubt(kind, *failure))?;
        let warnings = Warnings { left_writable: self.left_writable(held) };
        Ok(WriteReport { visibility: sync::visibility(), warnings })
    }

    /// Whatever left it open: the last writer, its self-test, one that was tried before, an earlier flip.
    fn left_writable(&self, held: &mut Held) -> bool {
        !mprotect::close_remaining(held)
    }

    fn prepare(&self, kind: WriterKind, held: &mut Held) -> Result<(), Refusal> {
        mprotect::close_remaining(held);
        let _ = sync::register(); // If it is refused, the flips that need it say so.
        self_test::pass(kind, held)
    }

    fn core_sync(&self, _: &mut Held) -> Result<(), Refusal> {
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
        forced::set(kind);
    }

    /// Finds other instances of the library. If none of them is told of forks and of the end of the process, asks to be told of them. Makes
    /// no system call if this instance is the only one.
    unsafe fn start(&self, in_program: bool, callbacks: &'static Callbacks) {
        CALLBACKS.store(core::ptr::from_ref(callbacks).cast_mut(), Ordering::Release);
        if RUNTIME.stays() {
            return; // It has the handlers.
        }
        let one_stays = process_state::announce();
        if in_program || (!one_stays && loader::keep_loaded((&raw const RUNTIME) as usize)) {
            RUNTIME.stay();
            fork::register();
            exit::register(in_program);
        }
        forced::read_environment();
    }

    fn place(&self, record: usize) -> Place {
        loader::place(record)
    }

    unsafe fn image(&self, words: [usize; 3]) -> Option<Image> {
        // SAFETY: by the contract.
        unsafe { segments::image(words) }
    }

    #[cfg(jumplabel_sites)]
    fn has_record(&self, address: usize) -> bool {
        note::has_record(address)
    }

    fn is_code(&self, address: usize) -> bool {
        maps::is_code(address)
    }

    fn readable(&self, address: usize, far: bool) -> Range<usize> {
        readable::around(address, far)
    }

    fn symbol(&self, address: usize) -> Option<&'static CStr> {
        loader::symbol(address)
    }

    fn unload(&self, addresses: &Range<usize>, held: &mut Held) {
        mprotect::unload(addresses, held);
    }

    unsafe fn stop(&self, held: &mut Held) {
        process_state::unlist();
        mprotect::stop(held);
    }

    fn runtimes(&self) -> *const Runtime {
        process_state::get().map_or(core::ptr::null(), process_state::ProcessState::runtimes)
    }

    fn was_forked(&self, _: &mut Held) -> bool {
        process_state::get().is_some_and(process_state::ProcessState::needs_repair)
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

#[inline(never)]
fn lock(anyway: bool) -> Result<Token, Error> {
    let token = process_state::get().ok_or(Error::OutOfMemory)?.take(0, anyway).map_err(|refusal| match refusal {
        mutex::Refusal::Unblocked => Error::Denied { refused: Refusals::default() },
        _ => Error::Reentrant, // A flip never gives up.
    })?;
    readable::forget();
    Ok(token)
}

/// # Safety
/// As for [`Platform::open`].
unsafe fn open(kind: WriterKind, extents: &[Extent], held: &mut Held, body: &mut Body<'_>) -> Result<(), Failure> {
    // SAFETY: by the contract.
    unsafe {
        match kind {
            WriterKind::Procmem => procmem::Procmem::open(extents, held, body),
            WriterKind::Mprotect => mprotect::Mprotect::open(extents, held, body),
            WriterKind::Remap => remap::Remap::open(extents, held, body),
            WriterKind::Custom => Err(Failure::Refused(Refusal::NOT_TRIED)),
        }
    }
}

/// What was given to [`Platform::start`].
static CALLBACKS: AtomicPtr<Callbacks> = AtomicPtr::new(core::ptr::null_mut());

fn callbacks() -> Option<&'static Callbacks> {
    // SAFETY: null, or a reference for ever.
    unsafe { CALLBACKS.load(Ordering::Acquire).as_ref() }
}
