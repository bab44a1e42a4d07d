//! The platform for Windows user space.
//!
//! ```text
//!   write           the writer; its self-test; core sync (sync)
//!   process_state   the lock, which all instances share, and their list
//!   modules         where objects lie, by their PE headers; other instances
//!   pages, kernel32
//! ```

mod environment;
mod kernel32;
mod lock;
mod modules;
mod pages;
mod process_state;
mod self_test;
mod sync;
#[cfg(all(test, jumplabel_sites))]
mod tests;
mod write;

use core::ops::Range;
use core::ptr::NonNull;
use core::time::Duration;

use super::instances::RUNTIME;
use super::notifiers::Notifiers;
use super::{
    Body, Callbacks, Extent, Failure, Held, Image, Place, Platform, Summary, Token, Visibility, Warnings, WriteReport,
    WriterKind, WriterList,
};
use crate::error::{Error, Refusal};
use crate::format::Runtime;
use process_state::ProcessState;

pub(super) struct Windows;
pub(super) static PLATFORM: Windows = Windows;

// SAFETY: the lock is process-wide (`process_state`). The writer restores the protections of what it opens. Nothing below this module runs
// code that has sites, and only `place`, `start` and `start_thread` call the loader.
unsafe impl Platform for Windows {
    fn lock(&self) -> Result<Token, Error> {
        let state = process_state::get().ok_or(Error::OutOfMemory)?;
        if state.lock().acquire() { Ok([0; 2]) } else { Err(Error::Reentrant) }
    }

    unsafe fn unlock(&self, _: Token) {
        if let Some(state) = process_state::get() {
            state.lock().release();
        }
    }

    fn allocate(&self, bytes: usize) -> Option<NonNull<u8>> {
        pages::allocate(bytes)
    }

    unsafe fn release(&self, memory: NonNull<u8>, _: usize) {
        // SAFETY: the caller gives back memory from `allocate`.
        unsafe { pages::release(memory) };
    }

    fn page_size(&self) -> usize {
        pages::size()
    }

    fn now(&self) -> Duration {
        pages::now()
    }

    fn writers(&self, summary: &Summary, _: &mut Held) -> WriterList {
        environment::writers(summary)
    }

    unsafe fn open(
        &self,
        kind: WriterKind,
        extents: &[Extent],
        held: &mut Held,
        body: &mut Body<'_>,
    ) -> Result<WriteReport, Failure> {
        self.prepare(kind, held).map_err(Failure::Refused)?;
        // SAFETY: the caller passes extents of loaded code, in order, which do not overlap.
        unsafe { write::open(extents, held, body) }.inspect_err(|failure| self_test::doubt(*failure))?;
        let warnings = Warnings { left_writable: !write::close_remaining(held) };
        Ok(WriteReport { visibility: Visibility::Immediate, warnings })
    }

    fn left_writable(&self, held: &mut Held) -> bool {
        !write::close_remaining(held)
    }

    fn prepare(&self, kind: WriterKind, held: &mut Held) -> Result<(), Refusal> {
        write::close_remaining(held);
        if kind == WriterKind::Mprotect { self_test::pass(held) } else { Err(Refusal::NOT_TRIED) }
    }

    fn core_sync(&self, _: &mut Held) -> Result<(), Refusal> {
        sync::core_sync();
        Ok(())
    }

    fn set_writer(&self, kind: Option<WriterKind>) {
        environment::set(kind);
    }

    /// Finds other instances of the library. A constructor calls this, so the loader's lock is held.
    unsafe fn start(&self, _: bool, _: &'static Callbacks) {
        if RUNTIME.stays() {
            return; // The program has set another platform, which passes this call on a second time.
        }
        RUNTIME.stay();
        // SAFETY: a constructor calls this function, so the loader's lock is held.
        unsafe { process_state::announce() };
        environment::read();
    }

    fn place(&self, record: usize) -> Place {
        modules::place(record)
    }

    unsafe fn image(&self, words: [usize; 3]) -> Option<Image> {
        // SAFETY: the words are 0 or from `place`, and the caller keeps their object loaded.
        unsafe { modules::image(words) }
    }

    fn has_record(&self, address: usize) -> bool {
        modules::has_record(address)
    }

    fn is_code(&self, address: usize) -> bool {
        pages::Region::at(address).is_some_and(|region| region.is_code())
    }

    fn readable(&self, addresses: Range<usize>) -> Range<usize> {
        pages::readable(addresses.start)
    }

    fn unload(&self, addresses: &Range<usize>, held: &mut Held) {
        write::unload(addresses, held);
    }

    unsafe fn stop(&self, held: &mut Held) {
        process_state::unlist();
        write::stop(held);
    }

    fn runtimes(&self) -> *const Runtime {
        process_state::get().map_or(core::ptr::null(), ProcessState::runtimes)
    }

    fn notifiers(&self) -> Option<&'static Notifiers> {
        process_state::get().map(|state| &state.notifiers)
    }

    fn thread(&self) -> usize {
        kernel32::GetCurrentThreadId() as usize
    }

    fn stay(&self) {
        modules::keep_loaded();
    }

    fn start_thread(&self, start: &mut dyn FnMut()) {
        self.stay();
        start();
    }
}
