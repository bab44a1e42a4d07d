//! Static calls.

use core::ffi::c_int;

use jumplabel::RawCall;

use crate::result::Refusal;

/// Leads a static call to `func`.
///
/// # Safety
/// `call` is a static call, and `func` of its type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_static_call_update(
    call: Option<&RawCall>,
    func: Option<unsafe extern "C" fn()>,
) -> c_int {
    let (Some(call), Some(func)) = (call, func) else { return Refusal::NotAKey.code() };
    // SAFETY: by the contract.
    match unsafe { call.update(func as usize) } {
        Ok(_) => 0,
        Err(error) => Refusal::Core(error).code(),
    }
}
