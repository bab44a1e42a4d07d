//! The C functions of `include/jumplabel/usdt.h`, which look for tracers that have attached to the program's tracepoints.

use core::ffi::{c_int, c_long};

use jumplabel::usdt;

use crate::result::{Refusal, code};

/// Starts a thread that looks for tracers again and again. Returns 0 or an error.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_usdt_watch() -> c_int {
    code(usdt::watch().map_err(Refusal::from))
}

/// Looks for tracers once. Returns the number of tracepoints that have a tracer, or an error.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_usdt_look() -> c_long {
    let looked = usdt::look().and_then(|looked| looked.error.map_or(Ok(looked.traced), Err));
    looked
        .map_or_else(|error| Refusal::from(error).long_code(), |traced| c_long::try_from(traced).unwrap_or(c_long::MAX))
}
