//! A dependency that says much, at low levels.
#![forbid(unsafe_code)]

use tracing::{Level, debug, enabled, event, info, instrument, span, trace, warn};

/// One event.
#[inline(never)]
pub fn one(x: u64) -> u64 {
    trace!(x, "one");
    x * 3
}

/// A function with a span, and events of other targets.
#[instrument(level = "debug", ret)]
pub fn spanned(x: u64) -> u64 {
    debug!(target: "elsewhere", y = x + 1, "in {x}");
    x + 1
}

/// The forms of the macros.
pub fn forms(x: u64) -> Result<u64, String> {
    event!(name: "named", target: "other", Level::DEBUG, a = 1, b = ?Some(x), "text");
    event!(name: "only.name", Level::INFO, x);
    event!(Level::WARN, answer = %x, r#type = "raw");
    let parent = span!(target: "spans", Level::INFO, "parent", n = x, empty = tracing::field::Empty);
    parent.record("empty", 5);
    let child = span!(parent: &parent, Level::TRACE, "child");
    event!(parent: &parent, Level::INFO, "below");
    event!(name: "all", target: "t", parent: &parent, Level::DEBUG, { k = 7 }, "formatted {}", x);
    warn!(parent: None, "root");
    info!(value = fallible(x)?, "what comes of a question mark");
    child.in_scope(|| trace!("inside"));
    if enabled!(Level::DEBUG) {
        debug!("costly");
    }
    if enabled!(target: "elsewhere", Level::TRACE) {
        trace!(target: "elsewhere", "costlier");
    }
    Ok(x)
}

fn fallible(x: u64) -> Result<u64, String> {
    if x == 13 { Err("thirteen".to_owned()) } else { Ok(x) }
}

/// One callsite for all types.
pub fn generic<T: std::fmt::Debug>(value: T) {
    debug!(?value, "generic");
}

/// In an async function.
pub async fn later(x: u64) {
    debug!(x, "before");
    std::future::ready(()).await;
    info!(x, "after");
}

/// Has a name for itself.
#[derive(Debug)]
pub struct Own(pub u64);

impl Own {
    /// Values that are variables, and values that leave the function, a loop, or a closure.
    pub fn values(&self, mut x: u64) -> Option<u64> {
        let (text, place, e) = ("text", &mut x, 5.5);
        debug!(?self, place, text, e, f = true, "names, {:?} and {place}, {}", self, text);
        *place += 1;
        debug!(a = x, b.c = ?x, d = %x, e, f = x, g = x, h = x, i = x, j = x, k = x, l = x, m = -1, "many: {}", x,);
        while x < 9 {
            debug!(y = if x > 5 { break } else { x }, "a loop");
            x += 1;
        }
        let add = |y: u64| {
            trace!(y, "a closure");
            debug!(y = if y > 7 { return None } else { y }, "a closure");
            Some(y + x)
        };
        info!(x, y = add(x)?, "the last value is computed");
        add(x)
    }
}
