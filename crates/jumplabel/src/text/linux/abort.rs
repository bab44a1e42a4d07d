//! The end of a process that cannot go on.

use core::fmt::{self, Write};

use rustix::fd::BorrowedFd;

unsafe extern "C" {
    fn abort() -> !;
}

struct StandardError;

impl Write for StandardError {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // SAFETY: a number that is not -1; if nothing is open there, the write is refused.
        let _ = rustix::io::write(unsafe { BorrowedFd::borrow_raw(2) }, text.as_bytes());
        Ok(())
    }
}

/// Says why on standard error, and aborts.
#[cold]
pub(crate) fn abort_with(why: fmt::Arguments<'_>) -> ! {
    let _ = StandardError.write_fmt(why);
    // SAFETY: no conditions.
    unsafe { abort() }
}
