//! Page-table entries. A guest's addresses are not the machine's: what it puts into an entry is moved by a distance, and back when it
//! reads one.

use std::sync::atomic::{AtomicU64, Ordering};

/// How far the guest's memory lies from the machine's.
pub const DISTANCE: u64 = 0x4000_0000;

jumplabel::ops! {
    /// How entries are made.
    pub static PTE: Paging = {
        /// As they are.
        Native,
        /// Moved, as closed arms.
        Moved,
        /// The same, as functions.
        Called
    };

    /// The entry for an address.
    pub fn make(inout value: u64) -> u64 {
        Native => nothing;
        Moved => moved_make, x86_64 unsafe { "lea {value}, [{value} + 0x40000000]" };
        Called => moved_make;
    }

    /// The address in an entry.
    ///
    /// # Safety
    /// `entry` is one.
    pub unsafe fn read(entry: *const u64) -> u64 {
        Native => native_read, x86_64 unsafe { "{{disp32}} mov {ret}, qword ptr [{entry}]" };
        Moved => moved_read, x86_64 unsafe { "mov {ret}, qword ptr [{entry}]\nsub {ret}, 0x40000000" };
        Called => moved_read;
    }

    /// Writes an entry, which `make` has made.
    ///
    /// # Safety
    /// `entry` is one.
    pub unsafe fn set(entry: *mut u64, value: u64) {
        Native => native_set, x86_64 unsafe { "{{disp32}} mov qword ptr [{entry}], {value}" };
        Moved => native_set, x86_64 unsafe { "mov qword ptr [{entry}], {value}" };
        Called => native_set;
    }
}

/// # Safety
/// An entry, for as long as the caller looks at it.
unsafe fn entry<'a>(entry: *const u64) -> &'a AtomicU64 {
    // SAFETY: the caller passes an entry.
    unsafe { &*entry.cast() }
}

extern "C" fn moved_make(value: u64) -> u64 {
    value.wrapping_add(DISTANCE)
}

/// `read` of an entry as it is.
///
/// # Safety
/// An entry.
pub unsafe extern "C" fn native_read(from: *const u64) -> u64 {
    // SAFETY: the caller passes an entry.
    unsafe { entry(from) }.load(Ordering::Relaxed)
}

/// `read` of one that was moved.
///
/// # Safety
/// An entry.
pub unsafe extern "C" fn moved_read(from: *const u64) -> u64 {
    // SAFETY: the caller passes an entry.
    unsafe { native_read(from) }.wrapping_sub(DISTANCE)
}

/// `set` of an entry.
///
/// # Safety
/// An entry.
pub unsafe extern "C" fn native_set(to: *mut u64, value: u64) {
    // SAFETY: the caller passes an entry.
    unsafe { entry(to) }.store(value, Ordering::Relaxed);
}
