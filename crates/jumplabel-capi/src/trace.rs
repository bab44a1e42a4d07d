//! Tracepoints: the functions that the code of `DEFINE_TRACE()` calls. A tracepoint uses the instance of the library with which its object is linked.

use alloc::vec::Vec;
use core::ffi::{c_int, c_void};
use core::ptr::null;

use jumplabel::RawCall;
use jumplabel::trace::raw::{Inside, Lead, RawProbe, RawTracepoint, enter};

use crate::call::{Function, address};
use crate::result::{Refusal, code};
use crate::warn::warn;

// include/jumplabel/tracepoint.h declares the same size.
const _: () = assert!(size_of::<RawTracepoint>() == 8 + 2 * size_of::<usize>());

/// C's `struct jumplabel_call_`: the static call of a tracepoint.
#[repr(C)]
pub struct Call {
    call: *const RawCall,
    first: Option<Function>,
    zero: Option<Function>,
}

/// C's `struct jumplabel_inside_`: the mark that a thread is counted as inside a tracepoint. `word` is null if the thread is not counted.
#[repr(C)]
pub struct CInside {
    word: *const (),
    generation: u64,
}

/// C's `struct jumplabel_probes_`: an array of probes.
#[repr(C)]
pub struct Probes {
    first: *const RawProbe,
    count: usize,
}

/// Counts the calling thread as inside a tracepoint, until it passes the result to [`jumplabel_trace_leave_`].
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_trace_enter_() -> CInside {
    let (word, generation) = enter().map_or((null(), 0), Inside::into_raw);
    CInside { word, generation }
}

/// Stops counting the calling thread as inside a tracepoint.
///
/// # Safety
/// `inside` is the result of [`jumplabel_trace_enter_`] on this thread, and is passed only once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_trace_leave_(inside: &CInside) {
    // SAFETY: the caller guarantees that `jumplabel_trace_enter_` has returned `inside` on this thread, and that it is passed only once.
    drop(unsafe { Inside::from_raw(inside.word, inside.generation) });
}

/// Returns the present probes of the tracepoint.
///
/// # Safety
/// The calling thread stays counted as long as it uses the probes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_trace_probes_(tracepoint: &RawTracepoint) -> Probes {
    // SAFETY: the caller guarantees that this thread stays counted as long as it uses the probes.
    let probes = unsafe { tracepoint.probes() };
    Probes { first: probes.as_ptr(), count: probes.len() }
}

/// Adds a probe. Returns 0 or an error; also warns of the error, unless it is a lack of memory.
///
/// # Safety
/// `call` and `walk` are those of the tracepoint. The probe has the tracepoint's type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_trace_register_(
    tracepoint: &RawTracepoint,
    call: Call,
    walk: Option<Function>,
    probe: Option<Function>,
    data: *mut c_void,
    priority: c_int,
) -> c_int {
    let new = RawProbe { function: address(probe), data, priority };
    let edit = |probes: &mut Vec<RawProbe>| {
        if new.function == 0 {
            return Err(Refusal::NoProbe);
        }
        if probes.iter().any(|old| is_same(old, &new)) {
            return Err(Refusal::Registered);
        }
        let at = probes.iter().position(|old| old.priority < new.priority);
        probes.insert(at.unwrap_or(probes.len()), new);
        Ok(())
    };
    // SAFETY: the caller guarantees that `call` and `walk` are those of the tracepoint, and that the probe has the tracepoint's type.
    unsafe { change("register_trace", tracepoint, &call, walk, &edit) }
}

/// Removes a probe. Returns 0 or an error, and warns as [`jumplabel_trace_register_`] does.
///
/// # Safety
/// The conditions of [`jumplabel_trace_register_`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_trace_unregister_(
    tracepoint: &RawTracepoint,
    call: Call,
    walk: Option<Function>,
    probe: Option<Function>,
    data: *mut c_void,
) -> c_int {
    let gone = RawProbe { function: address(probe), data, priority: 0 };
    let edit = |probes: &mut Vec<RawProbe>| {
        let at = probes.iter().position(|old| is_same(old, &gone)).ok_or(Refusal::NotRegistered)?;
        probes.remove(at);
        Ok(())
    };
    // SAFETY: the caller guarantees that `call` and `walk` are those of the tracepoint, and that the probe has the tracepoint's type.
    unsafe { change("unregister_trace", tracepoint, &call, walk, &edit) }
}

/// Waits until no thread runs a probe that was removed before this call. Returns 0 or an error, and warns of the error.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_trace_synchronize_() -> c_int {
    let result = jumplabel::synchronize_probes().map_err(Refusal::from);
    if let Err(refusal) = result {
        warn("tracepoint_synchronize_unregister", null(), refusal);
    }
    code(result)
}

fn is_same(one: &RawProbe, other: &RawProbe) -> bool {
    one.function == other.function && core::ptr::eq(one.data, other.data)
}

unsafe fn change(
    function: &str,
    tracepoint: &RawTracepoint,
    call: &Call,
    walk: Option<Function>,
    edit: &dyn Fn(&mut Vec<RawProbe>) -> Result<(), Refusal>,
) -> c_int {
    // SAFETY: the callers guarantee that `call` is the tracepoint's own, so its member `call` leads to a static call that the macro defines.
    let lead = Lead { call: unsafe { &*call.call }, walk: address(walk), default: address(call.first) };
    // SAFETY: the callers guarantee that `call` and `walk` are those of the tracepoint, and that probes have the tracepoint's type.
    let result = unsafe { tracepoint.change(&lead, edit) };
    match result {
        Err(refusal) if refusal != Refusal::Core(jumplabel::Error::OutOfMemory) => {
            warn(function, core::ptr::from_ref(tracepoint).cast(), refusal);
        }
        _ => {}
    }
    code(result)
}
