//! The contract with the system on which the library runs: a lock, memory, where objects lie, writers, core sync.
//!
//! ```text
//!   ┌──────────────────────────── Platform: the contract ─────────────────────────────┐
//!   │ lock, memory, clock   bounds of objects   writers -> open -> Writer   core sync │
//!   └─────────────────────────────────────────────────────────────────────────────────┘
//!     linux, windows (features)   your kernel (set_platform)   portable (no sites: a lock, nothing else)
//! ```
//!
//! The patcher decides which bytes are written, in which steps, and when they are undone. The patcher hands a platform [`Write`]s: an address and
//! bytes each. A platform knows nothing of keys, states, kinds or instruction sets. A kernel implements [`Platform`] with its own page tables and
//! interrupts, and passes its platform to [`set_platform`](crate::set_platform). Some tests install a platform with a deliberate mistake, to show
//! that they would notice the mistake.

mod bounds;
mod contract;
mod held;
pub(crate) mod instances;
pub(crate) mod list;
pub(crate) mod notices;
pub(crate) mod notifiers;
mod writer;

pub use crate::error::WriterKind;
pub use crate::format::Runtime;
pub use bounds::{Image, Place, SEGMENTS};
pub use contract::{Callbacks, Held, Platform, PlatformState, Token};
pub(crate) use contract::{Objects, Patch};
pub(crate) use held::Guarded;
#[doc(hidden)] // The result of `Platform::runtimes` unless it is overridden.
pub use instances::RUNTIME;
#[doc(hidden)] // For the C API, and for platforms that pass calls on.
pub use notifiers::{Notifiers, Notify, RawChanged};
pub use writer::{
    Body, Extent, Failure, SPAN_GAP_PAGES, Summary, Visibility, Warnings, Write, WriteReport, Writer, WriterList,
};

// In a build without sites, no object registers. So a part of `linux` is never called there.
#[cfg(jumplabel_linux)]
#[cfg_attr(not(jumplabel_sites), allow(dead_code))]
mod linux;
#[cfg(jumplabel_linux)]
use linux as chosen;
#[cfg(jumplabel_short_engine)]
pub(crate) use linux::abort;
#[cfg(jumplabel_linux)]
pub use linux::{core_sync_by_signal, core_sync_handler};

#[cfg(all(jumplabel_threads, jumplabel_linux))]
pub(crate) use linux::threads;
#[cfg(all(jumplabel_threads, not(jumplabel_linux)))]
#[path = "std_threads.rs"]
pub(crate) mod threads;

#[cfg(jumplabel_windows)]
#[cfg_attr(not(jumplabel_sites), allow(dead_code))]
mod windows;
#[cfg(jumplabel_windows)]
use windows as chosen;
#[cfg(all(windows, any(jumplabel_windows, jumplabel_dylib)))]
mod ending;
#[cfg(all(windows, any(jumplabel_windows, jumplabel_dylib)))]
pub(crate) use ending::is_ending;

#[cfg(not(jumplabel_user_space))]
mod portable;
#[cfg(not(jumplabel_user_space))]
use portable as chosen;

/// The platform in use: the one that was given to [`set_platform`](crate::set_platform), or else the built-in one.
#[inline(never)]
pub(crate) fn platform() -> &'static dyn Platform {
    custom::get().unwrap_or(&chosen::PLATFORM)
}

/// Picks the writer for all flips from now on. `None` and `Custom` restore the automatic choice. Until the first call of this function, the
/// environment variable `JUMPLABEL_WRITER` picks the writer. On Linux, a program with raised privileges ignores that variable.
///
/// This function is for tests and measurements. It is also for programs in which no page may be modified while a thread executes it: such programs
/// pick [`WriterKind::Remap`].
pub fn set_writer(kind: Option<WriterKind>) {
    platform().set_writer(kind);
}

pub(crate) mod custom {
    use crate::platform::Platform;
    use core::sync::atomic::{AtomicPtr, Ordering};

    static CUSTOM: AtomicPtr<&'static dyn Platform> = AtomicPtr::new(core::ptr::null_mut());

    pub(crate) fn set(platform: &'static &'static dyn Platform) {
        CUSTOM.store(core::ptr::from_ref(platform).cast_mut(), Ordering::Release);
    }

    pub(super) fn get() -> Option<&'static dyn Platform> {
        // SAFETY: the pointer is null until `set` stores one, and `set` stores only `&'static` references.
        unsafe { CUSTOM.load(Ordering::Acquire).as_ref() }.copied()
    }
}

/// The built-in platform. Your own platform can pass calls on to it, and so change only a part of its behaviour.
#[must_use]
pub fn builtin() -> &'static dyn Platform {
    &chosen::PLATFORM
}
