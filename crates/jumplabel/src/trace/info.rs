//! A tracepoint as introspection shows it.

use super::Probes;
use crate::error::Error;
use crate::key::info::KeyInfo;
use crate::key_record::name::Number;

/// A tracepoint, as introspection shows it.
#[derive(Clone, Copy, Debug)]
pub struct TracepointInfo {
    /// Its key, whose name is that of the tracepoint: `net:packet`.
    pub key: KeyInfo,
    /// How many probes it has.
    pub probes: usize,
}

impl TracepointInfo {
    /// The tracepoint that a key belongs to; `None` if it belongs to none, or to one of an object with another copy of
    /// the library.
    #[must_use]
    pub fn of(key: KeyInfo) -> Option<TracepointInfo> {
        Some(TracepointInfo { key, probes: key.meta::<Probes>()?.count() })
    }
}

/// `net:packet, 2 probes`. Alternate (`{:#}`): with the place of the declaration after the name.
impl core::fmt::Display for TracepointInfo {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.key.fmt(f)?;
        write!(f, ", {}", Number(self.probes, "probe"))
    }
}

/// Calls `visit` for each tracepoint of the objects that use this instance of the library; otherwise as
/// [`for_each_key`](crate::for_each_key), where they are listed, too. By its name, [`find_key`](crate::find_key) finds one.
///
/// # Errors
/// As for [`for_each_key`](crate::for_each_key).
pub fn for_each_tracepoint(mut visit: impl FnMut(TracepointInfo)) -> Result<(), Error> {
    crate::inspect::for_each_key(|key| TracepointInfo::of(key).into_iter().for_each(&mut visit))
}
