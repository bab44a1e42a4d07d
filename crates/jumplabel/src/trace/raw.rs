//! Tracepoints without types: those of C, whose macros make the call, the walk, and the place that counts its thread.
//!
//! ```text
//!   trace_packet(80)                       the site of a key
//!        │ call
//!        └──► counts itself ── static call ──► probe        the only one, if it has no data
//!                                         └──► walk ──► list ──► each
//! ```
//!
//! Here each emission counts itself, so that nobody is in a probe that was removed, whether it has data or not: its code may be unloaded.

use core::ffi::{c_int, c_void};
use std::vec::Vec;

use super::probes::Probes;
pub use super::readers::{Inside, enter};
use crate::call::RawCall;
use crate::error::Error;
use crate::key::RawKey;
use crate::patch::{self, Outcome, Request};
use crate::raw::count::Change;

/// A key and a list, as C lays them out.
#[repr(C)]
pub struct RawTracepoint {
    key: RawKey,
    probes: Probes,
}

/// A probe of C.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawProbe {
    /// The address of the function.
    pub function: usize,
    /// What it is called with.
    pub data: *mut c_void,
    /// Those of a higher one are called before.
    pub priority: c_int,
}

/// Where the static call of a tracepoint leads.
pub struct Lead<'call> {
    /// The call.
    pub call: &'call RawCall,
    /// The address of the function that goes through the list.
    pub walk: usize,
    /// The address of the call's default, which is the same; 0 if it has none.
    pub default: usize,
}

impl RawTracepoint {
    /// Replaces the probes by an edited copy. `edit` gets a copy with room for one more.
    ///
    /// # Errors
    /// Those of `edit`; otherwise as [`Tracepoint::add`](crate::Tracepoint::add): then nothing has changed.
    ///
    /// # Safety
    /// Each function may be called with its data and the arguments of the tracepoint. The call and the walk are the tracepoint's.
    pub unsafe fn change<X: From<Error>>(
        &self,
        lead: &Lead<'_>,
        edit: &dyn Fn(&mut Vec<RawProbe>) -> Result<(), X>,
    ) -> Result<Outcome, X> {
        let commit = |probes: &[RawProbe], lock: &mut _| {
            // The call is with null as data: nobody can come to a function with the data of another.
            let target = match probes {
                [RawProbe { function, data, .. }] if data.is_null() => *function,
                _ => lead.walk,
            };
            let call = lead.call.request(if target == lead.default { 0 } else { target })?;
            let key = Request::of_key(&self.key, Change::to(!probes.is_empty()));
            patch::commit_locked(&mut [key, call], lock)
        };
        let led = [Request::new(&self.key, 0), Request::new(lead.call, 0)];
        // SAFETY: all of its entries are from here.
        unsafe { self.probes.change(edit, &led, &commit) }
    }

    /// The probes now.
    ///
    /// # Safety
    /// This thread is counted, by [`enter`], as long as what is returned is used.
    #[must_use]
    pub unsafe fn probes(&self) -> &[RawProbe] {
        // SAFETY: all of its entries are from `change`, and by the contract.
        unsafe { self.probes.get() }
    }
}
