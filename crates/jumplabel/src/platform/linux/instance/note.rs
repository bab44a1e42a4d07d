//! The library's ELF notes. By these notes, an instance finds another instance of the library in the process, and finds out whether an object that is
//! not registered has a record.
//!
//! ```text
//!   .note.jumplabel │ here │ header │        two words, relative to their own addresses: HERE - .   __ehdr_start - .
//!                      └─► HERE: pointer ─► Runtime: magic, version
//!   .note.jumplabel │                        empty: the object has a record
//! ```
//!
//! A tool may have moved the note, without the things that the note leads to. (patchelf does that if it needs room for longer program headers.) The
//! first word then leads nowhere. But the two words together still give the distance from the ELF header to `HERE`, as the linker placed them. The
//! header stood at the beginning of a page, which is still one of the first pages of the object, but perhaps not the first one.
//!
//! The code that reads a note does not trust the note. It reads an address only if the address lies in a segment that the loader has mapped. A note
//! leads to a [`Runtime`] only if the magic and the version of a `Runtime` are there; otherwise the note is ignored.

use core::ffi::{c_int, c_void};
use core::mem::offset_of;

use crate::format::{MAGIC, Runtime, VERSION};
use crate::platform::instances::RUNTIME;
use crate::platform::linux::libc;
use crate::platform::linux::loader::segments::{PT_NOTE, Segments};

/// The pointer that the note leads to. The note does not lead to [`RUNTIME`] itself, because a Rust `dylib` exports `RUNTIME`, and the distance to an
/// exported symbol is not known at link time.
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
/// The first words of an instance's note: the length of its name, the length of its description, its type, and its name.
const OURS: [u32; 6] = head(DESCRIPTION as u32);

const fn head(description: u32) -> [u32; 6] {
    [10, description, VERSION, name_at(0), name_at(4), name_at(8)]
}
/// The number of bytes in a note before its name.
const WORDS: u64 = 12;
/// The number of bytes in a note before its description.
const HEAD: usize = size_of_val(&OURS);

const fn name_at(at: usize) -> u32 {
    u32::from_ne_bytes([NAME[at], NAME[at + 1], NAME[at + 2], NAME[at + 3]])
}

/// The number of bytes of the description, which are the two words that follow the name in an instance's note.
const DESCRIPTION: usize = 8;
/// The step, in bytes, in which [`runtime_of`] looks for the ELF header. The header lies at the beginning of a page, and the size of a page is a
/// multiple of this number on every system.
const PAGE: usize = 4 << 10;
/// The number of steps in which [`runtime_of`] looks for the ELF header. A tool puts little in front of the header: at most a copy of the dynamic
/// symbols.
const PAGES: usize = 4000;

/// Another instance in this process: the first one whose note is found. `None` if there is no other instance. Calls the dynamic loader.
pub(super) fn find_other() -> Option<&'static Runtime> {
    let mut other: *const Runtime = core::ptr::null();
    // SAFETY: the callback has the type that `dl_iterate_phdr` expects, and `data` points to the pointer that the callback writes. The call cannot
    // deadlock: this library's lock is not held, and the loader's lock is recursive.
    unsafe { libc::dl_iterate_phdr(look, (&raw mut other).cast()) };
    // SAFETY: the pointer is null, or `look` found a valid `Runtime` there, in an object that is still loaded.
    unsafe { other.as_ref() }
}

unsafe extern "C" fn look(info: *const libc::DlPhdrInfo, _size: usize, data: *mut c_void) -> c_int {
    // SAFETY: `info` is the argument of this callback of `dl_iterate_phdr`, and is used only before it returns.
    let segments = unsafe { Segments::of(&*info) };
    let (this, mut other) = (&raw const RUNTIME as usize, None);
    notes(&segments, &mut |note| {
        if let Some(runtime) = runtime_of(&segments, note).filter(|&runtime| runtime != this) {
            other.get_or_insert(runtime);
        }
    });
    let Some(other) = other else { return 0 };
    // SAFETY: `data` points to the variable `other` of `find_other`, which has the size of an address.
    unsafe { data.cast::<usize>().write(other) };
    1
}

/// Whether the object that contains `address` has a record, whether or not the object is registered yet. Calls the dynamic loader.
#[cfg(jumplabel_sites)]
pub(crate) fn has_record(mut address: usize) -> bool {
    // SAFETY: the callback has the type that `dl_iterate_phdr` expects, and `data` points to the address that the callback reads. The call cannot
    // deadlock: this library's lock is not held, and the loader's lock is recursive.
    unsafe { libc::dl_iterate_phdr(look_for_record, (&raw mut address).cast()) != 0 }
}

#[cfg(jumplabel_sites)]
unsafe extern "C" fn look_for_record(info: *const libc::DlPhdrInfo, _size: usize, address: *mut c_void) -> c_int {
    // SAFETY: `info` is the argument of this callback of `dl_iterate_phdr`, and is used only before it returns. `address` points to the argument of
    // `has_record`.
    let (segments, address) = unsafe { (Segments::of(&*info), address.cast::<usize>().read()) };
    c_int::from(segments.holds(address, 1) && is_of_record(&segments))
}

/// Whether the object has the empty note of this library, which says that the object has a record.
#[cfg(any(jumplabel_sites, test))]
fn is_of_record(segments: &Segments<'_>) -> bool {
    let mut is_one = false;
    notes(segments, &mut |note| is_one |= segments.words(note) == Some(head(0)));
    is_one
}

/// Calls `visit` with the address of each ELF note of an object.
#[inline(never)]
fn notes(segments: &Segments<'_>, visit: &mut dyn FnMut(usize)) {
    for (header, start, _) in segments.of_type(PT_NOTE) {
        // In a segment that is aligned to 8 bytes, notes are padded to 8 bytes, otherwise to 4.
        let alignment = if header.p_align == 8 { 8 } else { 4_u64 };
        // If GNU strip or objcopy have removed the first section of a segment, the address in the segment's program header is wrong, but its offset
        // in the file is right. So this looks at both places.
        let in_file = segments.address_of(header.p_offset).unwrap_or(start);
        let mut start = start;
        loop {
            let end = start.saturating_add(header.p_filesz.min(header.p_memsz));
            let mut note = start;
            while let Some(next) = behind(segments, note, end, alignment) {
                visit(note);
                note = next;
            }
            if start == in_file {
                break;
            }
            start = in_file;
        }
    }
}

/// The address after the note at `note`, where the next note begins. `None` if the note at `note` cannot be read or extends beyond `end`.
#[inline(never)]
fn behind(segments: &Segments<'_>, note: usize, end: usize, alignment: u64) -> Option<usize> {
    let [name, description] = segments.words(note)?;
    // The lengths have 32 bits, so no sum here overflows 64 bits.
    let padded = |length: u64| (length + alignment - 1) & !(alignment - 1);
    let name_end = padded(WORDS + u64::from(name));
    let unpadded = name_end + u64::from(description);
    let is_whole = note.checked_add(WORDS as usize)? <= end && unpadded <= (end - note) as u64;
    note.checked_add(padded(unpadded) as usize).filter(|_| is_whole)
}

/// The address of the `Runtime` that the note at `note` leads to. `None` if this is not an instance's note, or if it leads to no `Runtime`.
#[inline(never)]
fn runtime_of(segments: &Segments<'_>, note: usize) -> Option<usize> {
    let [head @ .., to_here, to_header] = segments.words::<{ (HEAD + DESCRIPTION) / 4 }>(note)?;
    if head != OURS {
        return None;
    }
    let leads_to = |at: usize, by: u32| at.wrapping_add_signed(by.cast_signed() as isize);
    let (here, header) = (leads_to(note + HEAD, to_here), leads_to(note + HEAD + 4, to_header));
    if let Some(runtime) = runtime_at(segments, here) {
        return Some(runtime);
    }
    // The note was moved, or leads nowhere. So this tries each address at which the ELF header can be.
    let distance = here.wrapping_sub(header);
    let (start, end) = segments.bounds()?;
    let mut header = start & !(PAGE - 1);
    let end = end.min(header.saturating_add(PAGES * PAGE));
    while header < end {
        let runtime = runtime_at(segments, header.wrapping_add(distance));
        if runtime.is_some() {
            return runtime;
        }
        header += PAGE;
    }
    None
}

// `runtime_at` looks for the magic and the version at these offsets.
const _: () = assert!(offset_of!(Runtime, magic) == 0 && offset_of!(Runtime, version) == 8);

/// The address of the `Runtime` that the pointer at `here` leads to. `None` if there is none in the object that has the note. (A `Runtime` in another
/// object is found by that object's own note.)
#[inline(never)]
fn runtime_at(segments: &Segments<'_>, here: usize) -> Option<usize> {
    if !here.is_multiple_of(align_of::<usize>()) {
        return None;
    }
    let runtime = segments.pointer(here)?;
    let [one, two] = MAGIC;
    let is_one = runtime.is_multiple_of(align_of::<Runtime>())
        && segments.holds(runtime, size_of::<Runtime>())
        && segments.words(runtime) == Some([one, two, VERSION]);
    is_one.then_some(runtime)
}

#[cfg(test)]
mod tests;
