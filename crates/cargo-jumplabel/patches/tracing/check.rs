//! Decides where an event goes if its callsite's key is on: by upstream's checks, and by those of others that want events. `cargo jumplabel tracing`
//! has written this file; upstream does not have it.
//!
//! ```text
//!   check      in the function with the event: always wanted, no others, and the level is not too high ──► to subscribers
//!   ask        otherwise: what upstream does
//!   ask_others if there are any
//! ```

use std::sync::atomic::Ordering;

use super::{number, reached, DefaultCallsite, Goes, Keyed};
use crate::dispatcher;
use crate::metadata::{Level, LevelFilter};

/// Returns where an event or a new span goes if the key is on: upstream's checks decide, unless others want it, too. `level` is the callsite's, which
/// the compiler knows. The interest is checked first. If it says that subscribers must be asked, all further checks are in [`ask`].
#[doc(hidden)]
#[inline(always)]
pub fn check(callsite: &'static Keyed, level: Level) -> Goes {
    let is_on = callsite.inner.interest.load(Ordering::Relaxed) == DefaultCallsite::INTEREST_ALWAYS
        && callsite.others.is_nobody()
        && level <= LevelFilter::current();
    if is_on {
        Goes::TO_SUBSCRIBERS
    } else {
        ask(callsite)
    }
}

/// The rest of [`check`]: subscribers or others must be asked, or the callsite is new, or off. The function is cold so that its call lies at the end
/// of the caller's code: an event that is on goes straight ahead.
#[doc(hidden)]
#[cold]
#[inline(never)]
pub fn ask(callsite: &'static Keyed) -> Goes {
    if callsite.others.is_nobody() {
        Goes::to_subscribers_if(is_enabled(callsite))
    } else {
        ask_others(callsite)
    }
}

#[cold]
#[inline(never)]
fn ask_others(callsite: &'static Keyed) -> Goes {
    let meta = callsite.meta();
    let (file, line) = (meta.file(), meta.line());
    jumplabel::emit!(reached, meta.target(), meta.name(), number(meta.level()), line.unwrap_or(0), file.unwrap_or(""), meta);
    callsite.marks.goes(meta, callsite.others.any_tracer(), || is_enabled(callsite))
}

fn is_enabled(callsite: &'static Keyed) -> bool {
    let meta = callsite.meta();
    if *meta.level() > LevelFilter::current() {
        return false;
    }
    // Most often, subscribers want to be asked each time (SOMETIMES).
    if callsite.inner.interest.load(Ordering::Relaxed) != DefaultCallsite::INTEREST_SOMETIMES {
        let interest = callsite.interest();
        if interest.is_never() || interest.is_always() {
            return interest.is_always();
        }
    }
    dispatcher::get_default(|default| default.enabled(meta))
}
