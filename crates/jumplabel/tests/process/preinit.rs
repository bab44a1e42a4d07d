//! Flips before any constructor of the program has run.

use std::ffi::CStr;
use std::sync::atomic::{AtomicI32, Ordering};

use jumplabel::Error;

use crate::scenario::passes;

crate::pages::pages! { sites: 2 keys, 8 sites, every 1 pages, at 0 }

/// 0 not run, 1 refused as it should be, 2 not so.
static TOO_EARLY: AtomicI32 = AtomicI32::new(0);

/// Tries a flip, if the environment asks for this scenario. The C library has no environment yet, and passes it here.
extern "C" fn before_constructors(_: i32, _: *const *const i8, mut environment: *const *const i8) {
    let mut asked = false;
    // SAFETY: strings, and then NULL.
    unsafe {
        while !environment.is_null() && !(*environment).is_null() {
            asked |= CStr::from_ptr((*environment).cast()) == c"JUMPLABEL_SCENARIO=preinit::preinit_array";
            environment = environment.add(1);
        }
    }
    if asked {
        let refused =
            [sites().set(true).map(drop), jumplabel::prepare().map(drop)].map(|result| result == Err(Error::TooEarly));
        TOO_EARLY.store(if refused == [true; 2] && !sites().all(true) { 1 } else { 2 }, Ordering::SeqCst);
    }
}

#[used]
#[unsafe(link_section = ".preinit_array")]
static BEFORE_CONSTRUCTORS: extern "C" fn(i32, *const *const i8, *const *const i8) = before_constructors;

/// Before all constructors, sites are not known: a flip says so, and changes nothing. musl runs no such functions.
#[test]
fn preinit_array() {
    passes(|| {
        assert_eq!(TOO_EARLY.load(Ordering::SeqCst), 1);
        assert!(sites().agree() && sites().all(false));
        for on in [true, false, true] {
            sites().set(on).unwrap();
            assert!(sites().agree() && sites().all(on));
        }
    });
}
