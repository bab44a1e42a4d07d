//! The count of the lines that all threads have indexed. The count is an operation: while it is on, an instruction in place; while it is off,
//! nothing.

use std::sync::atomic::{AtomicU64, Ordering};

use jumplabel::ops;

ops! {
    /// The table with the operation `add`. Its backend decides whether lines are counted.
    pub static TALLY: Tally = {
        /// Lines are counted.
        Counted,
        /// Lines are not counted.
        Off
    };

    /// Adds `number` to `count`.
    ///
    /// # Safety
    /// `count` is the address of a counter that stays.
    unsafe fn add(count: *const AtomicU64, number: u64) {
        Counted => counted, x86_64 unsafe { "{{disp32}} lock add qword ptr [{count}], {number}" };
        Off => nothing;
    }
}

unsafe extern "C" fn counted(count: *const AtomicU64, number: u64) {
    // SAFETY: `lines`, the only caller of `add`, passes the static `LINES`.
    unsafe { &*count }.fetch_add(number, Ordering::Relaxed);
}

/// The number of lines so far.
pub static LINES: AtomicU64 = AtomicU64::new(0);

/// Counts `number` lines, if lines are counted.
#[inline(never)]
pub fn lines(number: u64) {
    // SAFETY: `LINES` is a static counter.
    unsafe { add(&raw const LINES, number) };
}
