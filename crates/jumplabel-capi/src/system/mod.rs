//! What the system tells: who calls, and whether memory is there; and where a warning goes without a hook.

#[cfg_attr(feature = "std", path = "linux.rs")]
#[cfg_attr(not(feature = "std"), path = "bare.rs")]
mod here;

pub(crate) use here::{is_mapped, me, print};
