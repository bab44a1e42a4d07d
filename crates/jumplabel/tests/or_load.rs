//! Keys declared `or_load`: switches that work where nothing may be patched.
//!
//! ```text
//!   places        every default, arm and place of a key, with and without sites
//!   refused       a platform that refuses to write from the start, from some moment on, and not any more
//!   midway        a platform that refuses in the middle, and refuses to undo, too
//!   ahead         what is patched before any flip
//!   promise       what another thread sees, and the core sync behind the count
//!   straight      that patched sites load nothing
//! ```

#[cfg(all(target_os = "linux", jumplabel_sites))]
#[path = "or_load/ahead.rs"]
mod ahead;
#[cfg(all(target_os = "linux", jumplabel_sites))]
#[path = "or_load/midway.rs"]
mod midway;
#[path = "or_load/places.rs"]
mod places;
#[cfg(all(target_os = "linux", jumplabel_sites))]
#[path = "or_load/promise.rs"]
mod promise;
#[cfg(all(target_os = "linux", jumplabel_sites))]
#[path = "or_load/refused.rs"]
mod refused;
#[cfg(all(target_os = "linux", jumplabel_sites))]
#[path = "or_load/straight.rs"]
mod straight;
