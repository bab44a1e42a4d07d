//! Transactions from C: the batch lives on the caller's stack.

use core::ffi::{c_int, c_uint, c_ulong};

use jumplabel::{Batch, Error};

use crate::result::{Key, Refusal, code, key};

const CAPACITY: usize = 32;

/// `struct jumplabel_batch`.
#[repr(C)]
pub struct CBatch {
    count: c_uint,
    reserved: c_uint,
    changes: [Change; CAPACITY],
}

#[repr(C)]
struct Change {
    key: Key,
    enable: c_ulong,
}

/// Carries the changes out.
///
/// # Safety
/// `batch` is null, or was made by `jumplabel_batch_init`, with keys as for [`key`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_batch_commit(batch: *const CBatch) -> c_int {
    // SAFETY: by the contract.
    let Some(batch) = (unsafe { batch.as_ref() }) else { return Refusal::NotAKey.code() };
    let commit = || {
        let Some(changes) = batch.changes.get(..batch.count as usize) else {
            return Err(Error::BatchFull { capacity: CAPACITY }.into());
        };
        let mut all = Batch::<CAPACITY>::with_capacity();
        for change in changes {
            // SAFETY: by the contract.
            all = all.set(unsafe { key(change.key) }?, change.enable != 0);
        }
        Ok(all.commit()?)
    };
    code(commit())
}
