//! Linux user space.
//!
//! ```text
//!   write      three writers, their self-test, the choice between them; core sync; which code can be read
//!   instance   the state that all instances of the library share, with the lock; forks; the end of the process
//!   loader     asks the dynamic loader where objects lie, and makes it keep them loaded
//!   threads    threads that run code of the library
//!   pages      anonymous memory and protections; procfs opens files under /proc; libc declares functions of the C library
//! ```

mod instance;
mod libc;
mod loader;
mod pages;
mod procfs;
#[cfg(jumplabel_threads)]
pub(crate) mod threads;
mod write;

use core::ffi::CStr;
use core::ops::Range;
use core::ptr::NonNull;
use core::time::Duration;

use super::instances::RUNTIME;
use super::notifiers::Notifiers;
use super::{
    Body, Callbacks, Extent, Failure, Held, Image, Place, Platform, Summary, Token, WriteReport, WriterKind, WriterList,
};
use crate::error::{Error, Refusal};
use crate::format::Runtime;
#[cfg(jumplabel_sites)]
use instance::note;
use instance::process_state::{self, ProcessState};
use instance::{exit, fork, signals};
use loader::segments;
use write::{forced, maps, mprotect, readable, self_test, sync};

#[cfg(jumplabel_short_engine)]
pub(crate) use loader::abort::abort;
pub use write::sync::{core_sync_by_signal, core_sync_handler};

pub(super) struct Linux;
pub(super) static PLATFORM: Linux = Linux;

// SAFETY: `process_state` shares one lock between all instances in the process. The writers change only the bytes that they are given, and restore
// the protection of pages or report that they could not. Nothing in this module unwinds, runs code that has sites, or calls the loader while the lock
// is held.
unsafe impl Platform for Linux {
    fn lock(&self) -> Result<Token, Error> {
        instance::lock(false)
    }

    fn lock_anyway(&self) -> Result<Token, Error> {
        instance::lock(true)
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
        // SAFETY: the caller frees memory from `allocate` or `allocate_wiped`, with a size that rounds up to the same whole pages.
        unsafe { pages::release(memory, bytes) };
    }

    fn page_size(&self) -> usize {
        pages::size()
    }

    fn now(&self) -> Duration {
        libc::now()
    }

    fn writers(&self, summary: &Summary, _: &mut Held) -> WriterList {
        write::writers(summary)
    }

    unsafe fn open(
        &self,
        kind: WriterKind,
        extents: &[Extent],
        held: &mut Held,
        body: &mut Body<'_>,
    ) -> Result<WriteReport, Failure> {
        // SAFETY: the caller guarantees that the extents lie in loaded code, are sorted by address, and do not overlap.
        unsafe { write::open_proven(kind, extents, held, body) }
    }

    /// Closes all pages that are still open. Returns true if a page stays open. Such a page was left open by the last writer, by its self-test, by a
    /// writer that was tried before, or in an earlier flip.
    fn left_writable(&self, held: &mut Held) -> bool {
        !mprotect::close_remaining(held)
    }

    fn prepare(&self, kind: WriterKind, held: &mut Held) -> Result<(), Refusal> {
        mprotect::close_remaining(held);
        let _ = sync::register(); // If this is refused, the flips that need core sync report the refusal.
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

    /// Finds other instances of the library, registers the handlers of fork and exit, and reads the environment. The program's instance always
    /// registers these handlers. Another instance registers them only if no instance has them yet, and then stays loaded. Makes no system call if the
    /// program's instance is the only one.
    unsafe fn start(&self, in_program: bool, callbacks: &'static Callbacks) {
        instance::set_callbacks(callbacks);
        if RUNTIME.stays() {
            return; // This instance has the handlers already.
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
        // SAFETY: the caller guarantees that the words are 0, or came from `place` for an object that is still loaded.
        unsafe { segments::image(words) }
    }

    #[cfg(jumplabel_sites)]
    fn has_record(&self, address: usize) -> bool {
        note::has_record(address)
    }

    fn is_code(&self, address: usize) -> bool {
        maps::is_code(address)
    }

    fn readable(&self, addresses: Range<usize>) -> Range<usize> {
        readable::around(addresses)
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
        process_state::get().map_or(core::ptr::null(), ProcessState::runtimes)
    }

    fn notifiers(&self) -> Option<&'static Notifiers> {
        process_state::get().map(ProcessState::notifiers)
    }

    fn thread(&self) -> usize {
        libc::this_thread()
    }

    fn was_forked(&self, _: &mut Held) -> bool {
        process_state::get().is_some_and(ProcessState::needs_repair)
    }

    fn stay(&self) {
        if !RUNTIME.stays() {
            loader::keep_loaded((&raw const RUNTIME) as usize);
        }
    }

    fn start_thread(&self, start: &mut dyn FnMut()) {
        self.stay();
        let mask = signals::block();
        start();
        signals::restore(mask);
    }
}
