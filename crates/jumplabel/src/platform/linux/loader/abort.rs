//! Ends a process that would take wrong arms: sites of an object are jumps that should fall through, and the system
//! lets nobody write them.

use core::fmt::Write;

use crate::error::Error;
use crate::platform::linux::{libc, loader};

/// A line on standard error, which is cut if it is too long.
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

/// Says why, and aborts. `object` is the address of its record.
#[cold]
pub(crate) fn abort(object: usize, error: Error) -> ! {
    let mut line = Line { text: [0; 1024], len: 0 };
    let file = loader::file(object).and_then(|file| file.to_str().ok()).unwrap_or("this program");
    let _ = writeln!(
        line,
        "jumplabel: {file} was built with short sites (jumplabel_short, in C JUMPLABEL_SHORT) and `jumplabel link {file}` was not run, \
         so its sites have to be written now, and cannot be: {error}"
    );
    // SAFETY: the line has that many bytes.
    unsafe {
        libc::write(2, line.text.as_ptr().cast(), line.len);
        libc::abort()
    }
}
