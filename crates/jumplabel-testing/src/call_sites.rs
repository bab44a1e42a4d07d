//! Makes tables of call sites at run time, in the form in which `jumplabel link` writes them into a file. For x86-64.

use std::ffi::c_void;

use jumplabel::call::RawCall;
use jumplabel::format::Object;
use jumplabel_format::layout::{CALL_SITE, KIND_SHIFT, VERSION};
use libc::{MAP_ANONYMOUS, MAP_FAILED, MAP_FIXED_NOREPLACE, MAP_PRIVATE, PROT_EXEC, PROT_READ, PROT_WRITE};

unsafe extern "C" {
    fn __jumplabel_register_object(object: *mut c_void);
}

/// Maps `bytes` bytes of memory within reach of a displacement at `address`.
fn near(address: usize, bytes: usize) -> *mut u8 {
    let places = (1..1024).map(|number| (address & !0xfff) - (number << 20));
    let map = |place: usize| {
        let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
        // SAFETY: a new mapping touches no memory that is in use.
        unsafe { libc::mmap(place as *mut _, bytes, PROT_READ | PROT_WRITE, flags, -1, 0) }
    };
    places.map(map).find(|&page| page != MAP_FAILED).expect("no room in reach").cast()
}

/// Maps executable memory within reach of `address`, and lets `write` fill the memory with code. Returns the memory's address.
pub fn code(address: usize, bytes: usize, write: impl FnOnce(&mut [u8])) -> usize {
    let page = near(address, bytes);
    // SAFETY: the code is in the new mapping, which nobody else uses.
    unsafe {
        write(std::slice::from_raw_parts_mut(page, bytes));
        assert_eq!(libc::mprotect(page.cast(), bytes, PROT_READ | PROT_EXEC), 0);
    }
    page as usize
}

/// Returns the addresses of all four-byte displacements that lead to `target`, in the `bytes` bytes of code at `code`.
///
/// # Safety
/// The `bytes` bytes at `code`, and four bytes after them, can be read.
pub unsafe fn find(code: *const (), bytes: usize, target: *const ()) -> Vec<usize> {
    let code = code as usize;
    (code..code + bytes).filter(|&at| displacement(at) == target as usize).collect()
}

/// The address to which the displacement at `address` leads.
#[must_use]
pub fn displacement(address: usize) -> usize {
    // SAFETY: the four bytes at `address` can be read, because the caller passes the address of a displacement in code.
    let distance = unsafe { (address as *const i32).read_unaligned() };
    (address + 4).wrapping_add_signed(distance as isize)
}

/// Registers a table that lists `sites`: the addresses of displacements in instructions that call the trampoline of `call`.
///
/// # Safety
/// Each of `sites` is the address of the displacement of such an instruction.
pub unsafe fn list(call: &'static RawCall, trampoline: *const (), sites: &[usize]) {
    const RECORD: usize = size_of::<Object>();
    const ENTRY: usize = 16;
    let end = RECORD + sites.len() * ENTRY;
    let memory = near(trampoline as usize, end);
    // SAFETY: the word lies in the memory that was mapped above; docs/table-format.md has the layout.
    let word = |at: usize, word: i32| unsafe { memory.add(at).cast::<i32>().write(word) };
    let relative =
        |at: usize, to: usize| word(at, i32::try_from(to as isize - (memory as usize + at) as isize).unwrap());
    let of_record = |at: usize| memory as usize + at;
    // The bounds of the tables of the record: one table follows the record, and all others are empty.
    for at in (56..RECORD - 8).step_by(4) {
        relative(at, of_record(if at == 56 { RECORD } else { end }));
    }
    word(RECORD - 4, VERSION as i32);
    for (number, &site) in sites.iter().enumerate() {
        let at = RECORD + number * ENTRY;
        relative(at, site);
        relative(at + 4, trampoline as usize);
        relative(at + 8, call.address());
        word(at + 12, i32::from(CALL_SITE) << KIND_SHIFT);
    }
    // SAFETY: the memory holds a record, and stays mapped.
    unsafe { __jumplabel_register_object(memory.cast()) };
}
