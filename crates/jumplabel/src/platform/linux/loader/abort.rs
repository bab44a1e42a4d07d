//! Ends a process in which checks would take the wrong arm: some sites of an object should fall through, but are jumps, and the system does
//! not allow them to be written.

use core::fmt::Write;

use crate::error::Error;
use crate::platform::linux::{libc, loader};

/// A line for standard error. If it is too long, its end is cut off.
struct Line {
    text: [u8; 1024],
    len: usize,
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        for &byte in text.as_bytes() {
            let Some(place) = self.text.get_mut(self.len) else { return Ok(()) };
            *place = byte;
            self.len += 1;
        }
        Ok(())
    }
}

/// Writes the reason to standard error, and aborts. `object` is the address of the object's record.
#[cold]
pub(crate) fn abort(object: usize, error: Error) -> ! {
    let mut line = Line { text: [0; 1024], len: 0 };
    let file = loader::file(object).and_then(|file| file.to_str().ok()).unwrap_or("this program");
    let _ = writeln!(
        line,
        "jumplabel: {file} was built with short sites (jumplabel_short, in C JUMPLABEL_SHORT) and `jumplabel link {file}` was not run, \
         so its sites have to be written now, and cannot be: {error}"
    );
    // SAFETY: the line has `len` bytes.
    unsafe {
        libc::write(2, line.text.as_ptr().cast(), line.len);
        libc::abort()
    }
}
