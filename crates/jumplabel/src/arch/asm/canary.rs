//! The canary: a C function of our own with one site, on which a writer proves itself. Returns 0 if the site falls through and
//! 1 if it jumps.

#[cfg(jumplabel_sites)]
core::arch::global_asm!(
    ".pushsection .text.__jumplabel_canary,\"ax\",%progbits",
    ".balign 16",
    ".globl __jumplabel_canary",
    ".hidden __jumplabel_canary",
    ".type __jumplabel_canary,%function",
    crate::__nop_asm!("__jumplabel_canary:", "__jumplabel_canary_target"),
    crate::__return_asm!("0"),
    ".globl __jumplabel_canary_target",
    ".hidden __jumplabel_canary_target",
    "__jumplabel_canary_target:",
    crate::__return_asm!("1"),
    ".size __jumplabel_canary, . - __jumplabel_canary",
    ".popsection",
);

#[cfg(jumplabel_sites)]
unsafe extern "C" {
    fn __jumplabel_canary() -> u32;
    fn __jumplabel_canary_target();
}

/// Without sites there is no canary, and nobody asks for it.
#[cfg(not(jumplabel_sites))]
extern "C" fn __jumplabel_canary() -> u32 {
    0
}
#[cfg(not(jumplabel_sites))]
extern "C" fn __jumplabel_canary_target() {}

/// Runs the canary: whether its site jumped.
#[must_use]
pub(crate) fn sing() -> bool {
    #[allow(unused_unsafe)] // Not a foreign function where there are no sites.
    // SAFETY: the function above only sets the register of its result, and flags, in each state of its site.
    unsafe {
        __jumplabel_canary() != 0
    }
}

/// Address of the canary's site.
#[must_use]
pub(crate) fn site() -> usize {
    __jumplabel_canary as *const () as usize
}

/// Address that the canary's site jumps to.
#[must_use]
pub(crate) fn target() -> usize {
    __jumplabel_canary_target as *const () as usize
}
