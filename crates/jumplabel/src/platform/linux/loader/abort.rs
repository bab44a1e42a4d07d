//! Aborts a process whose checks would take the wrong arm. That happens if an object was built with short sites and not treated by `jumplabel link`,
//! and the system refuses to let the library write its sites: some of them are jumps but should fall through.

use crate::error::Error;
use crate::platform::linux::{libc, loader};
use crate::text;

/// Writes the reason to standard error, and aborts the process. `object` is the address of the object's record. `error` is the error of the attempt
/// to write the sites.
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
    // SAFETY: `write` only reads the bytes of the line. `abort` can be called at any time.
    unsafe {
        libc::write(2, line.as_ptr().cast(), line.len());
        libc::abort()
    }
}
