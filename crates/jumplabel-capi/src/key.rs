//! The functions with Linux's names that change a key.

use jumplabel::{Lock, Outcome, RawKey};

use crate::lock;
use crate::result::{Key, Refusal, key, mapped_key};
use crate::say::Heed;
use crate::warn::warn;

/// Warns of an error in `result`. Returns true if there is none.
fn report(function: &str, at: Key, result: Result<Outcome, Refusal>) -> bool {
    result.inspect(Heed::heed).map_err(|refusal| warn(function, at, refusal)).is_ok()
}

unsafe fn change(function: &str, at: Key, change: fn(&RawKey) -> Result<Outcome, jumplabel::Error>) -> bool {
    // SAFETY: the callers guarantee that `at` is a key that lives, or an address that `key` refuses.
    report(function, at, unsafe { key(at) }.and_then(|key| Ok(change(key)?)))
}

unsafe fn change_locked(
    function: &str,
    at: Key,
    change: fn(&'static RawKey, &mut Lock) -> Result<Outcome, jumplabel::Error>,
) -> bool {
    let result = lock::with(|lock| {
        let lock = lock.ok_or(Refusal::NotLocked)?;
        // SAFETY: the callers guarantee that `at` is a key that lives, or an address that `key` refuses.
        Ok(change(unsafe { key(at) }?, lock)?)
    });
    report(function, at, result)
}

macro_rules! linux {
    ($($name:ident, $locked:ident: $method:ident, $method_locked:ident $(-> $result:ty)?;)*) => {$(
        /// Does what Linux's function of this name does. Warns of an error.
        ///
        /// # Safety
        /// `at` meets the conditions of [`key`].
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(at: Key) $(-> $result)? {
            // SAFETY: the caller guarantees that `at` is a key that lives, or an address that `key` refuses.
            let _done = unsafe { change(stringify!($name), at, RawKey::$method) };
            $(let done: $result = _done; done)?
        }

        /// Does what Linux's function of this name does, for a caller that holds `jump_label_lock()`. Warns of an error.
        ///
        /// # Safety
        /// `at` meets the conditions of [`key`].
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $locked(at: Key) $(-> $result)? {
            // SAFETY: the caller guarantees that `at` is a key that lives, or an address that `key` refuses.
            let _done = unsafe { change_locked(stringify!($locked), at, RawKey::$method_locked) };
            $(let done: $result = _done; done)?
        }
    )*};
}

linux! {
    static_key_enable, static_key_enable_cpuslocked: enable, enable_locked;
    static_key_disable, static_key_disable_cpuslocked: disable, disable_locked;
    static_key_slow_inc, static_key_slow_inc_cpuslocked: inc, inc_locked -> bool;
    static_key_slow_dec, static_key_slow_dec_cpuslocked: dec, dec_locked;
}

/// Adds a user to a key that is on. Returns false if the key is off, sealed or has as many users as it can. Does not check whether the address is
/// mapped, because that would take too long.
///
/// # Safety
/// `at` is null, misaligned, or the address of a static key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn static_key_fast_inc_not_disabled(at: Key) -> bool {
    // SAFETY: the caller guarantees that `at` is null, misaligned, or the address of a static key.
    match unsafe { mapped_key(at) } {
        Ok(key) => key.fast_inc_not_disabled(),
        Err(refusal) => {
            warn("static_key_fast_inc_not_disabled", at, refusal);
            false
        }
    }
}

/// Seals the keys from `start` to `stop`: those of the section `__jump_ro_keys` of one object. Warns of errors.
///
/// # Safety
/// Both are null, or the bounds of an array of keys.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_seal_keys_(start: Key, stop: Key) {
    let count = (stop as usize).wrapping_sub(start as usize) / size_of::<RawKey>();
    for number in 0..count {
        let at = start.wrapping_add(number);
        // SAFETY: the caller guarantees that `start` and `stop` are the bounds of an array of keys, and `at` is an element of it.
        let sealed = unsafe { key(at) }.and_then(|key| Ok(key.seal()?));
        if let Err(refusal) = sealed {
            warn("jump_label_init_ro", at, refusal);
        }
    }
}
