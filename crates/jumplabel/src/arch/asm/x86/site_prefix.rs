//! x86: a byte in front of a site, which the library never reads and never writes. It is a prefix of the site's instruction, and changes
//! none of those that the site can hold.
//!
//! ```text
//!   40   0f 1f 44 00 00   nop          a uprobe or a breakpoint at the site's instruction puts `cc` over the 40,
//!   40   a9 rel32         test         and takes it away again; whatever was flipped meanwhile, the five bytes
//!   40   e9 rel32         jmp          after it are the site's own
//!        ▲
//!        └ what the table calls the site
//! ```
//!
//! Compilers like to put a check first in a function, and that is where people put probes. Linux removes a uprobe by writing what the
//! *file* has there: the first byte, or, if it was hit on a nop of five bytes (6.18), all five. Without the prefix, a key that was on would
//! be left with the nop, or with a byte of the nop in front of a displacement, which is another instruction. docs/safety.md has it by
//! versions of the kernel.
//!
//! | in front of | is | why not another |
//! |---|---|---|
//! | a check, a switch, in 64-bit mode | `40`, REX without bits | - |
//! | a check that may be short, and all in 32-bit mode | `65`, gs, which matters to operands in memory alone | REX has to be the last prefix, and `66 90` has another; in 32-bit mode, `40` is `inc eax` |
//! | an operation in place, an alternative | `2e`, cs, which is ignored in 64-bit mode | their instructions have prefixes and registers of their own, to which REX and gs matter. Linux refuses a uprobe there |
//!
//! (Intel SDM volume 2, 2.1.1 and 2.2.1. Compilers and Linux emit `2e` in front of branches, too: gcc's `-mindirect-branch-cs-prefix`.) None
//! of them takes time: `jumplabel-bench site`. What begins with a byte that is the same in all states needs none: the function of a naked
//! key (`b8`), the trampoline of a static call (`endbr64`; on i686 `e9`), a call that a table lists (`e8`).
//!
//! `--cfg jumplabel_no_site_prefix` leaves it out. The table, the library and the tools do not know whether it is there.

/// In front of a check or a switch. Ends its line, if there is one.
#[cfg(all(jumplabel_site_prefix, target_arch = "x86_64", not(jumplabel_short_sites)))]
#[doc(hidden)]
#[macro_export]
macro_rules! __site_prefix_asm {
    () => {
        ".byte 64;"
    };
}
#[cfg(all(jumplabel_site_prefix, any(target_arch = "x86", jumplabel_short_sites)))]
#[doc(hidden)]
#[macro_export]
macro_rules! __site_prefix_asm {
    () => {
        ".byte 101;"
    };
}
#[cfg(not(jumplabel_site_prefix))]
#[doc(hidden)]
#[macro_export]
macro_rules! __site_prefix_asm {
    () => {
        ""
    };
}

/// In front of an operation in place or an alternative. The same.
#[cfg(all(jumplabel_site_prefix, target_arch = "x86_64"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __op_prefix_asm {
    () => {
        ".byte 0x2e\n"
    };
}
#[cfg(not(all(jumplabel_site_prefix, target_arch = "x86_64")))]
#[doc(hidden)]
#[macro_export]
macro_rules! __op_prefix_asm {
    () => {
        ""
    };
}
