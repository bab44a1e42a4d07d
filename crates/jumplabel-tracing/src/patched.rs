//! The keys in the patched tracing-core. This crate compiles with upstream's as well: then there are none.

use tracing_core::Metadata;
use tracing_core::field::Visit;

use crate::{Error, Status};

/// What a callsite says about itself.
#[derive(Clone, Copy)]
pub struct Place {
    pub meta: &'static Metadata<'static>,
    /// The text of its message, before values are put into it; empty if it has none.
    pub text: &'static str,
}

/// What upstream's tracing-core lacks, with nothing in it. [`with_keys`] imports all of `tracing_core::callsite`, the patched `keys` included, in a
/// block within a block that imports this: the inner one counts, if it has the name.
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
        }

        pub const HAS_KEYS: bool = false;

        pub fn for_each(_: impl FnMut(&'static Keyed)) -> Result<(), jumplabel::Error> {
            Ok(())
        }

        pub fn status() -> Result<Status, jumplabel::Error> {
            Ok(Status { callsites: 0, on: 0, forced: 0, error: None })
        }

        pub fn force(_: impl FnMut(&'static Keyed) -> Option<bool>) -> Result<jumplabel::Outcome, jumplabel::Error> {
            Ok(jumplabel::Outcome::default())
        }

        pub type Follower = fn(&'static Keyed, &dyn Fn(&mut dyn Visit));

        pub fn follow(
            _: Follower,
            choose: impl FnMut(&'static Keyed) -> Option<bool>,
        ) -> Result<jumplabel::Outcome, jumplabel::Error> {
            force(choose)
        }
    }
}

/// What the body returns, which uses the `keys` of the patched tracing-core. [`Error::NotPatched`] if there are none.
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

/// Shows the callsites for which `choose` says true, and ends that for those for which it says false. Returns how many it has chosen, and
/// how many pages of code were written to.
pub fn show(mut choose: impl FnMut(Place) -> Option<bool>) -> Result<(usize, usize), Error> {
    with_keys! {
        let mut chosen = 0;
        let choose = |keyed: &'static keys::Keyed| {
            choose(Place { meta: keyed.meta(), text: keyed.text() }).inspect(|_| chosen += 1)
        };
        let outcome = keys::force(choose).map_err(Error::Keys)?;
        Ok((chosen, outcome.pages))
    }
}

/// Has the callsites noted for which `choose` says true, and no others.
pub fn follow(mut choose: impl FnMut(&'static Metadata<'static>) -> bool) -> Result<(), Error> {
    with_keys! {
        let note = |callsite: &'static keys::Keyed, values: &dyn Fn(&mut dyn Visit)| crate::follow::note(callsite.meta(), values);
        keys::follow(note, |callsite| Some(choose(callsite.meta()))).map(drop).map_err(Error::Keys)
    }
}

/// Calls `visit` for each callsite, with what it says about itself, whether its key is on, and how many sites it has.
pub fn each(mut visit: impl FnMut(Place, bool, usize)) -> Result<(), Error> {
    with_keys! {
        let visit = |keyed: &'static keys::Keyed| {
            visit(Place { meta: keyed.meta(), text: keyed.text() }, keyed.is_on(), keyed.sites());
        };
        keys::for_each(visit).map_err(Error::Keys)
    }
}
