//! Keys with a deferred dec in C's layout: `struct static_key_deferred`.

use core::ffi::c_int;

use jumplabel::DeferredKey;

use crate::result::{Refusal, code};
use crate::system::is_mapped;
use crate::warn::warn;

/// C's `struct static_key_deferred`: a key with a deferred dec. The key's flags hold its default, so the type's parameter `false` has no meaning
/// here.
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
        // SAFETY: `key` is aligned and mapped. So the caller guarantees that it is null or the address of a static key.
        unsafe { key.as_ref() }.ok_or(Refusal::NotAKey)
    } else {
        Err(Refusal::NotAKey)
    }
}

/// Removes one user; if it is the last one, only after the key's interval. Warns of an error.
///
/// # Safety
/// `at` meets the conditions of [`key`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __static_key_slow_dec_deferred(at: *const Deferred) {
    // SAFETY: the caller guarantees that `at` is a static key, or an address that `key` refuses.
    if let Err(refusal) = unsafe { key(at) }.and_then(|key| Ok(key.dec_deferred()?)) {
        warn("static_key_slow_dec_deferred", at.cast(), refusal);
    }
}

/// Carries out the deferred dec that waits for the key's interval, if there is one, at once. Warns of an error.
///
/// # Safety
/// `at` meets the conditions of [`key`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __static_key_deferred_flush(at: *const Deferred) {
    // SAFETY: the caller guarantees that `at` is a static key, or an address that `key` refuses.
    if let Err(refusal) = unsafe { key(at) }.and_then(|key| Ok(key.flush()?)) {
        warn("static_key_deferred_flush", at.cast(), refusal);
    }
}

/// Removes one user; if it is the last one, only after the key's interval. Returns 0 or an error.
///
/// # Safety
/// `at` meets the conditions of [`key`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_dec_deferred(at: *const Deferred) -> c_int {
    // SAFETY: the caller guarantees that `at` is a static key, or an address that `key` refuses.
    code(unsafe { key(at) }.and_then(|key| Ok(key.dec_deferred()?)))
}
