//! Services of the system: the number of the calling thread, whether memory is mapped, output to standard error, and `abort`.

#[cfg_attr(all(feature = "hosted", not(windows)), path = "unix.rs")]
#[cfg_attr(all(feature = "hosted", windows), path = "windows.rs")]
#[cfg_attr(not(feature = "hosted"), path = "bare.rs")]
mod here;

#[cfg(feature = "hosted")]
#[allow(unused_imports)] // Not used on all targets.
pub(crate) use here::abort;
pub(crate) use here::{is_mapped, me, print};
