//! The C functions of static calls.

use core::ffi::c_int;

use jumplabel::{Outcome, RawCall};

use crate::result::{Refusal, code};
use crate::warn::warn;

/// A function of any type. The code that calls it casts it to its own type first.
pub type Function = unsafe extern "C" fn();

/// Makes a static call lead to `func`. If `func` is `first`, the call leads to its default again. If `func` is `None`, the call must be optional; it
/// then calls nothing. Returns 0 or, after a warning, an error number.
///
/// # Safety
/// `call` is null, misaligned, or a static call with the default `first`. `func` has the call's type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_static_call_update(
    call: *const RawCall,
    func: Option<Function>,
    first: Option<Function>,
) -> c_int {
    // SAFETY: the caller guarantees that `call` is null, misaligned or a static call, and that `func` has the call's type.
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
    // SAFETY: `call` is aligned. So the caller guarantees that it is null or the address of a static call.
    let call = unsafe { call.as_ref() }.ok_or(Refusal::NotAKey)?;
    // SAFETY: the target is 0, which stands for the call's default, or `func`, which has the call's type, as the caller guarantees.
    Ok(unsafe { call.update(target(call, func, first)?) }?)
}

/// The target in the core's form: 0 if `func` is `first`, the call's default, otherwise `func`. Refuses 0 as `func` if the call is not optional.
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

/// Returns 0. A static call that returns an integer or a pointer may lead to this function. The result has 64 bits, so that on 32-bit machines both
/// registers of a 64-bit result are 0.
#[unsafe(no_mangle)]
pub extern "C" fn __static_call_return0() -> i64 {
    0
}
