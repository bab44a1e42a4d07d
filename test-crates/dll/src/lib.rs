//! A key, its check, and what the program asks of this instance of the library.

use jumplabel::{Lock, static_branch_unlikely, static_key};

static_key! { static PLUGGED: false; }

#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn dll_check() -> bool {
    static_branch_unlikely!(PLUGGED)
}

/// How many sites were changed; -1 if the flip was refused.
#[unsafe(no_mangle)]
extern "C" fn dll_set(on: bool) -> i32 {
    let outcome = if on { PLUGGED.enable() } else { PLUGGED.disable() };
    outcome.map_or(-1, |outcome| outcome.sites as i32)
}

/// Calls `body` while this instance holds the lock. False if it cannot be had.
#[unsafe(no_mangle)]
extern "C" fn dll_locked(body: extern "C" fn()) -> bool {
    let Ok(_lock) = Lock::take() else { return false };
    body();
    true
}
