//! The part in Rust of the fail points of C and C++ (`JUMPLABEL_FAIL_POINT` of `<jumplabel/fail.h>`). The crate jumplabel-fail-capi exports these
//! functions to C.

use std::ffi::c_void;
use std::sync::atomic::Ordering;

use crate::action::Action;
pub use crate::owner::OwnerOfC;
use crate::point::How;
use crate::registry;
pub use crate::registry::Refused;
use crate::scenario;

/// Runs the configured actions of the point `name`, which a thread has reached. If the point must return, returns the argument of its `return`, if
/// any.
#[must_use]
pub fn reach(name: &str, panic: fn(&str) -> !, print: fn(&str)) -> Option<Option<String>> {
    registry::reach(name, How { panic, print })
}

/// Whether any point is configured. A point without a key calls this each time that a thread reaches it.
#[must_use]
pub fn is_any() -> bool {
    registry::HAS_NO_KEY.store(true, Ordering::Relaxed);
    registry::ANY.is_enabled()
}

/// Removes the configuration of all points, then configures points as the environment variable `FAILPOINTS` says.
///
/// # Errors
/// A message about a mistake in the variable, or about keys that cannot be turned on.
pub fn setup() -> Result<(), Refused> {
    scenario::start()
}

/// Configures the point `name`, as [`crate::cfg`] does.
///
/// # Errors
/// Those of [`crate::cfg`].
pub fn cfg(name: &str, actions: &str) -> Result<(), Refused> {
    let list = Action::parse_all(actions).map_err(Refused::Text)?;
    registry::configure_one(name.to_owned(), actions, list)
}

/// Makes the point `name` call `callback`, as [`crate::cfg_callback`] does.
///
/// # Errors
/// Those of [`crate::cfg_callback`].
pub fn cfg_callback(name: &str, callback: impl Fn() + Send + Sync + 'static) -> Result<(), Refused> {
    registry::configure_one(name.to_owned(), "callback", vec![Action::callback(callback)])
}

/// Removes the configuration of all points.
pub fn teardown() {
    registry::end();
}

/// [`crate::layer()`] as a pointer for C.
#[must_use]
pub fn layer() -> *const c_void {
    std::ptr::from_ref(crate::layer()).cast()
}
