//! The `procmem` writer: `pwrite` to /proc/self/mem, which writes even to read-only pages (mm/memory.c, `__access_remote_vm` with `FOLL_FORCE`). It
//! changes no protection, so it has nothing to restore.
//!
//! The writer opens the file anew for each batch. If it kept the descriptor, a forked child would use it to write to its parent's memory. And if the
//! program closed the descriptor, and its number were given to another file, the writer would write to that file.

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
        // If all sites lie on one page, `prepare` is not needed: a refusal of the first write comes before anything has changed.
        if extents.len() > 1 || extents.iter().any(|extent| extent.end > pages::floor(extent.first) + pages::size()) {
            writer.prepare(extents).map_err(Failure::Refused)?;
        }
        body(&mut writer)
    }
}

/// A longer path to the same file as /proc/self/mem. It also works after the first thread has ended, when /proc/self/mem cannot be opened or is
/// empty.
const THREADS: &CStr = c"/proc/thread-self/mem";

fn memory(path: &CStr) -> Result<OwnedFd, Refusal> {
    Ok(open(path, OFlags::RDWR)?)
}

/// Returns an error if /proc/self/mem does not have the same bytes at `address` as the program's memory. `address` lies in the function of the
/// self-test. The check is needed because an emulator (qemu-user) opens the system's file, in which the addresses can differ from the program's. This
/// function opens the longer path, where the file is never empty.
pub(super) fn shows(address: usize) -> Result<(), Refusal> {
    let mut bytes = [0; 8];
    pread(&memory(THREADS)?, &mut bytes, address as u64)?;
    // SAFETY: the caller passes an address in the function of the self-test, which has at least eight more bytes and can be read.
    if u64::from_ne_bytes(bytes) == unsafe { (address as *const u64).read_unaligned() } {
        Ok(())
    } else {
        Err(Refusal::NO_EFFECT)
    }
}

impl Procmem {
    /// Makes the process's own copy of each page that has sites, so that a lack of memory or a refusal shows before anything has changed. To do that,
    /// this writes one byte of a site on each page, with the value that the byte has already.
    fn prepare(&mut self, extents: &[Extent]) -> Result<(), Refusal> {
        for extent in extents {
            let mut address = extent.first;
            while address < extent.end {
                // SAFETY: `address` is a byte of a site, which the caller has read: the first byte of the extent's first site, or the first byte of a
                // page into which a site of the extent reaches.
                let byte = unsafe { (address as *const u8).read_volatile() };
                self.put(address, &[byte]).map_err(|(_, refusal)| refusal)?;
                address = pages::floor(address) + pages::size();
            }
        }
        Ok(())
    }

    /// Writes all of `bytes`, or nothing. The error contains the number of writes that the caller must undo: 1 if a part of `bytes` was written and
    /// could not be taken back, otherwise 0.
    fn put(&mut self, address: usize, bytes: &[u8]) -> Result<(), (usize, Refusal)> {
        let old = bytes_at(address, bytes.len());
        let nothing = |refusal| (0, refusal);
        let mut written = self.pwrite(address, bytes).map_err(nothing)?;
        if written == 0 {
            self.memory = memory(THREADS).map_err(nothing)?; // Some kernels open /proc/self/mem although it is empty.
            written = self.pwrite(address, bytes).map_err(nothing)?;
        }
        if written == bytes.len() {
            // This file may be another one than in the self-test, because the process may have changed its root directory since then. So this checks
            // that the bytes have arrived.
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

/// The bytes at `address` now: the first `len` elements of the result.
#[inline(never)]
fn bytes_at(address: usize, len: usize) -> [u8; 15] {
    let mut bytes = [0; 15];
    // SAFETY: the bytes are those of a site, which the caller knows to be readable. The compiler must expect that the system calls between two calls
    // of this function change the bytes.
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
