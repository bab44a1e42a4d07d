//! The kernel's work for a tracer: the nop of the note becomes a breakpoint. Its handler here is that of the signal.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::seen;
use crate::note::{NOP, write};

#[cfg(target_arch = "aarch64")]
const BREAKPOINT: [u8; NOP.len()] = [0, 0, 0x20, 0xd4]; // brk #0
#[cfg(target_arch = "riscv64")]
const BREAKPOINT: [u8; NOP.len()] = [0x02, 0x90]; // c.ebreak

static ADDRESS: AtomicUsize = AtomicUsize::new(0);

/// Reads what the tracer wants, and goes on after the nop.
extern "C" fn trapped(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes the context of the thread, which waits meanwhile.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext };
    #[cfg(target_arch = "aarch64")]
    let (words, next) = (registers.regs[0], &mut registers.pc);
    #[cfg(target_arch = "riscv64")]
    let (words, next) = (registers.__gregs[10], &mut registers.__gregs[0]);
    let address = ADDRESS.load(Relaxed);
    assert_eq!(*next as usize, address);
    *next = (address + NOP.len()) as _;
    seen(words as usize);
}

/// Writes the breakpoint.
pub fn hook(address: usize) {
    ADDRESS.store(address, Relaxed);
    // SAFETY: a handler that changes what it is given, as handlers may.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = trapped as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        assert_eq!(libc::sigaction(libc::SIGTRAP, &action, std::ptr::null_mut()), 0);
    }
    write(address, &BREAKPOINT);
}
