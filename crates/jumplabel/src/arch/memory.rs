//! Access to code as memory: stores that the compiler does not see, reads, and hints for the caches.

use jumplabel_format::Code;

/// Stores `bytes` at `address`. If `single_store` is set and there are four bytes, one store writes them.
///
/// # Safety
/// The bytes are writable. Four bytes for a single store are aligned or, on x86, lie within eight aligned bytes.
#[inline]
pub unsafe fn store(address: usize, bytes: &[u8], single_store: bool) {
    if let (true, &[a, b, c, d]) = (single_store, bytes) {
        // SAFETY: the caller says that the word is writable, and that it is aligned or, on x86, lies within eight aligned bytes.
        return unsafe { store_word(address, u32::from_ne_bytes([a, b, c, d])) };
    }
    // Most writes have only one byte.
    if let &[byte] = bytes {
        // SAFETY: the caller says that the byte is writable.
        return unsafe { store_byte(address, byte) };
    }
    for (byte, address) in bytes.iter().zip(address..) {
        // SAFETY: the caller says that all these bytes are writable.
        unsafe { store_byte(address, *byte) };
    }
}

/// Reads the aligned word at `address` and writes it back, in one atomic instruction. If a debugger writes the word at the same time, its
/// write is not lost.
///
/// # Safety
/// The word is writable and aligned.
#[cfg_attr(not(jumplabel_linux), allow(dead_code))]
pub(crate) unsafe fn touch_word(address: usize) {
    // SAFETY: the caller passes an aligned word that is writable. The instruction is in assembler for the reason that `store_word` gives.
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

/// The number of sites by which a loop over many sites looks ahead: the loop asks for the cache line of the site that comes this number of sites
/// later. These lines are in the caches of the processors that execute the sites. So without the hint, each access to a site would be a cache miss.
pub(crate) const AHEAD: usize = 16;

/// Asks for the cache line at `address`, in order to read it. This is a hint: it changes nothing and never fails.
#[inline]
pub(crate) fn prefetch_to_read(address: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a hint, which accesses no memory that the program sees.
    unsafe {
        core::arch::asm!("prefetcht0 [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: a hint, which accesses no memory that the program sees.
    unsafe {
        core::arch::asm!("prfm pldl1keep, [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
    let _ = address;
}

/// Asks for the cache line at `address`, in order to write to it: other processors give the line up. Do not use this for a line that you
/// read now and write later, because the other processors would take the line back before you write.
#[cfg_attr(not(jumplabel_linux), allow(dead_code))]
#[inline]
pub(crate) fn prefetch_to_write(address: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a hint, which accesses no memory that the program sees.
    unsafe {
        core::arch::asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: a hint, which accesses no memory that the program sees.
    unsafe {
        core::arch::asm!("prfm pstl1keep, [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
    let _ = address;
}

/// Stores a word. On x86 the store is in assembler, because the word need not be aligned. On aarch64 it is in assembler because of ThreadSanitizer,
/// as on x86-64: the sanitizer records each store that the compiler knows of, and the process dies if a store to code is recorded.
unsafe fn store_word(address: usize, word: u32) {
    // SAFETY: `store` passes a word that is writable, and that is aligned or, on x86, lies within eight aligned bytes.
    unsafe {
        #[cfg(all(target_arch = "aarch64", not(miri)))]
        core::arch::asm!("str {:w}, [{}]", in(reg) word, in(reg) address, options(nostack, preserves_flags));
        #[cfg(all(any(target_arch = "x86_64", target_arch = "x86"), not(miri)))]
        core::arch::asm!("mov dword ptr [{}], {:e}", in(reg) address, in(reg) word, options(nostack, preserves_flags));
        #[cfg(not(all(any(target_arch = "aarch64", target_arch = "x86_64", target_arch = "x86"), not(miri))))]
        (address as *mut u32).write_volatile(word);
    }
}

/// Stores a byte. On x86-64 the store is in assembler, because of ThreadSanitizer: see `store_word`.
unsafe fn store_byte(address: usize, byte: u8) {
    // SAFETY: `store` passes a byte that is writable.
    unsafe {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        core::arch::asm!("mov byte ptr [{}], {}", in(reg) address, in(reg_byte) byte, options(nostack, preserves_flags));
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        (address as *mut u8).write_volatile(byte);
    }
}

/// The contents of the site at `address`, which has `bytes` bytes.
///
/// # Safety
/// `bytes` is 1, 4, 5, 6 or 7 or, in builds with `jumplabel_short_engine`, 2. This number of bytes of text can be read at `address`; if `bytes` is 1,
/// four bytes can be read there.
#[inline]
pub(crate) unsafe fn read_code(kind: u8, address: usize, bytes: usize) -> Code {
    #[cfg(jumplabel_short_engine)]
    if bytes == 2 {
        // SAFETY: the caller says that two bytes of text can be read there.
        let two = u16::from_le_bytes(unsafe { (address as *const [u8; 2]).read() });
        return Code::of_parts(kind, 2, u64::from(two));
    }
    // SAFETY: the caller says that at least four bytes of text can be read there. The lock keeps other threads of this program from writing there. If
    // a debugger writes at the same time, the read may return a part of the debugger's bytes, which then count as foreign bytes. (`read_volatile`
    // would use one load for each byte.)
    let four = u32::from_le_bytes(unsafe { (address as *const [u8; 4]).read() });
    let mut word = u64::from(if bytes == 1 { four & 0xff } else { four });
    for at in 4..bytes {
        // SAFETY: the caller says that `bytes` bytes of text can be read there.
        word |= u64::from(unsafe { ((address + at) as *const u8).read() }) << (at * 8);
    }
    Code::of_parts(kind, bytes, word)
}

/// [`read_code`] as a function of its own, for one site.
///
/// # Safety
/// The contract of [`read_code`].
#[inline(never)]
pub(crate) unsafe fn read_one(kind: u8, address: usize, bytes: usize) -> Code {
    // SAFETY: the caller says that these bytes of text can be read there.
    unsafe { read_code(kind, address, bytes) }
}
