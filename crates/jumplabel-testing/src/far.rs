//! Functions that a direct jump cannot reach, on instruction sets with 64-bit addresses.

/// Maps `code` far away from `near`, and returns a function pointer of type `F` to it. Functions with different numbers are on different pages.
///
/// # Safety
/// `code` is the code of a function of that type, and does not depend on its address.
pub unsafe fn function<F: Copy>(near: *const (), code: &[u8], number: u8) -> F {
    const { assert!(size_of::<F>() == size_of::<usize>()) };
    // Each place is more than 4 GiB away, which no jump reaches. There are several, because not all are free in all emulators and kernels.
    let near = near as usize & !0xfff;
    let places = [near.checked_sub(1 << 40), near.checked_add(1 << 36), near.checked_sub(1 << 34)];
    // On Windows, the system gives memory in pieces of 64 KiB.
    let distance = if cfg!(windows) { 1 << 16 } else { 1 << 12 };
    let map = |place: usize| map(place + usize::from(number) * distance, code);
    let page = places.into_iter().flatten().find_map(map).expect("no room far away");
    // SAFETY: the caller guarantees that `code` is the code of a function of this type.
    unsafe { std::mem::transmute_copy(&page) }
}

/// A page at `place` that holds `code`, if there is room.
#[cfg(unix)]
fn map(place: usize, code: &[u8]) -> Option<*mut u8> {
    use libc::{MAP_ANONYMOUS, MAP_FAILED, MAP_FIXED_NOREPLACE, MAP_PRIVATE, PROT_EXEC, PROT_READ, PROT_WRITE};

    let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    // SAFETY: a new mapping touches no memory that is in use.
    let page = unsafe { libc::mmap(place as *mut _, 4096, PROT_READ | PROT_WRITE, flags, -1, 0) };
    if page == MAP_FAILED {
        return None;
    }
    // SAFETY: the page is the new mapping, which nobody else uses.
    unsafe {
        std::ptr::copy_nonoverlapping(code.as_ptr(), page.cast(), code.len());
        assert_eq!(libc::mprotect(page, 4096, PROT_READ | PROT_EXEC), 0);
    }
    Some(page.cast())
}

/// Pages at `place` that hold `code`, if there is room.
#[cfg(windows)]
fn map(place: usize, code: &[u8]) -> Option<*mut u8> {
    use std::ffi::c_void;

    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn VirtualAlloc(address: *mut c_void, bytes: usize, kind: u32, protection: u32) -> *mut c_void;
        fn VirtualProtect(address: *mut c_void, bytes: usize, protection: u32, old: *mut u32) -> i32;
    }
    const COMMIT_AND_RESERVE: u32 = 0x3000;
    const READWRITE: u32 = 0x04;
    const EXECUTE_READ: u32 = 0x20;
    // SAFETY: new memory touches none that is in use.
    let page = unsafe { VirtualAlloc(place as *mut c_void, 4096, COMMIT_AND_RESERVE, READWRITE) };
    if page.is_null() {
        return None;
    }
    let mut old = 0;
    // SAFETY: the page is the new memory, which nobody else uses.
    unsafe {
        std::ptr::copy_nonoverlapping(code.as_ptr(), page.cast(), code.len());
        assert_ne!(VirtualProtect(page, 4096, EXECUTE_READ, &raw mut old), 0);
    }
    Some(page.cast())
}

/// The code of an `extern "C" fn(u64) -> u64` that adds `number` to its argument.
#[must_use]
pub fn adds(number: u8) -> Vec<u8> {
    let words = |words: [u32; 2]| words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let immediate = u32::from(number);
    match std::env::consts::ARCH {
        "x86_64" if cfg!(windows) => vec![0x48, 0x8d, 0x41, number, 0xc3], // lea rax, [rcx + number]; ret
        "x86_64" => vec![0x48, 0x8d, 0x47, number, 0xc3],                  // lea rax, [rdi + number]; ret
        "aarch64" => words([0x9100_0000 | immediate << 10, 0xd65f_03c0]),  // add x0, x0, number; ret
        "riscv64" => words([0x0005_0513 | immediate << 20, 0x0000_8067]),  // addi a0, a0, number; ret
        "loongarch64" => words([0x02c0_0084 | immediate << 10, 0x4c00_0020]), // addi.d a0, a0, number; ret
        "s390x" => vec![0xa7, 0x2b, 0, number, 0x07, 0xfe],                // aghi r2, number; br r14
        other => panic!("no such code for {other}"),
    }
}
