//! The writers that work where the test runs. Under an emulator, `procmem` does not work: it changes the bytes, and the emulator goes on running its
//! earlier translation of them.

use jumplabel::WriterKind;

use crate::scenario;

/// True if this writer works here.
pub fn works(writer: Option<WriterKind>) -> bool {
    writer != Some(WriterKind::Procmem) || scenario::emulator().is_none()
}

/// The writer for turn `number`. The turns go through the list of [`all`] again and again.
pub fn turn(number: usize) -> Option<WriterKind> {
    let all = all();
    all[number % all.len()]
}

/// The automatic choice (`None`), and all writers that work here.
pub fn all() -> Vec<Option<WriterKind>> {
    let all = [None, Some(WriterKind::Procmem), Some(WriterKind::Mprotect), Some(WriterKind::Remap)];
    all.into_iter().filter(|&writer| works(writer)).collect()
}
