//! Decides where an event goes if its callsite's key is on. Upstream's checks decide whether it goes to subscribers. *Others* may want it, too: those
//! that force or follow the callsite, tracers, and listeners of the tracepoint `reached`. `cargo jumplabel tracing` has written this file; upstream
//! does not have it.
//!
//! ```text
//!   check        called by the function with the event
//!     always wanted, and no others ──► to subscribers
//!     ask        subscribers, about each event
//!     ask_others if there are any
//! ```

use std::sync::atomic::Ordering;

use super::{number, reached, DefaultCallsite, Goes, Keyed};
use crate::dispatcher;
use crate::metadata::{Level, LevelFilter};

/// Returns where an event or a new span goes if the key is on: if no others want it, upstream's checks decide. `level` is the callsite's level, which
/// the compiler knows.
///
/// All callsites share this function. The function with the event has no check of its own, which makes it a fifth smaller (docs/tracing.md, Cost).
#[doc(hidden)]
#[inline(never)]
pub fn check(callsite: &'static Keyed, level: Level) -> Goes {
    if !callsite.others.is_nobody() {
        ask_others(callsite)
    } else if level > LevelFilter::current() {
        Goes::NOWHERE
    } else if callsite.inner.interest.load(Ordering::Relaxed) == DefaultCallsite::INTEREST_ALWAYS {
        Goes::TO_SUBSCRIBERS
    } else {
        ask(callsite)
    }
}

/// The rest of [`check`], for callsites about which subscribers are asked at each event, and for those that are new or refused. It is a function of
/// its own, so that [`check`] needs no stack.
#[inline(never)]
fn ask(callsite: &'static Keyed) -> Goes {
    let meta = callsite.meta();
    let is_wanted = || dispatcher::get_default(|default| default.enabled(meta));
    Goes::to_subscribers_if(match callsite.inner.interest.load(Ordering::Relaxed) {
        DefaultCallsite::INTEREST_SOMETIMES => is_wanted(),
        _ => {
            let interest = callsite.interest();
            interest.is_always() || !interest.is_never() && is_wanted()
        }
    })
}

#[cold]
#[inline(never)]
fn ask_others(callsite: &'static Keyed) -> Goes {
    let meta = callsite.meta();
    let (file, line) = (meta.file(), meta.line());
    jumplabel::emit!(reached, meta.target(), meta.name(), number(meta.level()), line.unwrap_or(0), file.unwrap_or(""), meta);
    callsite.marks.goes(meta, callsite.others.any_tracer(), || *meta.level() <= LevelFilter::current() && ask(callsite).to_subscribers())
}
