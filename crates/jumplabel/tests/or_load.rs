//! Keys declared `or_load`: switches that work where nothing may be patched.
//!
//! ```text
//!   places        every default, arm and place of a key, with and without sites
//!   refused       a platform that refuses to write from the start, from some moment on, in the middle, and not any more
//!   promise       what another thread sees, and the core sync behind the count
//! ```

#[path = "or_load/places.rs"]
mod places;
#[cfg(all(target_os = "linux", jumplabel_sites))]
#[path = "or_load/promise.rs"]
mod promise;
#[cfg(all(target_os = "linux", jumplabel_sites))]
#[path = "or_load/refused.rs"]
mod refused;
