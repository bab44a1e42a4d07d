//! Access to the keys in the patched tracing-core. This crate also compiles with upstream's tracing-core, which has no keys.

use tracing_core::Metadata;
use tracing_core::field::Visit;

use crate::{Error, Status};

/// The description of a callsite.
#[derive(Clone, Copy)]
pub struct Place {
    pub meta: &'static Metadata<'static>,
    /// The text of the callsite's message, before values are inserted; empty if it has no message.
    pub text: &'static str,
}

/// Empty stand-ins for the module `tracing_core::callsite::keys`, which upstream's tracing-core lacks. [`with_keys`] imports these stand-ins in an
/// outer block, and all of `tracing_core::callsite` in an inner block. So if tracing-core is patched, its own `keys` hides the stand-in.
#[allow(dead_code, reason = "with the patched tracing-core, nobody uses it")]
mod upstream {
    pub mod keys {
        use tracing_core::Metadata;
        use tracing_core::field::Visit;

        pub enum Keyed {}

        pub struct Status {
            pub callsites: usize,
            pub on: usize,
            pub forced: usize,
            pub error: Option<jumplabel::Error>,
        }

        impl Keyed {
            pub fn meta(&self) -> &'static Metadata<'static> {
                match *self {}
            }

            pub fn text(&self) -> &'static str {
                match *self {}
            }

            pub fn is_on(&self) -> bool {
                match *self {}
            }

            pub fn sites(&self) -> usize {
                match *self {}
            }

            pub fn lost(&self) -> u64 {
                match *self {}
            }

            pub fn is_traced(&self) -> bool {
                match *self {}
            }

            pub fn nth_told(&self) -> u32 {
                match *self {}
            }

            pub fn missed(&self) -> &'static std::sync::atomic::AtomicU32 {
                match *self {}
            }
        }

        pub const HAS_KEYS: bool = false;

        pub fn watch_tracers() {}

        pub fn for_each(_: impl FnMut(&'static Keyed)) -> Result<(), jumplabel::Error> {
            Ok(())
        }

        pub fn status() -> Result<Status, jumplabel::Error> {
            Ok(Status { callsites: 0, on: 0, forced: 0, error: None })
        }

        pub fn force(_: impl FnMut(&'static Keyed) -> Option<u32>) -> Result<jumplabel::Outcome, jumplabel::Error> {
            Ok(jumplabel::Outcome::default())
        }

        pub type Follower = fn(&'static Keyed, &dyn Fn(&mut dyn Visit));

        pub fn follow(
            _: Follower,
            _: impl FnMut(&'static Keyed) -> Option<bool>,
        ) -> Result<jumplabel::Outcome, jumplabel::Error> {
            Ok(jumplabel::Outcome::default())
        }
    }
}

/// Evaluates a body that uses the module `keys` of the patched tracing-core. With upstream's tracing-core, the function that contains the macro
/// returns [`Error::NotPatched`].
macro_rules! with_keys {
    ($($body:tt)*) => {{
        #[allow(unused_imports)]
        use upstream::*;
        {
            #[allow(unused_imports)]
            use tracing_core::callsite::*;
            if !keys::HAS_KEYS {
                return Err(Error::NotPatched);
            }
            $($body)*
        }
    }};
}

/// The implementation of [`crate::status`].
pub fn status() -> Result<Status, Error> {
    with_keys! {
        let keys::Status { callsites, on, forced, error, .. } = keys::status().map_err(Error::Keys)?;
        Ok(Status { callsites, on, shown: forced, error })
    }
}

/// The limit that allows any number of events in a second. The patched tracing-core uses the same number.
pub const ALL: u32 = u32::MAX;

/// Shows callsites. `choose` is asked about each callsite, and returns how many events are shown in a second, 0 to show none, or `None` to leave the
/// callsite as it is. Returns the number of callsites that were not left as they are, and the number of pages of code that were written.
pub fn show(mut choose: impl FnMut(Place) -> Option<u32>) -> Result<(usize, usize), Error> {
    with_keys! {
        let mut chosen = 0;
        let choose = |keyed: &'static keys::Keyed| {
            choose(Place { meta: keyed.meta(), text: keyed.text() }).inspect(|_| chosen += 1)
        };
        let outcome = keys::force(choose).map_err(Error::Keys)?;
        Ok((chosen, outcome.pages))
    }
}

/// From now on makes records of the events of all callsites for which `choose` returns true, and of no others.
pub fn follow(mut choose: impl FnMut(&'static Metadata<'static>) -> bool) -> Result<(), Error> {
    with_keys! {
        let note = |callsite: &'static keys::Keyed, values: &dyn Fn(&mut dyn Visit)| {
            crate::follow::note(callsite.meta(), callsite.nth_told(), callsite.missed(), values);
        };
        keys::follow(note, |callsite| Some(choose(callsite.meta()))).map(drop).map_err(Error::Keys)
    }
}

/// Makes the keys of callsites follow tracers that attach to them, if the program watches for tracers at all.
pub fn watch_tracers() -> Result<(), Error> {
    with_keys! {
        keys::watch_tracers();
        Ok(())
    }
}

/// The present state of a callsite.
pub struct Now {
    /// Whether the callsite's key is on.
    pub is_on: bool,
    /// The number of sites of that key.
    pub sites: usize,
    /// The number of the callsite's events that were not shown, because they exceeded the limit.
    pub lost: u64,
    /// Whether an attached tracer keeps the key on.
    pub is_traced: bool,
}

/// Calls `visit` with the description and the state of each callsite.
pub fn each(mut visit: impl FnMut(Place, Now)) -> Result<(), Error> {
    with_keys! {
        let visit = |keyed: &'static keys::Keyed| {
            let now = Now { is_on: keyed.is_on(), sites: keyed.sites(), lost: keyed.lost(), is_traced: keyed.is_traced() };
            visit(Place { meta: keyed.meta(), text: keyed.text() }, now);
        };
        keys::for_each(visit).map_err(Error::Keys)
    }
}
