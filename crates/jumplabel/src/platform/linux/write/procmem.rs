//! The `procmem` writer: `pwrite` to /proc/self/mem, which writes through read-only protections (mm/memory.c, `__access_remote_vm` with
//! `FOLL_FORCE`). No protection changes, so nothing has to be restored.
//!
//! The writer opens its descriptor for each batch. If it kept one descriptor, a forked child would write its parent's memory through it. And if the
//! program closed the descriptor and another file got its number, the writer would write to that file.

use core::ffi::CStr;

use rustix::fd::OwnedFd;
use rustix::fs::OFlags;
use rustix::io::{pread, pwrite};

use super::{Open, caches, events, sync};
use crate::error::Refusal;
use crate::platform::linux::pages;
use crate::platform::linux::procfs::open;
use crate::platform::{Body, Extent, Failure, Held, Write, Writer};

pub(super) struct Procmem {
    memory: OwnedFd,
}

impl Open for Procmem {
    unsafe fn open(extents: &[Extent], _: &mut Held, body: &mut Body<'_>) -> Result<(), Failure> {
        let memory = memory(c"/proc/self/mem").or_else(|_| memory(THREADS)).map_err(Failure::Refused)?;
        let mut writer = Procmem { memory };
        // If there is only one page, `prepare` is not needed, because the first write to that page shows a refusal early enough.
        if extents.len() > 1 || extents.iter().any(|extent| extent.end > pages::floor(extent.first) + pages::size()) {
            writer.prepare(extents).map_err(Failure::Refused)?;
        }
        body(&mut writer)
    }
}

/// The same file as /proc/self/mem, by a longer path. If the first thread has ended, /proc/self/mem cannot be opened, or is empty.
const THREADS: &CStr = c"/proc/thread-self/mem";

fn memory(path: &CStr) -> Result<OwnedFd, Refusal> {
    Ok(open(path, OFlags::RDWR)?)
}

/// Checks that /proc/self/mem has the same bytes at `address` as the program's memory. `address` lies in the function of the self-test. The check
/// is needed because an emulator (qemu-user) opens the system's file for the program, and the addresses in that file can differ from the program's.
/// The function opens the path at which the file is never empty.
pub(super) fn shows(address: usize) -> Result<(), Refusal> {
    let mut bytes = [0; 8];
    pread(&memory(THREADS)?, &mut bytes, address as u64)?;
    // SAFETY: the function of the self-test is longer than eight bytes.
    if u64::from_ne_bytes(bytes) == unsafe { (address as *const u64).read_unaligned() } {
        Ok(())
    } else {
        Err(Refusal::NO_EFFECT)
    }
}

impl Procmem {
    /// Gives this process its own copy of each page: writes to each page a byte of a site that has this value already. So a lack of memory, or a
    /// refusal, shows before anything has changed.
    fn prepare(&mut self, extents: &[Extent]) -> Result<(), Refusal> {
        for extent in extents {
            let mut address = extent.first;
            while address < extent.end {
                // SAFETY: this is a byte of a site: of the first site of the extent, or of one that lies across the beginning of a page.
                let byte = unsafe { (address as *const u8).read_volatile() };
                self.put(address, &[byte]).map_err(|(_, refusal)| refusal)?;
                address = pages::floor(address) + pages::size();
            }
        }
        Ok(())
    }

    /// Writes all of `bytes`, or nothing. The number in the error is the number of writes that must be undone: 1 if only a part of `bytes` was
    /// written and could not be taken back, otherwise 0.
    fn put(&mut self, address: usize, bytes: &[u8]) -> Result<(), (usize, Refusal)> {
        let old = bytes_at(address, bytes.len());
        let nothing = |refusal| (0, refusal);
        let mut written = self.pwrite(address, bytes).map_err(nothing)?;
        if written == 0 {
            self.memory = memory(THREADS).map_err(nothing)?; // Some kernels open /proc/self/mem although it is empty.
            written = self.pwrite(address, bytes).map_err(nothing)?;
        }
        if written == bytes.len() {
            // The file may differ from the one that passed the self-test, because the process may have entered another root since then.
            let there = bytes_at(address, written);
            return if there[..written] == *bytes { Ok(()) } else { Err(nothing(Refusal::NO_EFFECT)) };
        }
        let is_back = self.pwrite(address, &old[..written]) == Ok(written);
        Err((usize::from(!is_back), rustix::io::Errno::IO.into()))
    }

    fn pwrite(&self, address: usize, bytes: &[u8]) -> Result<usize, Refusal> {
        Ok(pwrite(&self.memory, bytes, address as u64)?)
    }
}

/// The present bytes of a site, 15 at the most.
#[inline(never)]
fn bytes_at(address: usize, len: usize) -> [u8; 15] {
    let mut bytes = [0; 15];
    // SAFETY: the bytes are those of a site. A system call between two calls of this function can change the bytes, and the compiler knows that.
    unsafe { core::ptr::copy_nonoverlapping(address as *const u8, bytes.as_mut_ptr(), len.min(bytes.len())) };
    bytes
}

impl Writer for Procmem {
    unsafe fn write(&mut self, writes: &[Write]) -> Result<(), (usize, Refusal)> {
        for (at, write) in writes.iter().enumerate() {
            self.put(write.address, write.bytes()).map_err(|(begun, refusal)| (at + begun, refusal))?;
            events::log(events::Event::Store(write.address));
        }
        caches::maintain(writes);
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Refusal> {
        sync::core_sync()
    }
}
