//! Ends a process in which checks would take the wrong arm: some sites of an object should fall through but are jumps, and the system refuses to
//! let the library write to them.

use crate::error::Error;
use crate::platform::linux::{libc, loader};
use crate::text;

/// Writes the reason to standard error, and aborts. `object` is the address of the object's record.
#[cold]
pub(crate) fn abort(object: usize, error: Error) -> ! {
    let file = loader::file(object).unwrap_or(c"this program");
    let mut room = [0; 1024];
    let line = text::line(&mut room, b'\n', &|pieces| {
        pieces("jumplabel: ");
        text::name(file, pieces);
        pieces(" was built with short sites (jumplabel_short, in C JUMPLABEL_SHORT) and `jumplabel link ");
        text::name(file, pieces);
        pieces("` was not run, so its sites have to be written now, and cannot be: ");
        error.tell(pieces);
    });
    // SAFETY: the line has that many bytes.
    unsafe {
        libc::write(2, line.as_ptr().cast(), line.len());
        libc::abort()
    }
}
