//! The end of a process that executes a torn instruction: by a signal or, on Windows, an exception.

use std::process::ExitStatus;

/// The signal that ended the process, and whether a torn instruction causes it. `None` if the process ended by itself.
#[cfg(unix)]
pub fn fault(status: ExitStatus) -> Option<(String, bool)> {
    use std::os::unix::process::ExitStatusExt;
    let signal = status.signal()?;
    let is_trap = [libc::SIGTRAP, libc::SIGSEGV, libc::SIGILL, libc::SIGBUS].contains(&signal);
    Some((format!("signal {signal}"), is_trap))
}

/// A process that dies leaves no core.
#[cfg(unix)]
pub fn end_at_once() {
    let no_core = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a limit of this process.
    unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const no_core) };
}

/// Access violation, illegal and privileged instruction, stack overflow, division by zero; breakpoint, single step.
#[cfg(windows)]
const TRAPS: [u32; 7] = [0xc000_0005, 0xc000_001d, 0xc000_0096, 0xc000_00fd, 0xc000_0094, 0x8000_0003, 0x8000_0004];

#[cfg(windows)]
pub fn fault(status: ExitStatus) -> Option<(String, bool)> {
    let code = status.code()? as u32;
    (code >= 0x8000_0000).then(|| (format!("exception {code:#x}"), TRAPS.contains(&code)))
}

/// A process that dies starts no debugger, which is what Wine does, but ends with the number of the exception.
#[cfg(windows)]
pub fn end_at_once() {
    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn AddVectoredExceptionHandler(first: u32, handler: extern "system" fn(*const *const u32) -> i32) -> usize;
        safe fn GetCurrentProcess() -> isize;
        fn TerminateProcess(process: isize, code: u32) -> i32;
    }
    extern "system" fn end(pointers: *const *const u32) -> i32 {
        const EXCEPTION_CONTINUE_SEARCH: i32 = 0;
        // SAFETY: the first pointer leads to the record of the exception, which begins with its number.
        let code = unsafe { **pointers };
        if TRAPS.contains(&code) {
            // SAFETY: this process has nothing more to do.
            unsafe { TerminateProcess(GetCurrentProcess(), code) };
        }
        EXCEPTION_CONTINUE_SEARCH
    }
    // SAFETY: the handler stays as long as the process.
    unsafe { AddVectoredExceptionHandler(1, end) };
}
