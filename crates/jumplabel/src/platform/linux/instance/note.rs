//! ELF notes. Through them, an instance of this library finds another instance in the process, and objects that are not registered yet.
//!
//! ```text
//!   .note.jumplabel │ here │ header │        two self-relative words: HERE - .   __ehdr_start - .
//!                      └─► HERE: pointer ─► Runtime: magic, version
//!   .note.jumplabel │                        empty: the object has a record
//! ```
//!
//! A tool may have moved the note, but not the things that it leads to. (patchelf does that if it needs room for longer program headers.) Then the
//! first word leads nowhere. But the two words together still give the distance of `HERE` from the ELF header with which the linker began the
//! object. That header stood at the beginning of a page. The page still is one of the first pages of the object, but perhaps not the very first.
//!
//! The reader does not trust a note. Before it reads at an address, it looks the address up in the segments that the loader has mapped. At the
//! end it must find the magic of a [`Runtime`]; otherwise the note leads nowhere.

use core::ffi::{c_int, c_void};
use core::mem::offset_of;

use crate::format::{MAGIC, Runtime, VERSION};
use crate::platform::instances::RUNTIME;
use crate::platform::linux::libc;
use crate::platform::linux::loader::segments::{PT_NOTE, Segments};

/// The pointer to which the note leads. The note does not lead to [`RUNTIME`] directly: a Rust `dylib` exports `RUNTIME`, and then its
/// address is not known at link time.
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
/// The first words of a note of this library: the lengths of the note's name and of its description, its type, its name.
const OURS: [u32; 6] = head(DESCRIPTION as u32);

const fn head(description: u32) -> [u32; 6] {
    [10, description, VERSION, name_at(0), name_at(4), name_at(8)]
}
/// The number of bytes in front of the name. `HEAD` is the number of bytes up to the end of the name.
const WORDS: u64 = 12;
const HEAD: usize = size_of_val(&OURS);

const fn name_at(at: usize) -> u32 {
    u32::from_ne_bytes([NAME[at], NAME[at + 1], NAME[at + 2], NAME[at + 3]])
}

/// The number of bytes that follow the head in a note of this library.
const DESCRIPTION: usize = 8;
/// The ELF header lies at a multiple of this number of bytes. On every system, the size of a page is a multiple of this number, too.
const PAGE: usize = 4 << 10;
/// The number of pages in which the reader searches for the ELF header. A tool puts at most a copy of the dynamic symbols in front of it.
const PAGES: usize = 4000;

/// Another instance in this process: the first one to which a note leads. `None` if there is none. Calls the dynamic loader.
pub(super) fn find_other() -> Option<&'static Runtime> {
    let mut other: *const Runtime = core::ptr::null();
    // SAFETY: the callback uses only its arguments. The loader's lock is recursive, and this library's lock is not held.
    unsafe { libc::dl_iterate_phdr(look, (&raw mut other).cast()) };
    // SAFETY: the pointer is null, or leads into an object that is loaded and whose destructor has not run.
    unsafe { other.as_ref() }
}

unsafe extern "C" fn look(info: *const libc::DlPhdrInfo, _size: usize, data: *mut c_void) -> c_int {
    // SAFETY: `info` comes from the loader, and is used only during this call.
    let segments = unsafe { Segments::of(&*info) };
    let (this, mut other) = (&raw const RUNTIME as usize, None);
    notes(&segments, &mut |note| {
        if let Some(runtime) = runtime_of(&segments, note).filter(|&runtime| runtime != this) {
            other.get_or_insert(runtime);
        }
    });
    let Some(other) = other else { return 0 };
    // SAFETY: `find_other` passes a pointer to a pointer.
    unsafe { data.cast::<usize>().write(other) };
    1
}

/// Whether the object that contains `address` has a record, even if the object is not registered. Calls the dynamic loader.
#[cfg(jumplabel_sites)]
pub(crate) fn has_record(mut address: usize) -> bool {
    // SAFETY: the callback reads the address to which its argument points. The loader's lock is recursive, and this library's lock is not
    // held.
    unsafe { libc::dl_iterate_phdr(look_for_record, (&raw mut address).cast()) != 0 }
}

#[cfg(jumplabel_sites)]
unsafe extern "C" fn look_for_record(info: *const libc::DlPhdrInfo, _size: usize, address: *mut c_void) -> c_int {
    // SAFETY: `info` comes from the loader, and is used only during this call. `address` comes from `has_record`.
    let (segments, address) = unsafe { (Segments::of(&*info), address.cast::<usize>().read()) };
    c_int::from(segments.holds(address, 1) && is_of_record(&segments))
}

/// Whether any note of the object says that the object has a record.
#[cfg(any(jumplabel_sites, test))]
fn is_of_record(segments: &Segments<'_>) -> bool {
    let mut is_one = false;
    notes(segments, &mut |note| is_one |= segments.words(note) == Some(head(0)));
    is_one
}

/// Calls `visit` with the address of each note of an object.
#[inline(never)]
fn notes(segments: &Segments<'_>, visit: &mut dyn FnMut(usize)) {
    for (header, start, _) in segments.of_type(PT_NOTE) {
        // Notes in a segment that is 8-aligned are padded to 8 bytes.
        let alignment = if header.p_align == 8 { 8 } else { 4_u64 };
        // If GNU strip or objcopy remove the first section of a segment, the segment's address in its program header is lost, but not its
        // offset in the file.
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

/// The address of the note after the one at `note`. `None` if the note at `note` extends beyond `end`.
#[inline(never)]
fn behind(segments: &Segments<'_>, note: usize, end: usize, alignment: u64) -> Option<usize> {
    let [name, description] = segments.words(note)?;
    // The numbers have 32 bits, so no sum of them overflows 64 bits.
    let padded = |length: u64| (length + alignment - 1) & !(alignment - 1);
    let name_end = padded(WORDS + u64::from(name));
    let unpadded = name_end + u64::from(description);
    let is_whole = note.checked_add(WORDS as usize)? <= end && unpadded <= (end - note) as u64;
    note.checked_add(padded(unpadded) as usize).filter(|_| is_whole)
}

/// The address of the `Runtime` to which the note at `note` leads. `None` if this is no note of this library, or if the note leads nowhere.
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
    // The note was moved, or leads nowhere. So this tries each address at which the header could be.
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

/// The address of the `Runtime` to which the pointer at `here` leads; `None` if there is none. The `Runtime` must be in the object that has the
/// note. (A `Runtime` in another object is found through that object's note.)
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
