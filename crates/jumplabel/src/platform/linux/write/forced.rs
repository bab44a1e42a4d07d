//! The writer that someone has asked for: the program, with [`set_writer`](crate::platform::set_writer), or its user, with an environment variable.

use core::ffi::{CStr, c_char};
use core::sync::atomic::{AtomicU8, Ordering};

use crate::platform::WriterKind;
use crate::platform::linux::libc;

const AUTOMATIC: u8 = 0;
const UNKNOWN: u8 = u8::MAX;
const BAD: u8 = UNKNOWN - 1;
/// The number of the requested writer, or one of the three constants above.
static FORCED: AtomicU8 = AtomicU8::new(UNKNOWN);

/// The number that [`FORCED`] has for a writer, or for the automatic choice.
fn number(kind: Option<WriterKind>) -> u8 {
    kind.map_or(AUTOMATIC, |kind| kind as u8 + 1)
}

/// Whether the environment names a writer that does not exist.
pub(super) fn is_unknown() -> bool {
    FORCED.load(Ordering::Relaxed) == BAD
}

/// The writer that someone has asked for. `None` for the automatic choice.
pub(super) fn writer() -> Option<WriterKind> {
    WriterKind::ALL.get(usize::from(FORCED.load(Ordering::Relaxed).checked_sub(1)?)).copied()
}

/// Makes `kind` the only writer from now on. `None` and `Custom` stand for the automatic choice.
pub(crate) fn set(kind: Option<WriterKind>) {
    FORCED.store(number(kind.filter(|kind| *kind != WriterKind::Custom)), Ordering::Relaxed);
}

/// Reads the environment, unless the program has already asked for a writer.
pub(crate) fn read_environment() {
    if FORCED.load(Ordering::Relaxed) == UNKNOWN {
        FORCED.store(from_environment(), Ordering::Relaxed);
    }
}

/// The number that the environment asks for. The environment is read once, in the first constructor. If that is a constructor of the program, no
/// other thread can change the environment at that time.
fn from_environment() -> u8 {
    const AT_SECURE: core::ffi::c_ulong = 23;
    // SAFETY: the calls only read the auxiliary vector and the environment, and this is called once.
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
