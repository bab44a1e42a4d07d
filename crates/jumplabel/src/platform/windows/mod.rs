//! The platform for Windows user space.
//!
//! ```text
//!   write           the only writer, `mprotect` by VirtualProtect; self_test tests it; sync does core sync; environment can forbid it
//!   process_state   the state that all instances of the library share: their list, and the lock (lock)
//!   modules         where objects lie, by their PE headers; other instances
//!   pages           memory, protections, the clock; kernel32 declares the functions of the system
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

// SAFETY: `process_state` shares one lock between all instances in the process. The writer changes only the bytes that it is given, and restores the
// protection of pages or reports that it could not. Nothing in this module unwinds, runs code that has sites, or calls the loader while the lock is
// held.
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
        // SAFETY: the caller frees memory from `allocate`, which nothing uses any more.
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
        // SAFETY: the caller guarantees that the extents lie in loaded code, are sorted by address, and do not overlap.
        unsafe { write::open(extents, held, body) }?;
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

    /// Finds other instances of the library, and reads the environment. The loader's lock is held, because a constructor calls this function.
    unsafe fn start(&self, _: bool, _: &'static Callbacks) {
        if RUNTIME.stays() {
            return; // This instance was started before. The program has now set a platform that passes this call on.
        }
        RUNTIME.stay();
        // SAFETY: the loader's lock is held, because the loader is calling the constructor that calls this function.
        unsafe { process_state::announce() };
        environment::read();
    }

    fn place(&self, record: usize) -> Place {
        modules::place(record)
    }

    unsafe fn image(&self, words: [usize; 3]) -> Option<Image> {
        // SAFETY: the caller guarantees that the words are 0, or came from `place` for an object that is still loaded.
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
