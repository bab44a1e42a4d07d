//! The bare calls of a writer: its system calls and its stores. They do not lock, search for sites, check the bytes of the sites, or undo anything
//! after an error. They write to the same sites as the library's own flips. These sites are primed, so the mappings, pages and cache lines are the
//! same.
//!
//! ```text
//!   procmem     open /proc/self/mem, pwrite for each site, membarrier, close
//!   mprotect    mprotect rwx, a store for each site, membarrier, mprotect r-x
//! ```

use std::io::Error;

use jumplabel::WriterKind;

use super::floor::{code, fetch, store};
use crate::Result;
use crate::membarrier::{PRIVATE_EXPEDITED_SYNC_CORE, membarrier};
use crate::sites::Functions;

/// Flips all of `sites`, which are primed and not yet in the state `on`.
pub fn flip(kind: WriterKind, sites: &Functions, on: bool) -> Result<()> {
    match kind {
        WriterKind::Procmem => procmem(sites, on),
        _ => mprotect(sites, on),
    }
}

fn procmem(sites: &Functions, on: bool) -> Result<()> {
    let code = code(on).to_le_bytes();
    // SAFETY: the path and the byte are local, the sites belong to this program, and the descriptor is closed once.
    unsafe {
        let memory = libc::open(c"/proc/self/mem".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        if memory < 0 {
            return Err(failed("open"));
        }
        for at in 0..sites.count {
            let place = (sites.first + at * sites.apart) as libc::off_t;
            if libc::pwrite(memory, code.as_ptr().cast(), code.len(), place) != code.len() as isize {
                return Err(failed("pwrite"));
            }
        }
        fetch(sites);
        membarrier(PRIVATE_EXPEDITED_SYNC_CORE)?;
        libc::close(memory);
    }
    Ok(())
}

fn mprotect(sites: &Functions, on: bool) -> Result<()> {
    let start = sites.first & !4095;
    let bytes = (sites.first + sites.count * sites.apart).next_multiple_of(4096) - start;
    let protect = |protection| {
        // SAFETY: these are whole pages of functions that exist only for this measurement. The pages are executable before and after the call.
        match unsafe { libc::mprotect(start as *mut libc::c_void, bytes, protection) } {
            0 => Ok(()),
            _ => Err(failed("mprotect")),
        }
    };
    protect(libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC)?;
    // SAFETY: the earlier call has made the pages writable.
    unsafe { store(sites, on) };
    membarrier(PRIVATE_EXPEDITED_SYNC_CORE)?;
    protect(libc::PROT_READ | libc::PROT_EXEC)
}

fn failed(call: &str) -> Box<dyn std::error::Error> {
    format!("{call}: {}", Error::last_os_error()).into()
}
