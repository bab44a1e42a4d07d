//! The C functions of tables of operations.

use core::ffi::{c_int, c_void};

use jumplabel::{RawCall, RawOps};

use crate::batch::{patchable, slice};
use crate::call::{Function, address, target};
use crate::result::{Refusal, code};

// include/jumplabel/pv_ops.h declares the same size and alignment.
const _: () = assert!(size_of::<RawOps>() == 8 && align_of::<RawOps>() == 8);

/// `struct jumplabel_op_call`.
#[repr(C)]
pub struct OpCall {
    call: *const c_void,
    function: Option<Function>,
    /// The first target of the call.
    first: Option<Function>,
}

impl OpCall {
    /// # Safety
    /// `self.call` is null, misaligned, not mapped, or a call that lives as long as the result. The function has the call's type.
    unsafe fn change<'a>(&self) -> Result<(&'a RawCall, usize), Refusal> {
        // SAFETY: the caller says that the call lives as long as the result, or that `patchable` refuses its address.
        let call = unsafe { patchable::<RawCall>(self.call) }?;
        Ok((call, target(call, address(self.function), address(self.first))?))
    }
}

/// Sets the backend of all operations of the table, and makes the table's calls lead to this backend's functions.
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
        // SAFETY: the caller passes a table that lives, or an address that `patchable` refuses.
        let ops = unsafe { patchable::<RawOps>(ops) }?;
        // SAFETY: the caller passes `count` calls, if `count` is not 0.
        let calls = if count == 0 { &[] } else { unsafe { slice(calls, count) }? };
        // SAFETY: the caller says that each function has its call's type.
        // A negative number becomes a very large one, which is refused.
        unsafe { jumplabel::set_ops(ops, backend as usize, calls.iter().map(|call| call.change())) }
    };
    code(set())
}

/// Forbids all further changes of the table.
///
/// # Safety
/// `ops` meets the conditions of [`jumplabel_ops_set`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jumplabel_ops_seal(ops: *const c_void) -> c_int {
    // SAFETY: the caller passes a table that lives, or an address that `patchable` refuses.
    code(unsafe { patchable::<RawOps>(ops) }.and_then(|ops| Ok(ops.mode().seal()?)))
}

/// The name under which the stubs of C's backends find `jumplabel::arch::__op_thunk`.
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
