//! The count of the lines that all threads have indexed: an operation that is in place where it is on, and nothing where it is off.

use std::sync::atomic::{AtomicU64, Ordering};

use jumplabel::ops;

ops! {
    /// Whether lines are counted.
    pub static TALLY: Tally = {
        /// They are.
        Counted,
        /// They are not.
        Off
    };

    /// Adds `number` to `count`.
    ///
    /// # Safety
    /// `count` is a count.
    unsafe fn add(count: *const AtomicU64, number: u64) {
        Counted => counted, x86_64 unsafe { "{{disp32}} lock add qword ptr [{count}], {number}" };
        Off => nothing;
    }
}

unsafe extern "C" fn counted(count: *const AtomicU64, number: u64) {
    // SAFETY: `lines`, the only caller of `add`, passes the static `LINES`.
    unsafe { &*count }.fetch_add(number, Ordering::Relaxed);
}

/// All lines so far.
pub static LINES: AtomicU64 = AtomicU64::new(0);

/// Counts `number` lines.
#[inline(never)]
pub fn lines(number: u64) {
    // SAFETY: the count.
    unsafe { add(&raw const LINES, number) };
}
