//! The `procmem` writer: `pwrite` to /proc/self/mem, which writes through read-only protections (mm/memory.c,
//! `__access_remote_vm` with `FOLL_FORCE`). No protection changes, so nothing has to be put back.
//!
//! The writer opens its descriptor for each batch. If it kept one, that would write the parent's memory after a fork. And if somebody
//! closed it and its number was used again, our bytes would go into another file.

use core::ffi::CStr;

use rustix::fd::OwnedFd;
use rustix::fs::OFlags;
use rustix::io::{pread, pwrite};

use super::procfs::open;
use super::{Open, caches, events, pages, sync};
use crate::error::Errno;
use crate::text::{Body, Extent, Failure, Held, Write, Writer};

pub(super) struct Procmem {
    memory: OwnedFd,
}

impl Open for Procmem {
    unsafe fn open(extents: &[Extent], _: &mut Held, body: &mut Body<'_>) -> Result<(), Failure> {
        let memory = memory(c"/proc/self/mem").or_else(|_| memory(THREADS)).map_err(Failure::Refused)?;
        let mut writer = Procmem { memory };
        // For a single page, the first write tells as much.
        if extents.len() > 1 || extents.iter().any(|extent| extent.end > pages::floor(extent.first) + pages::size()) {
            writer.prepare(extents).map_err(Failure::Refused)?;
        }
        body(&mut writer)
    }
}

/// The same as /proc/self/mem, by a longer way. If the first thread has ended, that one cannot be opened, or is empty.
const THREADS: &CStr = c"/proc/thread-self/mem";

fn memory(path: &CStr) -> Result<OwnedFd, Errno> {
    open(path, OFlags::RDWR)
}

/// Whether the file has at `address`, of the canary, what this program reads there. An emulator (qemu-user) opens the system's file for
/// the program, and its addresses may be other ones. It is opened by the way on which it is never empty.
pub(super) fn shows(address: usize) -> Result<(), Errno> {
    let mut bytes = [0; 8];
    pread(&memory(THREADS)?, &mut bytes, address as u64)?;
    // SAFETY: the canary is longer.
    if u64::from_ne_bytes(bytes) == unsafe { (address as *const u64).read_unaligned() } {
        Ok(())
    } else {
        Err(Errno::LIED)
    }
}

impl Procmem {
    /// Makes this process's own copy of each page: writes a byte of a site, with the value that is there. So a lack of memory or a
    /// refusal shows before anything has changed.
    fn prepare(&mut self, extents: &[Extent]) -> Result<(), Errno> {
        for extent in extents {
            let mut address = extent.first;
            while address < extent.end {
                // SAFETY: a byte of a site: the first one of the extent, or one that lies across the beginning of a page.
                let byte = unsafe { (address as *const u8).read_volatile() };
                self.put(address, &[byte])?;
                address = pages::floor(address) + pages::size();
            }
        }
        Ok(())
    }

    /// Writes all of `bytes`, or nothing.
    fn put(&mut self, address: usize, bytes: &[u8]) -> Result<(), Errno> {
        let mut old = [0; 15];
        for (byte, address) in old.iter_mut().zip(address..).take(bytes.len()) {
            // SAFETY: a byte of a site.
            *byte = unsafe { (address as *const u8).read_volatile() };
        }
        let mut written = pwrite(&self.memory, bytes, address as u64)?;
        if written == 0 {
            self.memory = memory(THREADS)?; // Kernels that open /proc/self/mem though it is empty.
            written = pwrite(&self.memory, bytes, address as u64)?;
        }
        if written == bytes.len() {
            // The canary may have met another file than this one: a process can enter another root.
            // SAFETY: as above.
            let is_there = |(&byte, address)| unsafe { (address as *const u8).read_volatile() } == byte;
            return if bytes.iter().zip(address..).all(is_there) { Ok(()) } else { Err(Errno::LIED) };
        }
        let _ = pwrite(&self.memory, &old[..written], address as u64);
        Err(rustix::io::Errno::IO.into())
    }
}

impl Writer for Procmem {
    unsafe fn write(&mut self, writes: &[Write]) -> Result<(), (usize, Errno)> {
        for (at, write) in writes.iter().enumerate() {
            self.put(write.address, write.bytes()).map_err(|errno| (at, errno))?;
            events::log(events::Event::Store(write.address));
        }
        caches::maintain(writes);
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Errno> {
        sync::core_sync()
    }
}
