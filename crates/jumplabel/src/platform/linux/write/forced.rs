//! The writer that someone has asked for: the program, by [`set_writer`](crate::platform::set_writer), or the program's user, by the environment
//! variable `JUMPLABEL_WRITER`.

use core::ffi::{CStr, c_char};
use core::sync::atomic::{AtomicU8, Ordering};

use crate::platform::WriterKind;
use crate::platform::linux::libc;

const AUTOMATIC: u8 = 0;
const UNKNOWN: u8 = u8::MAX;
const BAD: u8 = UNKNOWN - 1;
/// The number of the requested writer (see [`number`]), or one of three constants. `AUTOMATIC` stands for the library's own choice. `UNKNOWN` means
/// that the environment was not read yet. `BAD` means that the environment names a writer that does not exist.
static FORCED: AtomicU8 = AtomicU8::new(UNKNOWN);

/// The value of [`FORCED`] that stands for this writer, or for the automatic choice if `kind` is `None`.
fn number(kind: Option<WriterKind>) -> u8 {
    kind.map_or(AUTOMATIC, |kind| kind as u8 + 1)
}

/// Whether the environment names a writer that does not exist, and the program has not picked one.
pub(super) fn is_unknown() -> bool {
    FORCED.load(Ordering::Relaxed) == BAD
}

/// The writer that someone has asked for. `None` if the library is to choose.
pub(super) fn writer() -> Option<WriterKind> {
    WriterKind::ALL.get(usize::from(FORCED.load(Ordering::Relaxed).checked_sub(1)?)).copied()
}

/// Makes `kind` the only writer from now on. `None` and `Custom` stand for the automatic choice.
pub(crate) fn set(kind: Option<WriterKind>) {
    FORCED.store(number(kind.filter(|kind| *kind != WriterKind::Custom)), Ordering::Relaxed);
}

/// Reads the environment, unless it was read before or the program has already asked for a writer.
pub(crate) fn read_environment() {
    if FORCED.load(Ordering::Relaxed) == UNKNOWN {
        FORCED.store(from_environment(), Ordering::Relaxed);
    }
}

/// The value of [`FORCED`] that the environment asks for. In a program with raised privileges, ignores the environment.
fn from_environment() -> u8 {
    const AT_SECURE: core::ffi::c_ulong = 23;
    // SAFETY: the calls only read the auxiliary vector and the environment. The first constructor of this instance calls this function, usually
    // before the program has other threads that could change the environment.
    let value = unsafe {
        if libc::getauxval(AT_SECURE) != 0 {
            return AUTOMATIC;
        }
        let value: *const c_char = libc::getenv(c"JUMPLABEL_WRITER".as_ptr());
        if value.is_null() {
            return AUTOMATIC;
        }
        CStr::from_ptr(value)
    };
    match value.to_bytes() {
        b"" => AUTOMATIC,
        name => WriterKind::named_by(name).map_or(BAD, number),
    }
}
