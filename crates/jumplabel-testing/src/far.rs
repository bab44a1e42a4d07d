//! Functions out of reach of a direct jump, on x86-64.

use libc::{MAP_ANONYMOUS, MAP_FAILED, MAP_FIXED_NOREPLACE, MAP_PRIVATE, PROT_EXEC, PROT_READ, PROT_WRITE};

/// Maps `code` 1 TiB before the page of `near`, and `number` pages on: a function of the type `F` of function pointers.
///
/// # Safety
/// `code` is that of a function of that type. It does not depend on where it is.
pub unsafe fn function<F: Copy>(near: *const (), code: &[u8], number: u8) -> F {
    const { assert!(size_of::<F>() == size_of::<usize>()) };
    let address = (near as usize & !0xfff) - (1 << 40) + (usize::from(number) << 12);
    // SAFETY: a new mapping; by the contract, the code of such a function.
    unsafe {
        let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
        let page = libc::mmap(address as *mut _, 4096, PROT_READ | PROT_WRITE, flags, -1, 0);
        assert_ne!(page, MAP_FAILED);
        std::ptr::copy_nonoverlapping(code.as_ptr(), page.cast(), code.len());
        assert_eq!(libc::mprotect(page, 4096, PROT_READ | PROT_EXEC), 0);
        std::mem::transmute_copy(&page)
    }
}
