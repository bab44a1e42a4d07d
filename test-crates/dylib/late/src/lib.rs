//! A library that is loaded when the keys that it checks were flipped already, and that has a key of its own.

use jumplabel::{RawKey, naked_key, static_branch_likely, static_branch_unlikely, static_key};

static_key! { static OWN: true; }
naked_key! { static OWN_NAKED: true; }

/// Bits: the shared key, the element, the field, the library's own key, the shared naked key, its own. The shared key twice.
#[inline(never)]
#[unsafe(no_mangle)]
pub extern "C" fn late_check() -> u32 {
    let plain = static_branch_unlikely!(shared::PLAIN);
    assert_eq!(plain, static_branch_likely!(shared::PLAIN));
    let (element, field) = (static_branch_likely!(shared::ARRAY[3]), static_branch_unlikely!(shared::CONFIG.key));
    let naked = u32::from(shared::NAKED.get()) << 4 | u32::from(OWN_NAKED.get()) << 5;
    let sites = u32::from(plain) | u32::from(element) << 1 | u32::from(field) << 2;
    sites | u32::from(static_branch_likely!(OWN)) << 3 | naked
}

/// Two places. The hook of their list turns the second one on when the library is loaded.
#[inline(never)]
#[unsafe(no_mangle)]
pub extern "C" fn late_places() -> u32 {
    u32::from(shared::place!("late.first")) | u32::from(shared::place!("late.second")) << 1
}

/// The library's key.
#[unsafe(no_mangle)]
pub extern "C" fn late_key() -> &'static RawKey {
    &OWN
}

/// The library's naked key.
#[unsafe(no_mangle)]
pub extern "C" fn late_naked_key() -> &'static RawKey {
    &OWN_NAKED
}

/// What the constructor saw.
#[unsafe(no_mangle)]
pub static LATE_SAW: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(u32::MAX);

/// A constructor of the library's own: its sites must be up to date before it.
#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = {
    extern "C" fn construct() {
        LATE_SAW.store(late_check(), std::sync::atomic::Ordering::Relaxed);
    }
    construct
};
