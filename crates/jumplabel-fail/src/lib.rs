//! Fail points: places in a program where a test, or an operator, injects errors, panics, delays. The API and the grammar are those of the
//! crate [`fail`](https://docs.rs/fail); what differs is the cost. A point that nobody has configured is one nop, however many other points
//! are configured: its check is a [static key](jumplabel), which turns on with the configuration of its name.
//!
//! ```
//! use jumplabel_fail::{FailScenario, fail_point};
//!
//! fn save() -> Result<(), String> {
//!     fail_point!("before_save", |reason| Err(reason.unwrap_or_default()));
//!     Ok(())
//! }
//!
//! let scenario = FailScenario::setup(); // Takes what the variable FAILPOINTS says, too.
//! assert_eq!(save(), Ok(()));
//! jumplabel_fail::cfg("before_save", "2*return(disk full)->off")?;
//! assert_eq!(save(), Err("disk full".to_owned()));
//! scenario.teardown();
//! # Ok::<(), String>(())
//! ```
//!
//! Points are always compiled in: that is what a nop is for. The package `fail` of this repository, which re-exports this crate under the
//! old name, compiles them in with its feature `failpoints`, as before.
//!
//! *Names.* The key of a point is called `fail:` and the point's name: [`jumplabel::find_key`] finds it, and the tool lists it. If the name
//! is not a literal, but computed, the point asks one key that all such points share, and that is on while anything is configured.
//!
//! *What differs from `fail`.* In the form with a condition, the key is asked first: while the point is off, the condition is not evaluated.
//! A frequency that is negative or not a number is an error, where `fail` panics when the point is reached. A callback, or any other action,
//! can configure points, its own too.
//!
//! *From outside.* [`layer()`] is what an agent is given, so that an operator lists and configures points of a running program.
//!
//! *Objects that are loaded later.* A configuration turns on the points of all objects that are loaded. After `dlopen`, call [`sync`].
#![deny(missing_docs)]

mod action;
#[doc(hidden)]
pub mod c;
mod layer;
mod owner;
mod point;
mod registry;
mod scenario;

pub use layer::layer;
pub use registry::{cfg, cfg_callback, eval, list, remove, sync};
pub use scenario::{FailGuard, FailScenario};

/// Whether fail points are compiled in. They always are.
#[must_use]
pub const fn has_failpoints() -> bool {
    true
}

/// What the macro needs.
#[doc(hidden)]
pub mod __private {
    pub use crate::owner::{OWNER, Owner};
    pub use crate::registry::ANY;
    pub use jumplabel;
}

/// A fail point.
///
/// ```
/// # use jumplabel_fail::fail_point;
/// fn first() {
///     fail_point!("first"); // Can panic, sleep, print, ..., and cannot return.
/// }
/// fn second() -> u64 {
///     fail_point!("second", |text: Option<String>| text.map_or(2, |text| text.parse().unwrap())); // Can return.
///     0
/// }
/// fn third(number: u32) -> u64 {
///     fail_point!("third", number > 3, |_| 1); // Only if the condition holds.
///     0
/// }
/// ```
///
/// The function gets what stands in the parentheses of `return(...)`, and returns what the function around the point returns.
///
/// Costs one nop while the point is not configured, 8 bytes of data and some 100 of read-only records and texts. While it is configured:
/// two locks, and the actions. With a name that is no literal: one nop while no point is configured at all, and a look into the registry
/// while one is.
///
/// # Panics
/// If an action says so, and if `return` is configured for the form without a function.
#[macro_export]
macro_rules! fail_point {
    ($name:literal) => {
        $crate::__fail_point!($name, $crate::eval($name, |_| {
            ::core::panic!("Return is not supported for the fail point \"{}\"", $name);
        });)
    };
    ($name:expr) => {
        if $crate::__private::jumplabel::static_branch_unlikely!($crate::__private::ANY) {
            $crate::eval($name, |_| {
                ::core::panic!("Return is not supported for the fail point \"{}\"", $name);
            });
        }
    };
    ($name:literal, $e:expr) => {
        $crate::__fail_point!($name, if let ::core::option::Option::Some(result) = $crate::eval($name, $e) {
            return result;
        })
    };
    ($name:expr, $e:expr) => {
        if $crate::__private::jumplabel::static_branch_unlikely!($crate::__private::ANY) {
            if let ::core::option::Option::Some(result) = $crate::eval($name, $e) {
                return result;
            }
        }
    };
    ($name:literal, $cond:expr, $e:expr) => {
        $crate::__fail_point!($name, if $cond {
            if let ::core::option::Option::Some(result) = $crate::eval($name, $e) {
                return result;
            }
        })
    };
    ($name:expr, $cond:expr, $e:expr) => {
        if $crate::__private::jumplabel::static_branch_unlikely!($crate::__private::ANY) {
            if $cond {
                if let ::core::option::Option::Some(result) = $crate::eval($name, $e) {
                    return result;
                }
            }
        }
    };
}

/// The check of a point with a key of its own.
#[doc(hidden)]
#[macro_export]
macro_rules! __fail_point {
    ($name:literal, $($reached:tt)*) => {{
        $crate::__private::jumplabel::static_key! {
            #[key(name = ::core::concat!("fail:", $name))]
            static POINT: false, meta &$crate::__private::OWNER;
        }
        if $crate::__private::jumplabel::static_branch_unlikely!(POINT) {
            $($reached)*
        }
    }};
}
