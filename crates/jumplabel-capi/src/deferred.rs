//! Keys with a deferred dec in C's layout: `struct static_key_deferred`.

use core::ffi::c_int;

use jumplabel::DeferredKey;

use crate::result::{Refusal, code};
use crate::system::is_mapped;
use crate::warn::warn;

/// `struct static_key_deferred`. Its flags hold the default, so the parameter `false` of the type has no meaning.
pub type Deferred = DeferredKey<false>;

// include/jumplabel/jump_label_ratelimit.h declares the same size and alignment.
const _: () = assert!(size_of::<usize>() != 8 || size_of::<Deferred>() == 40 && align_of::<Deferred>() == 8);

/// The key at an address from C.
///
/// # Safety
/// `key` is null, misaligned, not mapped, or the address of a static `struct static_key_deferred`.
///
/// # Errors
/// [`Refusal::NotAKey`] if the address is null, misaligned or not mapped.
pub unsafe fn key(key: *const Deferred) -> Result<&'static Deferred, Refusal> {
    if key.is_aligned() && is_mapped(key) {
        // SAFETY: `key` is aligned and mapped, so the caller passes null or a static key.
        unsafe { key.as_ref() }.ok_or(Refusal::NotAKey)
    } else {
        Err(Refusal::NotAKey)
    }
}

/// Removes one user. The last user leaves when the interval has passed.
///
/// # Safety
/// `at` meets the conditions of [`key`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __static_key_slow_dec_deferred(at: *const Deferred) {
    // SAFETY: the caller passes a static key, or an address that `key` refuses.
    if let Err(refusal) = unsafe { key(at) }.and_then(|key| Ok(key.dec_deferred()?)) {
        warn("static_key_slow_dec_deferred", at.cast(), refusal);
    }
}

/// Carries out a deferred dec at once, if one is due.
///
/// # Safety
/// `at` meets the conditions of [`key`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __static_key_deferred_flush(at: *const Deferred) {
    // SAFETY: the caller passes a static key, or an address that `key` refuses.
    if let Err(refusal) = unsafe { key(at) }.and_then(|key| Ok(key.flush()?)) {
        warn("static_key_deferred_flush", at.cast(), refusal);
    }
}

/// Removes one user. The last user leaves when the interval has passed. Returns 0 or an error.
///
/// # Safety
/// `at` meets the conditions of [`key`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_dec_deferred(at: *const Deferred) -> c_int {
    // SAFETY: the caller passes a static key, or an address that `key` refuses.
    code(unsafe { key(at) }.and_then(|key| Ok(key.dec_deferred()?)))
}
