//! Tracepoints without types, for C. The C macros make the static call, the walk (the function that calls each probe in the list), and the code that
//! counts the thread during an emission.
//!
//! ```text
//!   trace_packet(80)                             the site of a key
//!        │ call
//!        └──► counts its thread ── static call ──► probe                     if there is only one probe, and its data is null
//!                                             └──► walk ──► list ──► each    if there are several probes, or one with data
//! ```
//!
//! Every emission in C counts its thread, whether or not the probes have data. So the owner of a removed probe can wait until no thread is in the
//! probe, and can then unload the probe's code.

use alloc::vec::Vec;
use core::ffi::{c_int, c_void};

use super::probes::{Led, Probes};
pub use super::readers::{Inside, enter};
use crate::call::RawCall;
use crate::error::Error;
use crate::key::RawKey;
use crate::patch::Outcome;

/// A key and the head of a list of probes, in the layout of C.
#[repr(C)]
pub struct RawTracepoint {
    key: RawKey,
    probes: Probes,
}

/// A probe in C.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawProbe {
    /// The address of the function.
    pub function: usize,
    /// The data that is passed to the function.
    pub data: *mut c_void,
    /// Probes of a higher priority are called earlier.
    pub priority: c_int,
}

/// The static call of a tracepoint, and the function to which it leads if it does not lead directly to a probe.
pub struct Lead<'call> {
    /// The call.
    pub call: &'call RawCall,
    /// The address of the walk, which calls each probe in the list.
    pub walk: usize,
    /// The address of the call's default, which is usually the walk; 0 if the call has no default.
    pub default: usize,
}

impl RawTracepoint {
    /// Replaces the list of probes by an edited copy. `edit` gets a copy with room for one more probe.
    ///
    /// # Errors
    /// The errors of `edit`, and those of [`Tracepoint::add`](crate::Tracepoint::add). On an error, nothing has changed.
    ///
    /// # Safety
    /// For each probe in the list: the function may be called with the probe's data and the arguments of the tracepoint. The call and the walk belong
    /// to the tracepoint.
    pub unsafe fn change<X: From<Error>>(
        &self,
        lead: &Lead<'_>,
        edit: &dyn Fn(&mut Vec<RawProbe>) -> Result<(), X>,
    ) -> Result<Outcome, X> {
        // The static call passes null as data. It leads directly only to a probe whose data is null, so no function gets the data of another probe.
        let direct = |probes: &[RawProbe]| match probes {
            [RawProbe { function, data, .. }] if data.is_null() => *function,
            _ => 0,
        };
        let walk = if lead.walk == lead.default { 0 } else { lead.walk };
        // SAFETY: the entries of the list are of type `RawProbe`, because only this function puts entries into it.
        unsafe { self.probes.change(edit, &direct, Led { key: &self.key, call: lead.call, walk }) }
    }

    /// The current probes.
    ///
    /// # Safety
    /// This thread is counted, by [`enter`], as long as the result is used.
    #[must_use]
    pub unsafe fn probes(&self) -> &[RawProbe] {
        // SAFETY: the entries of the list are of type `RawProbe`, because only `change` puts entries into it. The caller ensures that this thread is
        // counted.
        unsafe { self.probes.get() }
    }
}
