//! Processors and time on Windows: where a thread may run, how much processor time it has used, and page faults on purpose.

use std::ffi::c_void;

#[link(name = "kernel32")]
unsafe extern "system" {
    safe fn GetCurrentThread() -> isize;
    safe fn GetCurrentProcess() -> isize;
    fn GetThreadTimes(thread: isize, created: *mut u64, ended: *mut u64, kernel: *mut u64, user: *mut u64) -> i32;
    fn GetProcessAffinityMask(process: isize, mask: *mut usize, system: *mut usize) -> i32;
    fn SetThreadAffinityMask(thread: isize, mask: usize) -> usize;
    fn VirtualAlloc(address: *mut c_void, bytes: usize, kind: u32, protection: u32) -> *mut c_void;
    fn VirtualFree(address: *mut c_void, bytes: usize, kind: u32) -> i32;
}

/// Processor time of this thread, in nanoseconds.
pub fn thread_nanos() -> u64 {
    let [mut created, mut ended, mut kernel, mut user] = [0; 4];
    // SAFETY: the call fills local variables.
    let filled =
        unsafe { GetThreadTimes(GetCurrentThread(), &raw mut created, &raw mut ended, &raw mut kernel, &raw mut user) };
    assert_ne!(filled, 0);
    (kernel + user) * 100
}

/// The processors that this process may run on.
pub fn processors() -> Vec<usize> {
    let [mut mask, mut system] = [0; 2];
    // SAFETY: the call fills local variables.
    assert_ne!(unsafe { GetProcessAffinityMask(GetCurrentProcess(), &raw mut mask, &raw mut system) }, 0);
    (0..usize::BITS as usize).filter(|processor| mask >> processor & 1 != 0).collect()
}

/// Makes this thread run on `processors` only.
pub fn move_to(processors: &[usize]) {
    let mask = processors.iter().fold(0, |mask, processor| mask | 1 << processor);
    // SAFETY: a refusal (a processor that went away) leaves the thread where it is.
    unsafe { SetThreadAffinityMask(GetCurrentThread(), mask) };
}

/// Causes page faults, and interrupts to other processors: maps memory, touches it and unmaps it.
pub fn fault() {
    const PAGES: usize = 8;
    const PAGE: usize = 4096;
    const COMMIT_AND_RESERVE: u32 = 0x3000;
    const READWRITE: u32 = 4;
    const RELEASE: u32 = 0x8000;
    // SAFETY: the memory is new. All writes are within its `PAGES * PAGE` bytes, and `VirtualFree` frees the whole of it.
    unsafe {
        let memory = VirtualAlloc(std::ptr::null_mut(), PAGES * PAGE, COMMIT_AND_RESERVE, READWRITE);
        assert!(!memory.is_null());
        for page in 0..PAGES {
            memory.cast::<u8>().add(page * PAGE).write_volatile(1);
        }
        VirtualFree(memory, 0, RELEASE);
    }
}
