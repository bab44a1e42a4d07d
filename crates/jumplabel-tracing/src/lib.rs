//! Dynamic debug for the crate [`tracing`](https://docs.rs/tracing). A callsite of the program or of a dependency costs one nop while no subscriber
//! wants its events. An operator can *show* any callsite while the program runs: the subscriber gets its events, whatever the program's filter says.
//!
//! The command `cargo jumplabel tracing` gives the callsites of a program their keys: it patches `tracing` and `tracing-core`. This crate counts the
//! callsites ([`status`]), and shows them ([`control`]).
//!
//! ```
//! use jumplabel_tracing::{Error, control, status};
//!
//! match status() {
//!     Ok(status) => println!("{} callsites, {} are on", status.callsites, status.on),
//!     Err(Error::NotPatched) => println!("this program was built with upstream's tracing"),
//!     Err(error) => println!("{error}"),
//! }
//! // As in Linux's dynamic_debug: callsites of hyper that lie in these lines.
//! # if status().is_ok() {
//! control("module hyper::* file *conn.rs line 100-200 +p")?;
//! # }
//! # Ok::<(), Error>(())
//! ```
//!
//! The events and spans of a shown callsite go to the program's subscriber, through all of its layers; no filter is asked. Only a layer that refuses
//! events when they happen (`event_enabled`) refuses these, too.
#![deny(missing_docs)]

mod follow;
mod layer;
mod limit;
mod patched;
mod query;
mod record;

use std::fmt;

pub use layer::layer;
use query::Query;
pub use query::QueryError;

/// The numbers of callsites that [`status`] returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// The number of callsites with a key, in the program and its dependencies.
    pub callsites: usize,
    /// The number of callsites whose key is on, because a subscriber wants their events or because they are shown. Each other callsite is one nop.
    pub on: usize,
    /// The number of callsites that are shown, whatever filters say.
    pub shown: usize,
    /// The error with which keys could not be flipped after the last change of a filter, or the last load of a library; `None` if they could. Until a
    /// later change succeeds, callsites that should be on may be off.
    pub error: Option<jumplabel::Error>,
}

/// The reason why a function of this crate failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The callsites have no keys: the program was built with upstream's tracing-core, or for a target without sites.
    NotPatched,
    /// The text is not a valid query.
    Query(QueryError),
    /// No callsite matches.
    NoCallsite,
    /// Keys cannot be listed, or cannot be flipped. Nothing has changed.
    Keys(jumplabel::Error),
}

/// Counts the callsites that have keys.
///
/// Costs a look at each callsite. Allocates from the platform.
///
/// # Errors
/// [`Error::NotPatched`], [`Error::Keys`].
pub fn status() -> Result<Status, Error> {
    patched::status()
}

/// Shows callsites, or stops showing them, as a query of Linux's dynamic_debug says: `module h2::proto::* line 1-500 +p`. Returns the number of
/// callsites that match.
///
/// | condition | a callsite matches if |
/// |---|---|
/// | `module h2::*` | its module matches the pattern |
/// | `target h2::*` | its target does; that is the module unless the program says otherwise |
/// | `file *conn.rs` | its file, or the last components of its file's path, match the pattern |
/// | `func poll` | the name of its span or event does (with `#[instrument]`, a span has the name of its function) |
/// | `line 12`, `line 10-20`, `line 10-`, `line -20` | its line is one of these |
/// | `level debug` | its level is this one |
/// | `format "frame "` | its message, before values are put into it, contains this text; with `^` in front, it begins with this text |
///
/// A callsite must match all conditions of a query; a query without conditions matches all callsites. Patterns have `*` and `?`. If a pattern has
/// blanks, write `"..."` around it. (`class` is refused, because callsites have none.) A query also has flags, and may have a limit:
///
/// | | |
/// |---|---|
/// | `limit 100/s` | at most this many events of each callsite are shown in a second; the rest is lost, and the subscriber is told how many |
/// | `+p` or `=p`, at the end | the callsites are shown |
/// | `-p` or `=_`, at the end | the callsites are not shown any more; the subscriber gets only the events that filters let pass |
///
/// `;` or the end of a line separates queries, which are carried out one after the other. A query that begins with `#` is ignored.
///
/// Costs a look at all callsites and one batch of flips for each query. Safe in any thread, but not in signal handlers. A callsite stays shown until
/// another query ends that.
///
/// # Errors
/// [`Error::NotPatched`]. [`Error::Query`]: none of the queries was carried out. [`Error::NoCallsite`] and [`Error::Keys`]: only the queries before
/// the failed one were carried out.
pub fn control(queries: &str) -> Result<usize, Error> {
    let queries =
        queries.split([';', '\n']).map(str::trim).filter(|query| !query.is_empty() && !query.starts_with('#'));
    let queries: Vec<Query> = queries.map(Query::parse).collect::<Result<_, _>>().map_err(Error::Query)?;
    let mut matches = 0;
    for query in &queries {
        match patched::show(|callsite| query.matches(callsite).then_some(query.most))? {
            (0, _) => return Err(Error::NoCallsite),
            (number, _) => matches += number,
        }
    }
    Ok(matches)
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotPatched => f.write_str(
                "the callsites of this program have no keys: it was built with upstream's tracing (run `cargo jumplabel tracing`), or for a \
                 target where code is not patched",
            ),
            Error::Query(error) => write!(f, "{error}"),
            Error::NoCallsite => f.write_str("no callsite of this program matches"),
            Error::Keys(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for Error {}
