//! Descriptions of tracepoints, for programs that list them.

use super::Probes;
use crate::error::Error;
use crate::key::info::KeyInfo;
use crate::key_record::name::Number;

/// A tracepoint, as [`for_each_tracepoint`] shows it.
#[derive(Clone, Copy, Debug)]
pub struct TracepointInfo {
    /// The tracepoint's key. Its name is the tracepoint's name: `net:packet`.
    pub key: KeyInfo,
    /// The number of probes of the tracepoint. A tracer counts as one.
    pub probes: usize,
    /// Whether a tracer such as bpftrace is attached: see [`usdt`](crate::usdt).
    pub traced: bool,
}

impl TracepointInfo {
    /// The tracepoint to which `key` belongs. `None` if the key belongs to no tracepoint, or if its object uses another instance of the library.
    #[must_use]
    pub fn of(key: KeyInfo) -> Option<TracepointInfo> {
        let probes = key.meta::<Probes>()?;
        Some(TracepointInfo { key, probes: probes.count(), traced: probes.is_traced() })
    }
}

/// Shows the name and the number of probes: `net:packet, 2 probes`. The alternate form (`{:#}`) adds the place of the declaration to the name.
impl core::fmt::Display for TracepointInfo {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.key.fmt(f)?;
        write!(f, ", {}", Number(self.probes, "probe"))
    }
}

/// Calls `visit` for each tracepoint in the objects that use this instance of the library. In all other respects, it is like
/// [`for_each_key`](crate::for_each_key), which also visits the keys of tracepoints. [`find_key`](crate::find_key) returns the key of a tracepoint
/// for the tracepoint's name.
///
/// # Errors
/// The errors of [`for_each_key`](crate::for_each_key).
pub fn for_each_tracepoint(mut visit: impl FnMut(TracepointInfo)) -> Result<(), Error> {
    crate::inspect::for_each_key(|key| TracepointInfo::of(key).into_iter().for_each(&mut visit))
}
