//! x86: a prefix byte in front of each site. It is a prefix of the site's instruction, and does not change the meaning of any instruction that
//! the site can hold. The library never writes this byte.
//!
//! ```text
//!   40   0f 1f 44 00 00   nop          a uprobe or a breakpoint at the site's instruction writes `cc` over the 40,
//!   40   a9 rel32         test         and later writes the 40 again. Flips meanwhile change only the five bytes after it,
//!   40   e9 rel32         jmp          so neither disturbs the other
//!        ▲
//!        └ the address that the table has for the site
//! ```
//!
//! Compilers often put a check first in a function, and people put probes at the start of functions. To remove a uprobe, Linux writes the bytes that
//! the *file* has there: the first byte, or all five bytes if a thread ran into the uprobe at a nop of five bytes (6.18). Without the site prefix,
//! this write would damage the site of a key that was turned on. The site would hold the nop again, or the first byte of the nop and then a
//! displacement, which is another instruction. docs/safety.md has the details for each version of the kernel.
//!
//! | in front of | is | why not another |
//! |---|---|---|
//! | a check, a switch, in 64-bit mode | `40`, REX without bits | - |
//! | a check that may be short; in 32-bit mode, each site | `65`, gs, which matters only to operands in memory | REX has to be the last prefix, and `66 90` has another; in 32-bit mode, `40` is `inc eax` |
//! | an operation in place, an alternative | `2e`, cs, which is ignored in 64-bit mode | their instructions have prefixes and registers of their own, to which REX and gs matter. Linux refuses a uprobe there |
//!
//! (Intel SDM volume 2, 2.1.1 and 2.2.1. Compilers and Linux emit `2e` in front of branches, too: gcc's `-mindirect-branch-cs-prefix`.) None of
//! these prefixes takes time (measured by `jumplabel-bench site`). A site needs no prefix if its first byte, which a probe overwrites, is the
//! same in all states: the function of a naked key (`b8`), the trampoline of a static call (`endbr64`; on i686 `e9`), a call that a table lists
//! (`e8`).
//!
//! `--cfg jumplabel_no_site_prefix` leaves the prefix out. The entry says whether there is a prefix ([`PREFIXED`](crate::format::PREFIXED)), and a
//! flip checks the prefix: [`front`](crate::site::front).

/// The site prefix of a check or a switch: one line of assembler, or nothing.
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

/// The site prefix of an operation in place or an alternative: one line of assembler, or nothing.
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

/// The text after an alternative's meta word that adds the flag of the site prefix, or nothing.
#[cfg(all(jumplabel_site_prefix, target_arch = "x86_64"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __op_prefixed_asm {
    () => {
        "|64"
    };
}
#[cfg(not(all(jumplabel_site_prefix, target_arch = "x86_64")))]
#[doc(hidden)]
#[macro_export]
macro_rules! __op_prefixed_asm {
    () => {
        ""
    };
}
