//! The writers that work where the test runs. If `procmem` changes bytes under an emulator, the emulator goes on running its earlier
//! translation; there the self-test must say so.

use jumplabel::WriterKind;

use crate::scenario;

/// True if this writer works here.
pub fn works(writer: Option<WriterKind>) -> bool {
    writer != Some(WriterKind::Procmem) || scenario::emulator().is_none()
}

/// The writer for turn `number`: the writers of [`all`], one after the other.
pub fn turn(number: usize) -> Option<WriterKind> {
    let all = all();
    all[number % all.len()]
}

/// The automatic choice and all others that work.
pub fn all() -> Vec<Option<WriterKind>> {
    let all = [None, Some(WriterKind::Procmem), Some(WriterKind::Mprotect), Some(WriterKind::Remap)];
    all.into_iter().filter(|&writer| works(writer)).collect()
}
