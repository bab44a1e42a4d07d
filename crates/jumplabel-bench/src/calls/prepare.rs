//! Prepares the calls before they are measured: points everything to its function, and lists the calls of one way in a table.

#[cfg(target_arch = "x86_64")]
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

#[cfg(target_arch = "x86_64")]
use jumplabel_testing::call_sites;

use super::ways::{CALL, CALLS_A_TURN, POINTERS, Pointers, WAYS, Way, triple};
#[cfg(target_arch = "x86_64")]
use super::ways::{FAR, Function, LISTED};
use crate::placed::PLACEMENTS;
use crate::{Result, placed};

/// Maps a copy of `triple` at an address that a call instruction cannot reach.
#[cfg(target_arch = "x86_64")]
fn far() -> Result<Function> {
    use libc::{MAP_ANONYMOUS, MAP_FAILED, MAP_FIXED_NOREPLACE, MAP_PRIVATE, PROT_EXEC, PROT_READ, PROT_WRITE};
    let code = [0x48, 0x8d, 0x04, 0x7f, 0xc3_u8]; // lea rax, [rdi + rdi * 2]; ret
    let address = (triple as *const () as usize & !0xfff) - (1 << 40);
    // SAFETY: the mapping is new, and the code is that of a function of this type.
    unsafe {
        let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
        let page = libc::mmap(address as *mut _, 4096, PROT_READ | PROT_WRITE, flags, -1, 0);
        if page == MAP_FAILED {
            return Err(std::io::Error::last_os_error().into());
        }
        std::ptr::copy_nonoverlapping(code.as_ptr(), page.cast(), code.len());
        if libc::mprotect(page, 4096, PROT_READ | PROT_EXEC) != 0 {
            return Err(std::io::Error::last_os_error().into());
        }
        Ok(std::mem::transmute::<*mut libc::c_void, Function>(page))
    }
}

/// Lists the calls in all loops of the way `Listed`, as a tool does for a file. Returns the addresses of their displacements. Without optimisation
/// there are none, because each call takes its target from a register.
#[cfg(target_arch = "x86_64")]
fn list_calls() -> Result<Vec<usize>> {
    /// More bytes than a loop has.
    const BYTES: usize = 4096;
    if cfg!(debug_assertions) {
        return Ok(Vec::new());
    }
    let trampoline = *LISTED as *const ();
    let calls = Way::Listed.loops().into_iter().flatten().flat_map(|run| {
        // SAFETY: the bytes are the code of a loop and of what follows it.
        unsafe { call_sites::find(run as *const (), BYTES, trampoline) }
    });
    // Code after the loop may take the address of the trampoline, which is not a call.
    // SAFETY: the byte is in the code that was searched.
    let calls = calls.filter(|&call| unsafe { *((call - 1) as *const u8) } == 0xe8);
    let calls: BTreeSet<usize> = calls.collect();
    let expected = Way::Listed.loops().len() * PLACEMENTS * CALLS_A_TURN;
    if calls.len() != expected {
        return Err(format!("{} calls of the trampoline instead of {expected}", calls.len()).into());
    }
    let calls = Vec::from_iter(calls);
    // SAFETY: these are displacements of instructions that call the trampoline. No other instructions have such a displacement.
    unsafe { call_sites::list(LISTED.raw(), trampoline, &calls) };
    Ok(calls)
}

/// The number of calls that were listed, and how many of them go to the function without the trampoline.
pub struct Listed {
    pub calls: usize,
    pub straight: usize,
}

/// Points everything to its function, and checks the result of a call by each way.
pub fn prepare() -> Result<Listed> {
    let listed = prepare_listed()?;
    CALL.update(triple)?;
    for Pointers { one, table } in &POINTERS {
        table.iter().chain([one]).for_each(|word| word.store(triple as *const () as usize, Ordering::Release));
    }
    for way in WAYS {
        let expected = (0..CALLS_A_TURN).fold(1, |x: u64, _| x * 3);
        let [latency, throughput, hashing] = way.loops();
        for placement in 0..PLACEMENTS {
            if placed::run(&latency, placement, 1) != expected {
                return Err(format!("{} does not call what it should", way.name()).into());
            }
            placed::run(&throughput, placement, 1);
        }
        if placed::run(&hashing, 0, 1) != placed::run(&Way::Direct.loops()[2], 0, 1) {
            return Err(format!("{} does not call what it should", way.name()).into());
        }
    }
    Ok(listed)
}

#[cfg(target_arch = "x86_64")]
fn prepare_listed() -> Result<Listed> {
    let calls = list_calls()?;
    LISTED.update(triple)?;
    let straight = calls.iter().filter(|&&call| call_sites::displacement(call) == triple as *const () as usize).count();
    FAR.update(far()?)?;
    Ok(Listed { calls: calls.len(), straight })
}

/// Lists nothing: this instruction set has no table of calls.
#[cfg(not(target_arch = "x86_64"))]
fn prepare_listed() -> Result<Listed> {
    Ok(Listed { calls: 0, straight: 0 })
}
