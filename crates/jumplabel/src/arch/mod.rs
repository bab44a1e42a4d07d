//! Encodings of one instruction set: the instruction of a site in each of its states, and the steps between them.
//!
//! An arch file defines, in this order, and nothing else (tests/contract.rs looks; docs/porting.md says what each must
//! guarantee):
//!
//! | item | meaning |
//! |---|---|
//! | `SITE_SIZE` | bytes of a site |
//! | `WHOLE` | whether a piece is one aligned word, written by one store, or bytes in any order |
//! | `State` | the states of a site; `emitted`, `is_of`, `falls_through`, `toward`, `name` |
//! | `displacement` | from a site to its target, or out of range |
//! | `encode` | the bytes of a state |
//! | `decode` | the state of some bytes, or foreign |
//! | `STEPS` | how many writes lead from one state to another at most, with a core sync after each |
//! | `step` | each of them; whether a change takes it, and a piece of one byte, depend on the two states only |
//! | `undo` | what takes each of them back |
//! | `caches` | what a processor needs to fetch what was stored |
//! | `act` | one act of that |
//! | `__site_options` | a site and its table entry: the options of the inline assembly, the jump and the nop in one line each |
//! | `__nop_asm` | the site as a nop that can become a jump to a target, aligned, behind a label |
//! | `__jump_asm` | the site as a jump to a target, aligned, behind a label |
//! | `__return_asm` | a C function's return of a number |
//! | `__entry_asm` | a constructor: calls a function of one argument with the object's record |
//! | `__naked_asm` | the function of a naked key: its site, behind a label, and what it returns |
//! | `__naked_call` | the check of a naked key: calls that function |
//!
//! No system calls, no policy. What is the same for all of them is beside them: the table and the object's record in
//! `site_asm` and `object_asm`, the entry of a naked key's function in `naked_asm`, the canary, the order of cache
//! maintenance in [`caches`](maintain), sites of one word in `word`. build.rs decides which targets have sites.

// A kernel's own platform has no use for the canary, nor for some of the acts.
#[cfg(jumplabel_sites)]
#[cfg_attr(any(target_arch = "x86_64", target_arch = "x86"), path = "x86.rs")]
#[cfg_attr(target_arch = "aarch64", path = "aarch64.rs")]
#[cfg_attr(target_arch = "riscv64", path = "riscv64.rs")]
#[cfg_attr(target_arch = "s390x", path = "s390x.rs")]
#[cfg_attr(target_arch = "powerpc64", path = "powerpc64.rs")]
#[cfg_attr(target_arch = "arm", path = "arm.rs")]
#[cfg_attr(target_arch = "loongarch64", path = "loongarch64.rs")]
mod machine;
#[cfg(not(jumplabel_sites))]
#[path = "fallback.rs"]
mod machine;
pub use machine::*;

mod caches;
#[cfg_attr(not(jumplabel_linux), allow(dead_code))]
mod canary;
mod naked_asm;
mod object_asm;
mod site_asm;
#[allow(dead_code)] // Each instruction set uses what it has in common with others.
mod word;

pub use caches::{Act, Caches, maintain};
#[allow(unused_imports)] // For the writers of Linux user space.
pub(crate) use canary::{canary, canary_code, canary_target};

/// A run of bytes inside a site, written in one go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Offset in the site.
    pub offset: u8,
    /// How many of `bytes` count.
    pub len: u8,
    /// The bytes.
    pub bytes: [u8; 4],
}

impl Piece {
    /// The bytes to write.
    #[must_use]
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or(&self.bytes)
    }

    /// Stores the piece into the site at `site`: by one store, where its parts must not be seen ([`WHOLE`]).
    ///
    /// # Safety
    /// The site is writable, and as aligned as `displacement` demands.
    #[inline]
    pub unsafe fn store(&self, site: usize) {
        let first = site + usize::from(self.offset);
        if WHOLE {
            // SAFETY: by the contract, an aligned word.
            unsafe { store_word(first, u32::from_ne_bytes(self.bytes)) };
            return;
        }
        // The first apart from the others: most pieces have no more.
        let [byte, ..] = self.bytes;
        // SAFETY: by the contract, a byte of the site.
        unsafe { store_byte(first, byte) };
        for (byte, address) in self.bytes().iter().zip(first..).skip(1) {
            // SAFETY: the same.
            unsafe { store_byte(address, *byte) };
        }
    }
}

/// Writes to the aligned word at `address` what is there, at one instant: what a debugger writes at the same time is not lost.
///
/// # Safety
/// The word is writable.
#[cfg_attr(not(jumplabel_linux), allow(dead_code))]
pub(crate) unsafe fn touch_word(address: usize) {
    // SAFETY: by the contract. In assembler for the reason that `store_word` has.
    unsafe {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        core::arch::asm!("lock or dword ptr [{}], 0", in(reg) address, options(nostack));
        #[cfg(all(target_arch = "aarch64", not(miri)))]
        core::arch::asm!(
            "2: ldxr {word:w}, [{address}]",
            "stxr {failed:w}, {word:w}, [{address}]",
            "cbnz {failed:w}, 2b",
            address = in(reg) address, word = out(reg) _, failed = out(reg) _, options(nostack, preserves_flags),
        );
        #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
        {
            use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
            let word = AtomicU32::from_ptr(address as *mut u32);
            let value = word.load(Relaxed);
            let _ = word.compare_exchange(value, value, Relaxed, Relaxed);
        }
    }
}

/// How many sites ahead their lines are asked for: processors that execute them have them, so that each is a miss.
pub(crate) const AHEAD: usize = 16;

/// Asks for the line at `address`, to be read. A hint: it changes nothing and is never refused.
#[inline]
pub(crate) fn prefetch_to_read(address: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a hint.
    unsafe {
        core::arch::asm!("prefetcht0 [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: a hint.
    unsafe {
        core::arch::asm!("prfm pldl1keep, [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
    let _ = address;
}

/// Asks for the line at `address`, to be written: other processors give it up. Not asked for where it is only read, for they
/// would take it back before it is written.
#[cfg_attr(not(jumplabel_linux), allow(dead_code))]
#[inline]
pub(crate) fn prefetch_to_write(address: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a hint.
    unsafe {
        core::arch::asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: a hint.
    unsafe {
        core::arch::asm!("prfm pstl1keep, [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
    let _ = address;
}

/// Stores a word. In assembler where ThreadSanitizer is most used: it writes down each store that the compiler knows of, and may
/// not do so for code: the process would die.
unsafe fn store_word(address: usize, word: u32) {
    // SAFETY: by the caller's contract, a word that may be written.
    unsafe {
        #[cfg(all(target_arch = "aarch64", not(miri)))]
        core::arch::asm!("str {:w}, [{}]", in(reg) word, in(reg) address, options(nostack, preserves_flags));
        #[cfg(not(all(target_arch = "aarch64", not(miri))))]
        (address as *mut u32).write_volatile(word);
    }
}

/// Stores a byte, in the same way.
unsafe fn store_byte(address: usize, byte: u8) {
    // SAFETY: by the caller's contract, a byte that may be written.
    unsafe {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        core::arch::asm!("mov byte ptr [{}], {}", in(reg) address, in(reg_byte) byte, options(nostack, preserves_flags));
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        (address as *mut u8).write_volatile(byte);
    }
}
