//! The unit in C (unit.c), on x86-64.

use jumplabel::Error;

/// The number of sites of [`TRACE`](crate::checks::TRACE) in the unit.
pub const SITES: usize = if cfg!(target_arch = "x86_64") { 2 } else { 0 };

#[cfg(target_arch = "x86_64")]
unsafe extern "C" {
    safe fn unit_seen() -> u32;
    safe fn unit_check() -> i32;
    safe fn unit_enable() -> i32;
    safe fn unit_branch_enable();
    safe fn unit_set_all(length: usize) -> i32;
}

/// True if all sites in the unit see [`TRACE`](crate::checks::TRACE) as `trace`, and see the unit's key on.
#[inline(always)]
pub fn agrees(trace: bool) -> bool {
    #[cfg(target_arch = "x86_64")]
    return unit_seen() == if trace { 7 } else { 4 };
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = trace;
        true
    }
}

/// Flips the unit's key: off, on again at the next call, and so on.
pub fn enable() {
    #[cfg(target_arch = "x86_64")]
    assert!(unit_enable() == 0);
}

/// Flips the unit's key by the functions that have Linux's names.
pub fn branch_enable() {
    #[cfg(target_arch = "x86_64")]
    unit_branch_enable();
}

/// Flips the unit's key by a list of `LENGTH` changes.
pub fn set_all<const LENGTH: usize>() {
    #[cfg(target_arch = "x86_64")]
    assert!(unit_set_all(LENGTH) == 0);
}

/// Runs the test of the unit, which flips from C.
pub fn run() -> Result<(), Error> {
    #[cfg(target_arch = "x86_64")]
    {
        extern "C" fn cpu() -> usize {
            crate::arch::cpu()
        }
        jumplabel_capi::kernel::set_cpu(cpu);
        let status = unit_check();
        assert!(status == 0, "the part in C: {status}");
        crate::say!("flips from C");
    }
    Ok(())
}
