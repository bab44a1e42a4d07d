//! [`jumplabel_fail`] under the name of the crate `fail`, and with its feature `failpoints`, so that `[patch.crates-io]` can put it in the
//! place of that crate, for a program and all its dependencies.

#[cfg(feature = "failpoints")]
pub use jumplabel_fail::fail_point;
pub use jumplabel_fail::{FailGuard, FailScenario, cfg, cfg_callback, list, remove, sync};

/// Whether fail points are compiled in: the feature `failpoints`.
#[must_use]
pub const fn has_failpoints() -> bool {
    cfg!(feature = "failpoints")
}

/// A fail point. Nothing, without the feature `failpoints`.
#[cfg(not(feature = "failpoints"))]
#[macro_export]
macro_rules! fail_point {
    ($name:expr) => {{}};
    ($name:expr, $e:expr) => {{}};
    ($name:expr, $cond:expr, $e:expr) => {{}};
}
