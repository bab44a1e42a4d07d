//! A key, its check, and what the program asks of this instance of the library.

use std::ffi::c_void;
use std::sync::OnceLock;

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

/// What `DllMain` tells while the DLL is unloaded: for two flips, how many sites each has changed, and what the check said then.
type Told = extern "C" fn(i32, bool, i32, bool);
static TOLD: OnceLock<Told> = OnceLock::new();

/// Makes `DllMain` flip while the DLL is unloaded, and tell `told`.
#[unsafe(no_mangle)]
extern "C" fn dll_flips_at_the_end(told: Told) {
    TOLD.get_or_init(|| told);
}

#[unsafe(no_mangle)]
extern "system" fn DllMain(_: *mut c_void, reason: u32, _: *mut c_void) -> i32 {
    const DLL_PROCESS_DETACH: u32 = 0;
    if let (DLL_PROCESS_DETACH, Some(told)) = (reason, TOLD.get()) {
        let [(on, is_on), (off, is_still_on)] = [true, false].map(|on| (dll_set(on), dll_check()));
        told(on, is_on, off, is_still_on);
    }
    1
}
