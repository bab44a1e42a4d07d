//! A library with a key of its own, which is on the list of the instance in `shared`.

use jumplabel::{static_branch_unlikely, static_key};

static_key! { static LATE: false; }

/// Bits: the shared key, this library's own.
#[unsafe(no_mangle)]
extern "C" fn late_check() -> u32 {
    u32::from(static_branch_unlikely!(shared::SHARED)) | u32::from(static_branch_unlikely!(LATE)) << 1
}
