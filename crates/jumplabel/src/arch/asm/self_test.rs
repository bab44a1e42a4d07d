//! The function of the self-test: a C function of this library with one site. A writer changes this site to show that the writer works.
//! The function returns 0 if the site falls through, and 1 if it jumps.

#[cfg(all(jumplabel_sites, not(jumplabel_windows)))]
core::arch::global_asm!(
    ".pushsection .text.__jumplabel_self_test,\"ax\",%progbits",
    ".balign 16",
    ".globl __jumplabel_self_test",
    ".hidden __jumplabel_self_test",
    ".type __jumplabel_self_test,%function",
    crate::__nop_asm!("__jumplabel_self_test:", "__jumplabel_self_test_target"),
    crate::__return_asm!("0"),
    ".globl __jumplabel_self_test_target",
    ".hidden __jumplabel_self_test_target",
    "__jumplabel_self_test_target:",
    crate::__return_asm!("1"),
    ".size __jumplabel_self_test, . - __jumplabel_self_test",
    ".popsection",
);

// The same function in a PE file, which has no hidden symbols. By default, a Rust program or library exports no symbol.
#[cfg(all(jumplabel_sites, jumplabel_windows))]
core::arch::global_asm!(
    ".pushsection .text$__jumplabel_self_test,\"xr\"",
    ".balign 16",
    ".globl __jumplabel_self_test",
    crate::__nop_asm!("__jumplabel_self_test:", "__jumplabel_self_test_target"),
    crate::__return_asm!("0"),
    ".globl __jumplabel_self_test_target",
    "__jumplabel_self_test_target:",
    crate::__return_asm!("1"),
    ".popsection",
);

#[cfg(jumplabel_sites)]
unsafe extern "C" {
    fn __jumplabel_self_test() -> u32;
    fn __jumplabel_self_test_target();
}

/// Stands for the function in builds without sites. Such builds have no self-test, so no code calls this function.
#[cfg(not(jumplabel_sites))]
extern "C" fn __jumplabel_self_test() -> u32 {
    0
}
#[cfg(not(jumplabel_sites))]
extern "C" fn __jumplabel_self_test_target() {}

/// Runs the self-test's function. Returns whether its site jumped.
#[must_use]
pub(crate) fn jumps() -> bool {
    #[allow(unused_unsafe)] // Without sites, the function is an ordinary one.
    // SAFETY: whichever instruction the site holds, the function only sets flags and the register of its result.
    unsafe {
        __jumplabel_self_test() != 0
    }
}

/// The address of the site in the self-test's function.
#[must_use]
pub(crate) fn site() -> usize {
    __jumplabel_self_test as *const () as usize
}

/// The address that this site jumps to.
#[must_use]
pub(crate) fn target() -> usize {
    __jumplabel_self_test_target as *const () as usize
}
