//! A plugin with its own instance of the library: what a C-like host can ask of it.
//!
//! `plugin_own_lock` and `plugin_pin` break on purpose what the host checks, so that the host's checks are seen to fail.

mod spy;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use jumplabel::{
    Batch, Error, RawKey, for_each_site, static_branch_likely, static_branch_unlikely, static_call, static_key,
};

static_key! {
    static PLUGIN: false;
    static SPIED: true;
    static SLOW: false, deferred Duration::from_millis(50);
}

macro_rules! sites {
    ($($number:literal)*) => {{
        let state = static_branch_unlikely!(PLUGIN);
        [$({ let _ = $number; static_branch_likely!(PLUGIN) == state }),*].into_iter().all(|same| same).then_some(state)
    }};
}

/// 0 or 1, 2 where the sites of the key disagree.
#[unsafe(no_mangle)]
pub extern "C" fn plugin_check() -> u32 {
    sites!(1 2 3 4 5 6 7 8 9 10).map_or(2, u32::from)
}

/// Error numbers of this interface.
fn code(result: Result<impl Sized, Error>) -> i32 {
    match result {
        Ok(_) => 0,
        Err(Error::Reentrant) => 1,
        Err(_) => 2,
    }
}

/// Adds a probe, and removes it.
#[unsafe(no_mangle)]
pub extern "C" fn plugin_probe() -> i32 {
    jumplabel::tracepoint! { plugin, point(number: u32); }
    let added = point.add(|_| ());
    jumplabel::emit!(point, 1);
    code(added.and_then(jumplabel::Probe::remove))
}

/// Flips the plugin's key.
#[unsafe(no_mangle)]
pub extern "C" fn plugin_flip(on: bool) -> i32 {
    code(if on { PLUGIN.enable() } else { PLUGIN.disable() })
}

static HEARD: AtomicU32 = AtomicU32::new(0);

/// Has a function hear of flips.
#[unsafe(no_mangle)]
pub extern "C" fn plugin_hear() -> i32 {
    code(jumplabel::on_change(&|_: &jumplabel::Changed<'_>, _| _ = HEARD.fetch_add(1, Ordering::Relaxed)))
}

/// Of how many flips it has heard since the last call.
#[unsafe(no_mangle)]
pub extern "C" fn plugin_heard() -> u32 {
    HEARD.swap(0, Ordering::Relaxed)
}

/// Address of the first site, and how many there are.
#[unsafe(no_mangle)]
pub extern "C" fn plugin_sites(first: &mut usize) -> usize {
    *first = 0;
    for_each_site(&PLUGIN, |site| {
        if *first == 0 {
            *first = site.address;
        }
    })
    .unwrap_or(0)
}

/// Calls `inside` while this instance's lock is held; its result, or -1.
#[unsafe(no_mangle)]
pub extern "C" fn plugin_locked(inside: extern "C" fn() -> i32) -> i32 {
    let result = spy::locked(&SPIED, inside);
    assert!(static_branch_likely!(SPIED) || result == 0);
    result
}

/// Leaves a flip to the plugin's worker thread.
#[unsafe(no_mangle)]
pub extern "C" fn plugin_flip_later() -> i32 {
    code(SLOW.enable()) + code(SLOW.dec_deferred())
}

/// Flips a key of the host's.
#[unsafe(no_mangle)]
pub extern "C" fn plugin_flip_key(key: &RawKey, on: bool) -> i32 {
    code(if on { key.enable() } else { key.disable() })
}

/// Broken on purpose: from now on this instance has a lock of its own.
#[unsafe(no_mangle)]
pub extern "C" fn plugin_own_lock() {
    spy::use_own_lock();
}

/// Broken on purpose: a thread-local with a destructor, on the host's thread, keeps the plugin loaded.
#[unsafe(no_mangle)]
pub extern "C" fn plugin_pin() {
    struct Pin;
    impl Drop for Pin {
        fn drop(&mut self) {}
    }
    thread_local! { static PIN: Pin = const { Pin }; }
    PIN.with(|_| ());
}

static_call! {
    static HOOK: extern "C" fn() -> u32 = nobody;
    static SEALED: extern "C" fn() -> u32 = nobody;
    static LAST: extern "C" fn() -> u32 = nobody;
}

extern "C" fn nobody() -> u32 {
    0
}

/// What another plugin's call may lead to.
#[unsafe(no_mangle)]
pub extern "C" fn plugin_target() -> u32 {
    1
}

/// Calls what the plugin's static calls lead to.
#[unsafe(no_mangle)]
pub extern "C" fn plugin_call() -> u32 {
    HOOK() + SEALED() + LAST()
}

/// Leads all of the plugin's static calls somewhere, and seals one.
#[unsafe(no_mangle)]
pub extern "C" fn plugin_lead_sealed(target: extern "C" fn() -> u32) -> i32 {
    code(Batch::new().set(&HOOK, target).set(&SEALED, target).set(&LAST, target).commit()) + code(SEALED.seal())
}

/// Leads one of the plugin's static calls somewhere.
#[unsafe(no_mangle)]
pub extern "C" fn plugin_lead(target: extern "C" fn() -> u32) -> i32 {
    code(HOOK.update(target))
}
