//! Threads of the library's own, and waiting, by means of std, on platforms other than Linux.

use core::ffi::CStr;
use std::thread;

/// A thread that ends when its body returns.
pub(crate) struct Thread {
    pub(crate) name: &'static CStr,
    pub(crate) body: fn(),
}

impl Thread {
    /// Starts the thread. Returns whether it runs, because the system may refuse.
    pub(crate) fn start(&'static self) -> bool {
        let name = self.name.to_str().unwrap_or_default();
        thread::Builder::new().name(name.into()).spawn(self.body).is_ok()
    }
}

pub(crate) use std::process::id as process;
pub(crate) use std::thread::{sleep as pause, yield_now as give_way};
