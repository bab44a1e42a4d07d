//! The count of the lines that all threads have indexed. An operation adds to the count: an instruction in place while the count is on, and a nop
//! while it is off.

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
    /// `count` is the address of a counter that is never freed.
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

/// Adds `number` to [`LINES`], if the backend of [`TALLY`] is `Counted`.
#[inline(never)]
pub fn lines(number: u64) {
    // SAFETY: `LINES` is a static, so it is never freed.
    unsafe { add(&raw const LINES, number) };
}
