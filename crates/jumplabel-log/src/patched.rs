//! Access to the keys in the patched log. This crate also compiles with upstream's log, which has no keys.

use crate::{Callsite, Error};

/// Empty stand-ins for the module `log::keys`, which upstream's log lacks. [`with_keys`] imports these stand-ins in an outer block, and all of `log`
/// in an inner block. So if `log` is patched, its own `keys` hides the stand-in.
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

/// Evaluates a body that uses the module `keys` of the patched log. With upstream's log, the function that contains the macro returns
/// [`Error::NotPatched`].
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

/// The error for [`Status::error`](crate::Status::error).
pub fn last_error() -> Result<Option<jumplabel::Error>, Error> {
    with_keys! { Ok(keys::last_error()) }
}

/// The implementation of [`crate::callsites`].
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

/// Asks the logger about all callsites, for [`crate::enabled_changed`].
pub fn ask_logger() -> Result<(), Error> {
    with_keys! { keys::ask_logger().map(drop).map_err(Error::Keys) }
}
