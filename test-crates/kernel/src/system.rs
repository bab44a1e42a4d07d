//! Three system calls.

use core::arch::asm;

use jumplabel_kernel::Bounds;

const WRITE: usize = 1;
const MPROTECT: usize = 10;
const EXIT_GROUP: usize = 231;

pub const READ_EXECUTE: usize = 1 | 4;
pub const READ_WRITE_EXECUTE: usize = 1 | 2 | 4;

/// # Safety
/// That of the call.
unsafe fn call(number: usize, arguments: [usize; 6]) -> isize {
    let [a, b, c, d, e, f] = arguments;
    let result;
    // SAFETY: Linux's convention.
    unsafe {
        asm!("syscall", inlateout("rax") number => result, in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d,
             in("r8") e, in("r9") f, out("rcx") _, out("r11") _, options(nostack));
    }
    result
}

/// Where the program lies, by the linker.
pub fn bounds() -> Bounds {
    unsafe extern "C" {
        static __executable_start: u8;
        static _etext: u8;
        static _end: u8;
    }
    let [start, etext, end] = [&raw const __executable_start, &raw const _etext, &raw const _end].map(|at| at as usize);
    Bounds { code: start..etext, all: start..end }
}

pub fn print(text: &str) {
    // SAFETY: a readable buffer.
    unsafe { call(WRITE, [1, text.as_ptr() as usize, text.len(), 0, 0, 0]) };
}

pub struct Console;

impl core::fmt::Write for Console {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        print(text);
        Ok(())
    }
}

pub fn exit(status: usize) -> ! {
    loop {
        // SAFETY: ends here.
        unsafe { call(EXIT_GROUP, [status, 0, 0, 0, 0, 0]) };
    }
}

/// # Safety
/// Pages of the program's text; executable before and after.
pub unsafe fn protect(address: usize, bytes: usize, protection: usize) -> bool {
    // SAFETY: by the contract.
    unsafe { call(MPROTECT, [address, bytes, protection, 0, 0, 0]) == 0 }
}
