//! Static keys for the callsites of the crate [`log`](https://docs.rs/log). A callsite of the program or of a dependency costs one nop if its level
//! is above `log::max_level()`.
//!
//! The command `cargo jumplabel log` gives the callsites of a program their keys: it patches `log`. That is enough. With this crate, the program can
//! also count and list the callsites ([`status`], [`callsites`]), and ask its logger about all of them at once ([`enabled_changed`]). Then a callsite
//! that the logger refuses costs one nop, too, while others of its level are on.
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

/// The numbers of callsites that [`status`] returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// The number of callsites with a key, in the program and its dependencies.
    pub callsites: usize,
    /// The number of callsites whose key is on. Each other callsite is one nop.
    pub on: usize,
    /// The number of callsites that the logger refused when [`enabled_changed`] asked it.
    pub refused: usize,
    /// The error with which keys could not be flipped after the last change of the level or the logger, or the last load of a library; `None` if they
    /// could. Until a later change succeeds, callsites that should be on may be off.
    pub error: Option<jumplabel::Error>,
}

/// A callsite of `log`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Callsite {
    /// The level.
    pub level: Level,
    /// The target. `None` if the program computes the target, or passes a logger of its own.
    pub target: Option<&'static str>,
    /// The source file.
    pub file: &'static str,
    /// The line in that file.
    pub line: u32,
    /// Whether the callsite's key is on.
    pub is_on: bool,
    /// Whether the logger refused the callsite when [`enabled_changed`] asked.
    pub is_refused: bool,
}

/// The reason why a function of this crate failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The callsites have no keys: the program was built with upstream's log, or for a target without sites.
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

/// Asks the logger (`Log::enabled`) about each callsite whose target is known, and turns the keys of all callsites on or off accordingly, in one
/// batch. Returns the number of callsites whose target is known.
///
/// Call this whenever the logger's answers may have changed: otherwise lines are lost that the logger would now take. `log::set_logger` and
/// `log::set_max_level` drop the logger's refusals: all callsites up to the maximum level are on again, until the next call of this function.
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
