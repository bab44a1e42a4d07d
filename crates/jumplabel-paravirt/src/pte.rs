//! The table of page-table entries. In a guest, an entry holds an address of the machine, which differs from the guest's own address for the same
//! memory. So the guest adds a distance when it makes an entry, and subtracts the distance when it reads an entry.

use std::sync::atomic::{AtomicU64, Ordering};

/// The difference between an address of the machine and the guest's address for it.
pub const DISTANCE: u64 = 0x4000_0000;

jumplabel::ops! {
    /// Which addresses entries hold.
    pub static PTE: Paging = {
        /// The program's own addresses.
        Native,
        /// The machine's addresses; the operations are closed arms.
        Moved,
        /// The machine's addresses; the operations are functions.
        Called
    };

    /// Returns the entry for the address `value`.
    pub fn make(inout value: u64) -> u64 {
        Native => nothing;
        Moved => moved_make, x86_64 unsafe { "lea {value}, [{value} + 0x40000000]" };
        Called => moved_make;
    }

    /// Returns the address for which the entry was made.
    ///
    /// # Safety
    /// `entry` points to an entry.
    pub unsafe fn read(entry: *const u64) -> u64 {
        Native => native_read, x86_64 unsafe { "{{disp32}} mov {ret}, qword ptr [{entry}]" };
        Moved => moved_read, x86_64 unsafe { "mov {ret}, qword ptr [{entry}]\nsub {ret}, 0x40000000" };
        Called => moved_read;
    }

    /// Stores at `entry` the value that `make` has returned.
    ///
    /// # Safety
    /// `entry` points to an entry.
    pub unsafe fn set(entry: *mut u64, value: u64) {
        Native => native_set, x86_64 unsafe { "{{disp32}} mov qword ptr [{entry}], {value}" };
        Moved => native_set, x86_64 unsafe { "mov qword ptr [{entry}], {value}" };
        Called => native_set;
    }
}

/// The entry at an address.
///
/// # Safety
/// `entry` points to an entry, which lives as long as the caller uses it.
unsafe fn entry<'a>(entry: *const u64) -> &'a AtomicU64 {
    // SAFETY: the caller guarantees that the pointer leads to an entry.
    unsafe { &*entry.cast() }
}

extern "C" fn moved_make(value: u64) -> u64 {
    value.wrapping_add(DISTANCE)
}

/// `read` of an entry that holds the program's own address.
///
/// # Safety
/// The pointer leads to an entry.
pub unsafe extern "C" fn native_read(from: *const u64) -> u64 {
    // SAFETY: the caller guarantees that the pointer leads to an entry.
    unsafe { entry(from) }.load(Ordering::Relaxed)
}

/// `read` of an entry that holds the machine's address.
///
/// # Safety
/// The pointer leads to an entry.
pub unsafe extern "C" fn moved_read(from: *const u64) -> u64 {
    // SAFETY: the caller guarantees that the pointer leads to an entry.
    unsafe { native_read(from) }.wrapping_sub(DISTANCE)
}

/// `set`, the same in all backends.
///
/// # Safety
/// The pointer leads to an entry.
pub unsafe extern "C" fn native_set(to: *mut u64, value: u64) {
    // SAFETY: the caller guarantees that the pointer leads to an entry.
    unsafe { entry(to) }.store(value, Ordering::Relaxed);
}
