//! Access to the keys in the patched tracing-core. This crate also compiles with upstream's tracing-core, which has no keys.

use tracing_core::Metadata;
use tracing_core::field::Visit;

use crate::{Error, Status};

/// The description of a callsite.
#[derive(Clone, Copy)]
pub struct Place {
    pub meta: &'static Metadata<'static>,
    /// The text of its message, before values are inserted; empty if it has none.
    pub text: &'static str,
}

/// Empty stand-ins for the items that upstream's tracing-core lacks. [`with_keys`] imports this module in an outer block, and all of
/// `tracing_core::callsite` in an inner one. If tracing-core is patched, its `keys` hides the stand-in.
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

/// Evaluates a body that uses the `keys` of the patched tracing-core. Returns [`Error::NotPatched`] if there are none.
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

/// See [`crate::status`].
pub fn status() -> Result<Status, Error> {
    with_keys! {
        let keys::Status { callsites, on, forced, error, .. } = keys::status().map_err(Error::Keys)?;
        Ok(Status { callsites, on, shown: forced, error })
    }
}

/// The limit that allows any number of events in a second. The patched tracing-core has the same value.
pub const ALL: u32 = u32::MAX;

/// Shows callsites. For each, `choose` returns how many events in a second are shown; 0 ends that. Returns the number of callsites for which it has
/// chosen, and the number of pages of code that were written.
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

/// Records events of the callsites for which `choose` returns true, and of no others.
pub fn follow(mut choose: impl FnMut(&'static Metadata<'static>) -> bool) -> Result<(), Error> {
    with_keys! {
        let note = |callsite: &'static keys::Keyed, values: &dyn Fn(&mut dyn Visit)| {
            crate::follow::note(callsite.meta(), callsite.nth_told(), callsite.missed(), values);
        };
        keys::follow(note, |callsite| Some(choose(callsite.meta()))).map(drop).map_err(Error::Keys)
    }
}

/// Makes keys follow tracers, if the program looks for tracers.
pub fn watch_tracers() -> Result<(), Error> {
    with_keys! {
        keys::watch_tracers();
        Ok(())
    }
}

/// The present state of a callsite.
pub struct Now {
    /// True if its key is on.
    pub is_on: bool,
    /// The number of sites that it has.
    pub sites: usize,
    /// The number of its events that were not shown, because they exceeded the limit.
    pub lost: u64,
    /// True if an attached tracer keeps its key on.
    pub is_traced: bool,
}

/// Calls `visit` for each callsite.
pub fn each(mut visit: impl FnMut(Place, Now)) -> Result<(), Error> {
    with_keys! {
        let visit = |keyed: &'static keys::Keyed| {
            let now = Now { is_on: keyed.is_on(), sites: keyed.sites(), lost: keyed.lost(), is_traced: keyed.is_traced() };
            visit(Place { meta: keyed.meta(), text: keyed.text() }, now);
        };
        keys::for_each(visit).map_err(Error::Keys)
    }
}
