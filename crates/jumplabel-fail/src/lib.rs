//! Fail points: places in a program where a test or an operator injects errors, panics and delays. The API and the grammar are those of the crate
//! [`fail`](https://docs.rs/fail); the cost differs. A point that nobody has configured is one nop, even if other points are configured: the point
//! checks a [static key](jumplabel), which turns on when the point's name is configured.
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
//! Points are always compiled in, because a nop costs so little. The package `fail` of this repository re-exports this crate under the
//! old name, and compiles points in only with its feature `failpoints`, as before.
//!
//! *Names.* The name of a point's key is `fail:` and the point's name: [`jumplabel::find_key`] finds the key, and the tool `jumplabel` lists it.
//! Points whose names are computed, and are not literals, share one key, which is on while any point is configured.
//!
//! *Differences from `fail`.* A point with a condition checks its key first: while the key is off, the condition is not evaluated. A frequency that
//! is negative or not a number is an error when the point is configured; `fail` panics when a thread reaches the point. A callback can configure
//! points, even its own.
//!
//! *From outside.* An agent that is given [`layer()`] lets an operator list and configure the points of a running program.
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

/// Returns true: fail points are always compiled in.
#[must_use]
pub const fn has_failpoints() -> bool {
    true
}

/// Items that the macro uses.
#[doc(hidden)]
pub mod __private {
    pub use crate::owner::{OWNER, Owner};
    pub use crate::registry::ANY;
    pub use jumplabel;
}

/// A fail point: runs the actions that are configured for its name.
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
/// The function that is the last argument gets the text in the parentheses of `return(...)`. The function around the point then returns the result of
/// that function.
///
/// While the point is not configured, it costs one nop, 8 bytes of data, and some 100 bytes of read-only records and texts. While it is configured,
/// each pass takes two locks and runs the actions. A point whose name is not a literal costs one nop while no point at all is configured; otherwise
/// each pass searches the registry.
///
/// # Panics
/// If an action is `panic`. If an action is `return`, and the point has no function.
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

/// The check of a point that has its own key.
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
