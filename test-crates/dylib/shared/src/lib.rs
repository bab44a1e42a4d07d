//! A dynamic library whose keys are checked in other objects too.

use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use jumplabel::{
    Error, RawKey, StaticKeyFalse, StaticKeyTrue, list, naked_key, static_branch_likely, static_branch_unlikely,
    static_call, static_key,
};

static_key! {
    pub static PLAIN: false;
    pub static ARRAY: [true; 4];
    static PRIVATE: false;
}

naked_key! {
    pub static NAKED: false;
    static NAKED_PRIVATE: true;
}

/// Joins its arguments, so that a wrong one is seen.
fn join(a: u64, b: u64, c: u64, d: u64, e: u64, f: u64) -> u64 {
    [a, b, c, d, e, f].iter().fold(0, |all, one| all * 10 + one)
}

static_call! { pub static CALLED: fn(u64, u64, u64, u64, u64, u64) -> u64 = join; }

/// The call from here.
pub fn called() -> u64 {
    CALLED(1, 2, 3, 4, 5, 6)
}

/// A key that lies deep in a static.
pub struct Config {
    pub before: [u64; 5],
    pub key: StaticKeyTrue,
}
pub static CONFIG: Config = Config { before: [0; 5], key: StaticKeyTrue::new() };

/// A key of the program, whose constructors have not run.
pub static PROGRAM_KEY: AtomicPtr<RawKey> = AtomicPtr::new(std::ptr::null_mut());
/// This library's constructor could not change it, and could change its own.
pub static IS_REFUSED: AtomicBool = AtomicBool::new(false);

extern "C" fn constructor() {
    // SAFETY: null, or the program's.
    let Some(key) = (unsafe { PROGRAM_KEY.load(Ordering::Relaxed).as_ref() }) else { return };
    let refused = [key.enable(), key.inc(), key.verify()].map(|result| result == Err(Error::TooEarly));
    let own = PLAIN.enable().is_ok() && check() && PLAIN.disable().is_ok() && !check();
    IS_REFUSED.store(refused == [true; 3] && !key.is_enabled() && own, Ordering::Relaxed);
}

#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = constructor;

/// What the macro of a layer makes: a place in the code, with a key.
pub struct Place {
    pub name: &'static str,
    pub key: StaticKeyFalse,
}

list! { pub static PLACES: [Place]; }

/// Whether a place is on.
#[macro_export]
macro_rules! place {
    ($name:literal) => {{
        static PLACE: $crate::Place = $crate::Place { name: $name, key: jumplabel::StaticKeyFalse::new() };
        jumplabel::list_element!($crate::PLACES, PLACE);
        jumplabel::static_branch_unlikely!(PLACE.key)
    }};
}

/// A place in the library itself.
#[inline(never)]
pub fn placed() -> bool {
    place!("shared")
}

/// Sites in the library itself.
#[inline(never)]
pub fn check() -> bool {
    let state = static_branch_unlikely!(PLAIN);
    assert_eq!(state, static_branch_likely!(PLAIN));
    state
}

/// A private key whose sites are where this is compiled: in the caller's object.
pub fn generic<T>() -> bool {
    std::hint::black_box(std::any::type_name::<T>());
    static_branch_unlikely!(PRIVATE)
}

/// Flips the private key.
pub fn flip_private(on: bool) {
    if on { PRIVATE.enable() } else { PRIVATE.disable() }.unwrap();
}

/// A check in the library itself.
#[inline(never)]
pub fn naked() -> bool {
    NAKED.get()
}

/// A private naked key that is checked where this is compiled: in the caller's object.
pub fn naked_generic<T>() -> bool {
    std::hint::black_box(std::any::type_name::<T>());
    NAKED_PRIVATE.get()
}

/// Flips the private naked key.
pub fn flip_naked(on: bool) {
    if on { NAKED_PRIVATE.enable() } else { NAKED_PRIVATE.disable() }.unwrap();
}
