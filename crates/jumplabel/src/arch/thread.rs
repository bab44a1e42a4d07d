//! A variable of each thread, for programs without std, where stable Rust has no such variables. The code accesses this variable as compilers access
//! a thread-local variable of C in code that may lie anywhere (the general dynamic model; on aarch64, with descriptors). In a program, the linker
//! turns the access into one or two instructions. In a shared library, which may be loaded at any time, the access remains a call.

use core::arch::{asm, global_asm};

/// The size of the variable in bytes. The variable starts as zeros.
#[allow(dead_code)] // std has thread-local variables of its own.
pub(crate) const BYTES: usize = 24;

// The symbol is hidden, so that each instance of the library has a variable of its own.
global_asm!(
    ".pushsection .tbss.__jumplabel_thread,\"awT\",@nobits",
    ".p2align 3",
    ".globl __jumplabel_thread",
    ".hidden __jumplabel_thread",
    ".type __jumplabel_thread,@object",
    ".size __jumplabel_thread, {bytes}",
    "__jumplabel_thread:",
    ".zero {bytes}",
    ".popsection",
    bytes = const BYTES,
);

/// The address of the variable in the calling thread: [`BYTES`] bytes, aligned to 8.
#[inline(always)]
pub(crate) fn variable() -> *const () {
    let at;
    // SAFETY: these are the calls that the ABI defines for thread-local variables. Linkers recognise them by their bytes, prefixes included.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        asm!(
            ".byte 0x66",
            "lea rdi, [rip + __jumplabel_thread@TLSGD]",
            ".byte 0x66, 0x66, 0x48",
            "call __tls_get_addr@PLT",
            out("rax") at,
            clobber_abi("C"),
        );
    }
    // SAFETY: this is the call that the ABI defines for thread-local variables. The call changes only the registers that are named here.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        asm!(
            "adrp x0, :tlsdesc:__jumplabel_thread",
            "ldr x1, [x0, :tlsdesc_lo12:__jumplabel_thread]",
            "add x0, x0, :tlsdesc_lo12:__jumplabel_thread",
            ".tlsdesccall __jumplabel_thread",
            "blr x1",
            "mrs x1, tpidr_el0",
            "add x0, x0, x1",
            out("x0") at,
            out("x1") _,
            out("x30") _,
        );
    }
    // SAFETY: this is the call that the ABI defines for thread-local variables.
    #[cfg(target_arch = "riscv64")]
    unsafe {
        asm!("la.tls.gd a0, __jumplabel_thread", "call __tls_get_addr@plt", out("a0") at, clobber_abi("C"));
    }
    at
}

#[cfg(test)]
mod tests {
    use super::{BYTES, variable};

    /// In each thread, the variable starts as zeros. Its address differs between threads, and stays the same in one thread.
    #[test]
    fn one_in_each_thread() {
        let fresh = || {
            let at = variable().cast::<u8>().cast_mut();
            for byte in 0..BYTES {
                // SAFETY: the variable of this thread, which nothing else uses in a program with std.
                unsafe {
                    assert_eq!(at.add(byte).read(), 0);
                    at.add(byte).write(1);
                }
            }
            assert_eq!((variable().cast_mut().cast(), at as usize % 8), (at, 0));
            at as usize
        };
        let here = std::thread::spawn(move || {
            let here = fresh();
            assert_ne!(std::thread::spawn(fresh).join().unwrap(), here);
            here
        });
        assert_ne!(here.join().unwrap(), 0);
    }
}
