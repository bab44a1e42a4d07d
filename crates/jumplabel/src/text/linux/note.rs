//! The ELF note by which a copy of this library finds another one in the process.
//!
//! ```text
//!   .note.jumplabel │ here │ header │        two self-relative words: HERE - .   __ehdr_start - .
//!                      └─► HERE: pointer ─► Runtime: magic, version
//! ```
//!
//! A tool may have moved the note away from what it leads to (patchelf does, if it needs room for longer program headers). Then the
//! first word leads nowhere. The two words together still say how far `HERE` is from the object's header. The header began a page; it
//! need not be the first page of the object any more, but it is one of the first.
//!
//! The reader believes nothing that a note says. Before it reads an address, it looks it up in the segments that the loader has mapped.
//! What it finds must end at the magic of a [`Runtime`]; if not, the note leads nowhere.

use core::ffi::{c_int, c_void};

use super::libc;
use super::segments::{PT_NOTE, Segments};
use crate::format::{MAGIC, Runtime, VERSION};
use crate::text::copies::RUNTIME;

/// What the note leads to. A Rust `dylib` exports [`RUNTIME`] itself, which then has no address at link time.
#[cfg(jumplabel_sites)]
static HERE: &Runtime = &RUNTIME;

#[cfg(jumplabel_sites)]
core::arch::global_asm!(
    ".weak __ehdr_start",
    ".hidden __ehdr_start",
    ".pushsection .note.jumplabel, \"a\", %note",
    ".balign 4",
    ".long 10, 8, {version}",
    ".asciz \"jumplabel\"",
    ".balign 4",
    ".long {here} - .",
    ".long __ehdr_start - .",
    ".popsection",
    version = const VERSION,
    here = sym HERE,
);

const NAME: &[u8; 12] = b"jumplabel\0\0\0";
/// Bytes of the words before the name; and with the name.
const WORDS: usize = 12;
const HEAD: usize = WORDS + NAME.len();
/// Bytes of a note of ours behind its head.
const DESCRIPTION: usize = 8;
/// A header may be at any multiple of this; every system's page is a multiple of it.
const PAGE: usize = 4 << 10;
/// How many pages the reader looks at. What a tool puts in front of a program is a copy of its dynamic symbols at the most.
const PAGES: usize = 4000;

/// Another copy than this, by the first note that leads to one. Calls the dynamic loader.
pub(super) fn find_other() -> Option<&'static Runtime> {
    let mut other: *const Runtime = core::ptr::null();
    // SAFETY: the callback keeps to its arguments; the loader's lock is recursive, and ours is not held.
    unsafe { libc::dl_iterate_phdr(look, (&raw mut other).cast()) };
    // SAFETY: in an object that is loaded; its destructor has not run.
    unsafe { other.as_ref() }
}

unsafe extern "C" fn look(info: *const libc::DlPhdrInfo, _size: usize, data: *mut c_void) -> c_int {
    // SAFETY: the loader's argument, during the call.
    let segments = unsafe { Segments::of(&*info) };
    let (this, mut other) = (&raw const RUNTIME as usize, None);
    runtimes(segments, &mut |runtime| {
        if runtime != this {
            other.get_or_insert(runtime);
        }
    });
    let Some(other) = other else { return 0 };
    // SAFETY: `find_other` passes a pointer to a pointer.
    unsafe { data.cast::<usize>().write(other) };
    1
}

/// Visits the addresses of the runtimes that the notes of an object lead to.
fn runtimes(segments: Segments<'_>, visit: &mut dyn FnMut(usize)) {
    for (header, start, _) in segments.of_type(PT_NOTE) {
        // Notes in a segment that is 8-aligned are padded to 8 bytes.
        let alignment = if header.p_align == 8 { 8 } else { 4 };
        // GNU strip and objcopy forget the address of a segment whose first section they remove, and not its place in the
        // file.
        let in_file = segments.address_of(header.p_offset).filter(|&address| address != start);
        for start in [Some(start), in_file].into_iter().flatten() {
            let end = start.saturating_add(header.p_filesz.min(header.p_memsz));
            let mut note = start;
            while let Some(next) = behind(segments, note, end, alignment) {
                if let Some(runtime) = runtime_of(segments, note) {
                    visit(runtime);
                }
                note = next;
            }
        }
    }
}

/// Where the note behind the one at `note` begins; `None` if the one at `note` is not whole before `end`.
fn behind(segments: Segments<'_>, note: usize, end: usize, alignment: usize) -> Option<usize> {
    let (name, description) = (segments.word(note)? as usize, segments.word(note.checked_add(4)?)? as usize);
    let name_end = WORDS.checked_add(name)?.checked_next_multiple_of(alignment)?;
    let length = name_end.checked_add(description)?.checked_next_multiple_of(alignment)?;
    let is_whole = note.checked_add(WORDS)? <= end && name_end.checked_add(description)? <= end - note;
    note.checked_add(length).filter(|_| is_whole)
}

/// The runtime that the note at `note` leads to, if it is one of ours.
fn runtime_of(segments: Segments<'_>, note: usize) -> Option<usize> {
    let head = [NAME.len() as u32 - 2, DESCRIPTION as u32, VERSION];
    let is_ours = segments.holds(note, HEAD + DESCRIPTION)
        && head.iter().zip(0..).all(|(&word, at)| segments.word(note + at * 4) == Some(word))
        // SAFETY: the head can be read.
        && unsafe { ((note + WORDS) as *const [u8; NAME.len()]).read_unaligned() } == *NAME;
    if !is_ours {
        return None;
    }
    let leads_to = |at: usize| Some(at.wrapping_add_signed(segments.word(at)?.cast_signed() as isize));
    let (here, header) = (leads_to(note + HEAD)?, leads_to(note + HEAD + 4)?);
    if let Some(runtime) = runtime_at(segments, here) {
        return Some(runtime);
    }
    // The note was moved.
    let distance = here.wrapping_sub(header);
    let (start, end) = segments.bounds()?;
    let pages = (start & !(PAGE - 1)..end).step_by(PAGE).take(PAGES);
    pages.filter_map(|header| runtime_at(segments, header.wrapping_add(distance))).next()
}

/// The runtime that the pointer at `here` leads to. It must be in the object that has the note; another object's is found by that
/// object's own note.
fn runtime_at(segments: Segments<'_>, here: usize) -> Option<usize> {
    if !here.is_multiple_of(align_of::<usize>()) {
        return None;
    }
    let runtime = segments.pointer(here)?;
    let is_one = runtime.is_multiple_of(align_of::<Runtime>())
        && segments.holds(runtime, size_of::<Runtime>())
        && MAGIC.iter().zip(0..).all(|(&word, at)| segments.word(runtime + at * 4) == Some(word))
        && segments.word(runtime + core::mem::offset_of!(Runtime, version)) == Some(VERSION);
    is_one.then_some(runtime)
}

#[cfg(test)]
mod tests;
