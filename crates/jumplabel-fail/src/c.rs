//! Points of C and C++: `JUMPLABEL_FAIL_POINT` of `<jumplabel/fail.h>`. The functions are those of the crate jumplabel-fail-capi.

use std::ffi::c_void;
use std::sync::atomic::Ordering;

use crate::action::Action;
pub use crate::owner::OwnerOfC;
use crate::point::How;
use crate::registry;
pub use crate::registry::Refused;
use crate::scenario;

/// Does what is configured for a point. Returns the argument of a `return`.
#[must_use]
pub fn reach(name: &str, panic: fn(&str) -> !, print: fn(&str)) -> Option<Option<String>> {
    registry::reach(name, How { panic, print })
}

/// Whether anything is configured: a point without a key asks that.
#[must_use]
pub fn is_any() -> bool {
    registry::HAS_NO_KEY.store(true, Ordering::Relaxed);
    registry::ANY.is_enabled()
}

/// Takes out all points, then configures what the variable `FAILPOINTS` says.
///
/// # Errors
/// What is wrong with it.
pub fn setup() -> Result<(), Refused> {
    scenario::start()
}

/// [`crate::cfg`].
///
/// # Errors
/// As for that.
pub fn cfg(name: &str, actions: &str) -> Result<(), Refused> {
    let list = Action::parse_all(actions).map_err(Refused::Text)?;
    registry::configure_one(name.to_owned(), actions, list)
}

/// [`crate::cfg_callback`].
///
/// # Errors
/// As for that.
pub fn cfg_callback(name: &str, callback: impl Fn() + Send + Sync + 'static) -> Result<(), Refused> {
    registry::configure_one(name.to_owned(), "callback", vec![Action::callback(callback)])
}

/// Takes out all points.
pub fn teardown() {
    registry::end();
}

/// [`crate::layer()`], as C has it.
#[must_use]
pub fn layer() -> *const c_void {
    std::ptr::from_ref(crate::layer()).cast()
}
