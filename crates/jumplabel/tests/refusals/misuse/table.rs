//! The table of the program that this is part of, as words that a test can write.

use std::ffi::c_void;

use jumplabel::platform::builtin;

unsafe extern "C" {
    #[link_name = "__start___jump_table"]
    static TABLE: [i32; 4];
    #[link_name = "__stop___jump_table"]
    static TABLE_END: [i32; 4];
}

/// Makes this program's table writable, which is what no program does. Its words, four for each entry.
pub fn words() -> &'static mut [i32] {
    let (start, end) = (&raw const TABLE as usize, &raw const TABLE_END as usize);
    let page = start & !(builtin().page_size() - 1);
    // SAFETY: the pages of the table and what lies beside it, private to this process.
    unsafe {
        assert_eq!(libc::mprotect(page as *mut c_void, end - page, libc::PROT_READ | libc::PROT_WRITE), 0);
        std::slice::from_raw_parts_mut(start as *mut i32, (end - start) / 4)
    }
}

/// Makes each word with this number, in each entry for which `is` returns true, lead out of the object. `is` gets the meta word.
#[allow(dead_code)] // Not all that have this file damage all entries of a sort.
pub fn damage(word: usize, is: fn(u32) -> bool) {
    let entries = words().chunks_exact_mut(4).filter(|entry| is(entry[3] as u32));
    assert!(entries.map(|entry| entry[word] = 0x7000_0000).count() > 0, "no such entry");
}
