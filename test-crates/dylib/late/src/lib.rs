//! A library that is loaded when the keys that it checks were flipped already, and that has a key of its own.

use jumplabel::{RawKey, static_branch_likely, static_branch_unlikely, static_key};

static_key! { static OWN: true; }

/// Bits: the shared key, the element, the field, the library's own key. The shared key twice.
#[inline(never)]
#[unsafe(no_mangle)]
pub extern "C" fn late_check() -> u32 {
    let plain = static_branch_unlikely!(shared::PLAIN);
    assert_eq!(plain, static_branch_likely!(shared::PLAIN));
    let (element, field) = (static_branch_likely!(shared::ARRAY[3]), static_branch_unlikely!(shared::CONFIG.key));
    u32::from(plain) | u32::from(element) << 1 | u32::from(field) << 2 | u32::from(static_branch_likely!(OWN)) << 3
}

/// The library's key.
#[unsafe(no_mangle)]
pub extern "C" fn late_key() -> &'static RawKey {
    &OWN
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
