//! Access to the keys in the patched log. This crate also compiles with upstream's log, which has no keys.

use crate::{Callsite, Error};

/// Empty stand-ins for the items that upstream's log lacks. [`with_keys`] imports this module in an outer block, and all of `log` in an inner one. If
/// `log` is patched, its `keys` hides the stand-in.
#[allow(dead_code, reason = "with the patched log, nobody uses it")]
mod upstream {
    pub mod keys {
        use std::panic::Location;

        pub enum Keyed {}

        impl Keyed {
            pub fn level(&self) -> log::Level {
                match *self {}
            }

            pub fn target(&self) -> Option<&'static str> {
                match *self {}
            }

            pub fn place(&self) -> &'static Location<'static> {
                match *self {}
            }

            pub fn is_on(&self) -> bool {
                match *self {}
            }

            pub fn is_refused(&self) -> bool {
                match *self {}
            }
        }

        pub const HAS_KEYS: bool = false;

        pub fn for_each(_: impl FnMut(&'static Keyed)) -> Result<(), jumplabel::Error> {
            Ok(())
        }

        pub fn last_error() -> Option<jumplabel::Error> {
            None
        }

        pub fn ask_logger() -> Result<jumplabel::Outcome, jumplabel::Error> {
            Ok(jumplabel::Outcome::default())
        }
    }
}

/// Evaluates a body that uses the `keys` of the patched log. Returns [`Error::NotPatched`] if there are none.
macro_rules! with_keys {
    ($($body:tt)*) => {{
        #[allow(unused_imports)]
        use upstream::*;
        {
            #[allow(unused_imports)]
            use log::*;
            if !keys::HAS_KEYS {
                return Err(Error::NotPatched);
            }
            $($body)*
        }
    }};
}

/// The error that kept keys from following the last change.
pub fn last_error() -> Result<Option<jumplabel::Error>, Error> {
    with_keys! { Ok(keys::last_error()) }
}

/// See [`crate::callsites`].
pub fn each(mut visit: impl FnMut(Callsite)) -> Result<(), Error> {
    with_keys! {
        let visit = |keyed: &'static keys::Keyed| {
            let place = keyed.place();
            visit(Callsite {
                level: keyed.level(),
                target: keyed.target(),
                file: place.file(),
                line: place.line(),
                is_on: keyed.is_on(),
                is_refused: keyed.is_refused(),
            });
        };
        keys::for_each(visit).map_err(Error::Keys)
    }
}

/// See [`crate::enabled_changed`].
pub fn ask_logger() -> Result<(), Error> {
    with_keys! { keys::ask_logger().map(drop).map_err(Error::Keys) }
}
