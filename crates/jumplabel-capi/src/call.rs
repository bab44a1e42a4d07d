//! The C functions of static calls.

use core::ffi::c_int;

use jumplabel::{Outcome, RawCall};

use crate::result::{Refusal, code};
use crate::warn::warn;

/// A function of any type. It is cast to its own type before it is called.
pub type Function = unsafe extern "C" fn();

/// Makes a static call lead to `func`. If `func` is `first`, the call leads to its default again; also if `func` is `None` and the call is optional,
/// whose default calls nothing. Returns 0, or, after a warning, an error number.
///
/// # Safety
/// `call` is null, misaligned, or a static call with the default `first`. `func` has the call's type.
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
    // SAFETY: the caller passes a function of the call's type. A target of 0 is the call's default.
    Ok(unsafe { call.update(target(call, func, first)?) }?)
}

/// The target in the core's form: 0 for the call's default `first`, otherwise the address of `func`.
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

/// Returns 0. Static calls that return an integer or a pointer may lead here. The result has 64 bits, so that both registers of such a result are 0
/// on 32-bit machines.
#[unsafe(no_mangle)]
pub extern "C" fn __static_call_return0() -> i64 {
    0
}
