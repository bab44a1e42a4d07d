//! A dependency that says much, at low levels.
#![forbid(unsafe_code)]

use std::cell::Cell;

use log::{debug, error, info, log, log_enabled, trace, warn, Level};

/// One line.
#[inline(never)]
pub fn one(x: u64) -> u64 {
    trace!("one {x}");
    x * 3
}

/// Lines of other targets: known ones, and one that is computed.
pub fn targets(x: u64) {
    debug!(target: "elsewhere", "in {}", x);
    info!(target: "elsewhere", "also in {x}");
    trace!(target: &format!("computed.{x}"), "of {x}");
    warn!(target: ELSEWHERE, "of a constant");
}

const ELSEWHERE: &str = "elsewhere::constant";

/// The other forms of the macros. What their arguments do is done only if somebody reads them.
pub fn forms(x: u64, own: &dyn log::Log) -> Result<u64, String> {
    let reads = Cell::new(0);
    let read = || {
        reads.set(reads.get() + 1);
        x
    };
    error!("{}", read());
    warn!(key = x, other:? = Some(x); "with values {}", read());
    info!(target: "values", key:% = x; "{}", read());
    debug!(logger: own, "to a logger of its own {}", read());
    trace!(logger: own, target: "t", "to a logger of its own");
    info!("{}", fallible(x)?);
    for level in Level::iter() {
        log!(level, "computed {}", read());
        log!(target: "level", level, "computed");
    }
    if log_enabled!(Level::Debug) {
        debug!("costly");
    }
    if log_enabled!(target: "elsewhere", Level::Trace) {
        trace!(target: "elsewhere", "costlier");
    }
    match x {
        3 => trace!("an arm"),
        _ => trace!("another arm"),
    }
    Ok(reads.get())
}

fn fallible(x: u64) -> Result<u64, String> {
    if x == 13 {
        Err("thirteen".to_owned())
    } else {
        Ok(x)
    }
}

/// One callsite for all types.
pub fn generic<T: std::fmt::Debug>(value: T) {
    debug!("generic {value:?}");
}
