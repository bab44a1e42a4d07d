//! The C functions of tables of operations.

use core::ffi::{c_int, c_void};

use jumplabel::{RawCall, RawOps};

use crate::batch::{patchable, slice};
use crate::call::{Function, address, target};
use crate::result::{Refusal, code};

// include/jumplabel/pv_ops.h declares the same size and alignment.
const _: () = assert!(size_of::<RawOps>() == 8 && align_of::<RawOps>() == 8);

/// C's `struct jumplabel_op_call`: a static call of a table of operations, and its new target.
#[repr(C)]
pub struct OpCall {
    call: *const c_void,
    function: Option<Function>,
    /// The default target of the call.
    first: Option<Function>,
}

impl OpCall {
    /// The call, and its new target in the core's form.
    ///
    /// # Safety
    /// `self.call` is null, misaligned, not mapped, or a call that lives as long as the result. The function has the call's type.
    unsafe fn change<'a>(&self) -> Result<(&'a RawCall, usize), Refusal> {
        // SAFETY: the caller guarantees that `self.call` is a call that lives as long as the result, or an address that `patchable` refuses.
        let call = unsafe { patchable::<RawCall>(self.call) }?;
        Ok((call, target(call, address(self.function), address(self.first))?))
    }
}

/// Sets the backend of all operations of the table, and makes the table's static calls lead to that backend's functions. Returns 0 or an error.
///
/// # Safety
/// `ops` is null, misaligned, not mapped, or a table. `calls` is the address of `count` calls as `OpCall::change` takes them, or `count` is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_ops_set(
    ops: *const c_void,
    backend: c_int,
    calls: *const OpCall,
    count: usize,
) -> c_int {
    let set = || {
        // SAFETY: the caller guarantees that `ops` is a table that lives, or an address that `patchable` refuses.
        let ops = unsafe { patchable::<RawOps>(ops) }?;
        // SAFETY: `count` is not 0, so the caller guarantees that `calls` is the address of `count` calls.
        let calls = if count == 0 { &[] } else { unsafe { slice(calls, count) }? };
        // A negative number becomes a very large one, which is refused.
        // SAFETY: the caller guarantees that each function has its call's type.
        unsafe { jumplabel::set_ops(ops, backend as usize, calls.iter().map(|call| call.change())) }
    };
    code(set())
}

/// Forbids all further changes of the table. Returns 0 or an error.
///
/// # Safety
/// `ops` meets the conditions of [`jumplabel_ops_set`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_ops_seal(ops: *const c_void) -> c_int {
    // SAFETY: the caller guarantees that `ops` is a table that lives, or an address that `patchable` refuses.
    code(unsafe { patchable::<RawOps>(ops) }.and_then(|ops| Ok(ops.mode().seal()?)))
}

/// Jumps to `jumplabel::arch::__op_thunk`. The stubs of C's backends call this function, because the core's name is hidden.
#[cfg(all(jumplabel_sites, target_arch = "x86_64", not(windows)))]
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_op_thunk_() {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "endbr64",
        "jmp {thunk}",
        ".cfi_endproc",
        thunk = sym jumplabel::arch::__op_thunk,
    )
}
