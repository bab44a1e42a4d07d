//! Static calls.

use core::ffi::c_int;

use jumplabel::{Outcome, RawCall};

use crate::result::{Refusal, code};
use crate::warn::warn;

/// A function of any type.
pub type Function = unsafe extern "C" fn();

/// Leads a static call to `func`; if that is `first`, to its default. `None` leads an optional call to its default, which is nowhere.
/// 0, or, after a warning, the error number.
///
/// # Safety
/// Null, misaligned, or a static call with the default `first`. `func` is of its type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_static_call_update(
    call: *const RawCall,
    func: Option<Function>,
    first: Option<Function>,
) -> c_int {
    // SAFETY: the caller passes a static call, null or a misaligned address, and a function of the call's type.
    let result = unsafe { update(call, address(func), address(first)) };
    if let Err(refusal) = result {
        warn("static_call_update", call.cast(), refusal);
    }
    code(result)
}

unsafe fn update(call: *const RawCall, func: usize, first: usize) -> Result<Outcome, Refusal> {
    if !call.is_aligned() {
        return Err(Refusal::NotAKey);
    }
    // SAFETY: `call` is aligned, so the caller passes null or a static call.
    let call = unsafe { call.as_ref() }.ok_or(Refusal::NotAKey)?;
    // SAFETY: the caller passes a function of the call's type; 0 is the call's default.
    Ok(unsafe { call.update(target(call, func, first)?) }?)
}

/// What the core calls `func`, of a call that led to `first` at first: 0 is the default.
pub(crate) fn target(call: &RawCall, func: usize, first: usize) -> Result<usize, Refusal> {
    match func {
        0 if !call.is_optional() => Err(Refusal::Nowhere),
        _ if func == first => Ok(0),
        _ => Ok(func),
    }
}

pub(crate) fn address(function: Option<Function>) -> usize {
    function.map_or(0, |function| function as usize)
}

/// Returns 0, for static calls that return an integer or a pointer. Where registers have 32 bits, in both of those that an integer of
/// 64 bits is returned in.
#[unsafe(no_mangle)]
pub extern "C" fn __static_call_return0() -> i64 {
    0
}
