//! The callsites of the crate [`log`](https://docs.rs/log) that have a static key. A callsite whose level is above `log::max_level()` costs one
//! nop, in the program and in its dependencies.
//!
//! The command `cargo jumplabel log` gives a program its keys: it patches `log`. The program needs no more than that. With this crate it can also
//! say how many callsites there are ([`status`], [`callsites`]), and ask its logger about all callsites at once ([`enabled_changed`]). A callsite
//! that the logger refuses then costs one nop as well, though others of its level are on.
//!
//! ```
//! use jumplabel_log::{Error, enabled_changed, status};
//!
//! log::set_max_level(log::LevelFilter::Trace);
//! match enabled_changed() {
//!     Ok(known) => println!("{known} callsites have said who they are, {} are on", status()?.on),
//!     Err(Error::NotPatched) => println!("this program was built with upstream's log"),
//!     Err(error) => println!("{error}"),
//! }
//! # Ok::<(), Error>(())
//! ```
#![deny(missing_docs)]

mod patched;

use std::fmt;

use log::Level;

/// The numbers of callsites with keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// The number of callsites with a key, in the program and its dependencies.
    pub callsites: usize,
    /// The number of callsites whose key is on. Each of the others is one nop.
    pub on: usize,
    /// The number of callsites that the logger refused when [`enabled_changed`] asked it.
    pub refused: usize,
    /// The error that kept keys from following the last change. Until the next change succeeds, callsites that should be on may be off.
    pub error: Option<jumplabel::Error>,
}

/// A callsite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Callsite {
    /// Its level.
    pub level: Level,
    /// Its target. None if the program computes it, or names a logger.
    pub target: Option<&'static str>,
    /// Its source file.
    pub file: &'static str,
    /// Its line in that file.
    pub line: u32,
    /// True if its key is on.
    pub is_on: bool,
    /// True if the logger refused it when [`enabled_changed`] asked.
    pub is_refused: bool,
}

/// The reason why a function of this crate failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The program was built with upstream's log, or for a target without sites.
    NotPatched,
    /// Keys cannot be listed, or cannot be flipped.
    Keys(jumplabel::Error),
}

/// Counts the callsites that have keys.
///
/// Costs a look at each callsite. Allocates from the platform.
///
/// # Errors
/// [`Error::NotPatched`], [`Error::Keys`].
pub fn status() -> Result<Status, Error> {
    let error = patched::last_error()?;
    let mut status = Status { callsites: 0, on: 0, refused: 0, error };
    callsites(|callsite| {
        status.callsites += 1;
        status.on += usize::from(callsite.is_on);
        status.refused += usize::from(callsite.is_refused);
    })?;
    Ok(status)
}

/// Calls `visit` for each callsite.
///
/// # Errors
/// Those of [`status`].
pub fn callsites(visit: impl FnMut(Callsite)) -> Result<(), Error> {
    patched::each(visit)
}

/// Asks the logger about each callsite whose target is known (`Log::enabled`), and turns off the callsites that it refuses, in one batch. Returns the
/// number of callsites about which it has asked.
///
/// Call it whenever the logger's answers may have changed: otherwise lines are lost that the logger would now take. `log::set_logger` and
/// `log::set_max_level` undo its work: all callsites up to the maximum level are on again, until the next call.
///
/// Costs a call of the logger for each callsite, and a batch of flips. Safe in any thread; not in signal handlers.
///
/// # Errors
/// Those of [`status`]. Then all keys are as they were.
pub fn enabled_changed() -> Result<usize, Error> {
    patched::ask_logger()?;
    let mut known = 0;
    callsites(|callsite| known += usize::from(callsite.target.is_some()))?;
    Ok(known)
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotPatched => f.write_str(
                "the callsites of this program have no keys: it was built with upstream's log (run `cargo jumplabel log`), or for a target where \
                 code is not patched",
            ),
            Error::Keys(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for Error {}
