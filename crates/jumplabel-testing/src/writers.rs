//! The writers that work where the test runs. An emulator goes on running what it has translated when `procmem` changes the
//! bytes under it; there the self-test must say so.

use jumplabel::WriterKind;

use crate::scenario;

/// Whether this one does.
pub fn works(writer: Option<WriterKind>) -> bool {
    writer != Some(WriterKind::Procmem) || scenario::emulator().is_none()
}

/// One after the other of [`all`].
pub fn turn(number: usize) -> Option<WriterKind> {
    let all = all();
    all[number % all.len()]
}

/// The automatic choice and all others that work.
pub fn all() -> Vec<Option<WriterKind>> {
    let all = [None, Some(WriterKind::Procmem), Some(WriterKind::Mprotect), Some(WriterKind::Remap)];
    all.into_iter().filter(|&writer| works(writer)).collect()
}
