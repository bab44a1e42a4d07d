//! Transactions from C: an array of the caller's, of any length.

use core::ffi::{c_int, c_uchar};

use jumplabel::RawKey;

use crate::result::{Key, Refusal, code, key};

/// `struct jumplabel_change`.
#[repr(C)]
pub struct Change {
    key: Key,
    /// A `bool` that C made.
    enable: c_uchar,
}

impl Change {
    /// # Safety
    /// As for [`key`].
    unsafe fn key(&self) -> Result<&RawKey, Refusal> {
        // SAFETY: by the contract.
        unsafe { key(self.key) }
    }
}

/// Carries the changes out. Looks at all keys before the first one is touched.
///
/// # Safety
/// `changes` is null, or leads to `count` of them, with keys as for [`key`], and nobody changes them meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_set_all(changes: *const Change, count: usize) -> c_int {
    let set_all = || {
        if count == 0 {
            return Ok(());
        }
        if changes.is_null() || !changes.is_aligned() || count > isize::MAX as usize / size_of::<Change>() {
            return Err(Refusal::NotAKey);
        }
        // SAFETY: by the contract.
        let changes = unsafe { core::slice::from_raw_parts(changes, count) };
        // SAFETY: by the contract.
        changes.iter().try_for_each(|change| unsafe { change.key() }.map(drop))?;
        // SAFETY: these are keys, as was found.
        jumplabel::set_all(changes.iter().map(|change| (unsafe { &*change.key }, change.enable != 0)))?;
        Ok(())
    };
    code(set_all())
}
