//! The services of the system: the name of the caller, whether memory is mapped, and the output for warnings without a hook.

#[cfg_attr(all(feature = "hosted", not(windows)), path = "linux.rs")]
#[cfg_attr(all(feature = "hosted", windows), path = "windows.rs")]
#[cfg_attr(not(feature = "hosted"), path = "bare.rs")]
mod here;

#[cfg(feature = "hosted")]
#[allow(unused_imports)] // Some targets do not use all of them.
pub(crate) use here::abort;
pub(crate) use here::{is_mapped, me, print};
