//! [`jumplabel_fail`] under the name of the crate `fail`, with its feature `failpoints`. So `[patch.crates-io]` can replace that crate by this
//! one, for a program and all its dependencies.

#[doc(hidden)]
pub use jumplabel_fail::eval;
#[cfg(feature = "failpoints")]
pub use jumplabel_fail::fail_point;
pub use jumplabel_fail::{FailGuard, FailScenario, cfg, cfg_callback, list, remove, sync};

/// True if fail points are compiled in: the feature `failpoints`.
#[must_use]
pub const fn has_failpoints() -> bool {
    cfg!(feature = "failpoints")
}

/// A fail point. Without the feature `failpoints` it expands to nothing.
#[cfg(not(feature = "failpoints"))]
#[macro_export]
macro_rules! fail_point {
    ($name:expr) => {{}};
    ($name:expr, $e:expr) => {{}};
    ($name:expr, $cond:expr, $e:expr) => {{}};
}
