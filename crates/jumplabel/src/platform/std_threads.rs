//! Threads that run code of the library, and functions to wait, on platforms other than Linux. All of this uses std.

use core::ffi::CStr;
use std::thread;

/// A thread of the library, which ends when its body returns.
pub(crate) struct Thread {
    pub(crate) name: &'static CStr,
    pub(crate) body: fn(),
}

impl Thread {
    /// Starts the thread. Returns false if the system refuses.
    pub(crate) fn start(&'static self) -> bool {
        let name = self.name.to_str().unwrap_or_default();
        thread::Builder::new().name(name.into()).spawn(self.body).is_ok()
    }
}

pub(crate) use std::process::id as process;
pub(crate) use std::thread::{sleep as pause, yield_now as give_way};
