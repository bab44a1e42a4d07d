//! Tests with notes that lead to a `Runtime`, and notes that lead nowhere, in an object that each test makes.

use super::{HEAD, MAGIC, NAME, PT_NOTE, Segments, VERSION, is_of_record, notes, runtime_at, runtime_of};
use crate::format::Runtime;
use crate::platform::linux::libc::Phdr;
use core::mem::offset_of;
use proptest::prelude::{Strategy, any, prop_oneof, proptest};
use std::vec::Vec;

/// The size of the largest pages of any system. So a multiple of this size is the beginning of a page on every system.
const PAGE: usize = 1 << 16;
const PAGES: usize = 16;
/// The pages that are in no segment and cannot be read.
const HOLE: core::ops::Range<usize> = 6 * PAGE..8 * PAGE;
const NOTE: usize = 0x200;
const HERE: usize = 9 * PAGE + 0x40;
const RUNTIME: usize = 10 * PAGE + 0x80;
const NOTE_HEADER: usize = 2;

/// An object that contains the note of an instance, the pointer and the `Runtime` that the note leads to, and nothing else. The pages before and
/// after the object cannot be read. The object is linked to address 0, and begins with its ELF header.
struct Object {
    memory: *mut core::ffi::c_void,
    base: usize,
    headers: Vec<Phdr>,
}

fn header(p_type: u32, p_flags: u32, start: usize, end: usize) -> Phdr {
    Phdr {
        p_type,
        p_flags,
        p_vaddr: start,
        p_filesz: end - start,
        p_memsz: end - start,
        p_align: 4,
        p_offset: start,
        p_paddr: 0,
    }
}

impl Object {
    fn new() -> Object {
        use ::libc::{MAP_ANONYMOUS, MAP_FAILED, MAP_PRIVATE, PROT_NONE, PROT_READ, PROT_WRITE, mmap, mprotect};
        let bytes = (PAGES + 3) * PAGE;
        // SAFETY: the calls make a new mapping, and change parts of it.
        let (memory, base) = unsafe {
            let memory = mmap(core::ptr::null_mut(), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            assert_ne!(memory, MAP_FAILED);
            let base = (memory as usize + 1).next_multiple_of(PAGE);
            for (start, end) in [(0, HOLE.start), (HOLE.end, PAGES * PAGE)] {
                assert_eq!(mprotect((base + start) as *mut _, end - start, PROT_READ | PROT_WRITE), 0);
            }
            (memory, base)
        };
        let headers = [
            header(1, 4, 0, HOLE.start),
            header(1, 6, HOLE.end, PAGES * PAGE),
            header(PT_NOTE, 4, NOTE, NOTE + HEAD + 8),
        ];
        let object = Object { memory, base, headers: headers.into() };
        object.put_note(NOTE, HERE.wrapping_sub(NOTE + HEAD) as u32, 0_usize.wrapping_sub(NOTE + HEAD + 4) as u32);
        object.put(HERE, &(base + RUNTIME).to_ne_bytes());
        object.put_runtime(RUNTIME);
        object
    }

    /// Writes the words by which a `Runtime` is recognised.
    fn put_runtime(&self, at: usize) {
        for (word, value) in MAGIC.into_iter().enumerate() {
            self.put_word(at + word * 4, value);
        }
        self.put_word(at + offset_of!(Runtime, version), VERSION);
    }

    fn put(&self, at: usize, bytes: &[u8]) {
        let segments = [0..HOLE.start, HOLE.end..PAGES * PAGE];
        assert!(segments.iter().any(|part| part.start <= at && at + bytes.len() <= part.end));
        // SAFETY: the bytes lie inside the object.
        unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), (self.base + at) as *mut u8, bytes.len()) };
    }

    fn put_word(&self, at: usize, word: u32) {
        self.put(at, &word.to_ne_bytes());
    }

    fn put_note(&self, at: usize, here: u32, header: u32) {
        for (number, word) in [NAME.len() as u32 - 2, 8, VERSION].into_iter().enumerate() {
            self.put_word(at + number * 4, word);
        }
        self.put(at + 12, NAME);
        self.put_word(at + HEAD, here);
        self.put_word(at + HEAD + 4, header);
    }

    /// Moves the note to `to`, with the same two words, as patchelf does.
    fn move_note(&mut self, to: usize) {
        let words = [HEAD, HEAD + 4].map(|word| self.segments().words::<1>(self.base + NOTE + word).unwrap()[0]);
        self.put(NOTE, &[b'X'; HEAD + 8]);
        self.put_note(to, words[0], words[1]);
        self.move_segment(to);
    }

    fn move_segment(&mut self, to: usize) {
        let header = &mut self.headers[NOTE_HEADER];
        (header.p_vaddr, header.p_offset) = (to, to);
    }

    fn segments(&self) -> Segments<'_> {
        // SAFETY: `new` has mapped the two loadable segments, and they stay mapped until the drop. No test changes the bounds of these two.
        unsafe { Segments::new(self.base, &self.headers) }
    }

    fn found(&self) -> Vec<usize> {
        let mut found = Vec::new();
        let segments = self.segments();
        notes(&segments, &mut |note| {
            found.extend(runtime_of(&segments, note).map(|found| found.wrapping_sub(self.base)))
        });
        found
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: this is the mapping that `new` made.
        unsafe { ::libc::munmap(self.memory, (PAGES + 3) * PAGE) };
    }
}

#[test]
fn leads_to_the_runtime() {
    let mut object = Object::new();
    assert_eq!(object.found(), [RUNTIME]);
    // The note is found by its address, and also by its offset in the file.
    object.headers[NOTE_HEADER].p_vaddr = 0;
    assert_eq!(object.found(), [RUNTIME]);
    object = Object::new();
    object.headers[NOTE_HEADER].p_offset = 0;
    assert_eq!(object.found(), [RUNTIME]);
    // The note comes after another one, with either padding.
    for (alignment, at) in [(4, NOTE + 20), (8, NOTE + 24)] {
        object = Object::new();
        object.move_note(at);
        object.headers[NOTE_HEADER] = Phdr { p_align: alignment, ..header(PT_NOTE, 4, NOTE, at + HEAD + 8) };
        for (number, word) in [4, 1, 1, 0x0047_4e55, 0].into_iter().enumerate() {
            object.put_word(NOTE + number * 4, word);
        }
        assert_eq!(object.found(), [RUNTIME], "{alignment}");
    }
}

#[test]
fn of_a_record() {
    let mut object = Object::new();
    assert!(!is_of_record(&object.segments()));
    object.put_word(NOTE + 4, 0);
    assert!(is_of_record(&object.segments()) && object.found().is_empty());
    object.headers[NOTE_HEADER] = header(PT_NOTE, 4, NOTE, NOTE + HEAD - 4);
    assert!(!is_of_record(&object.segments()));
}

#[test]
fn leads_there_from_where_it_was_moved_to() {
    for to in [0x400, HOLE.start - HEAD - 8, HOLE.end + 4, PAGES * PAGE - HEAD - 8] {
        // The ELF header lies at the beginning of the object, or one or two pages later.
        for page in [0, 1, 2] {
            let mut object = Object::new();
            object.put_word(NOTE + HEAD + 4, (page * PAGE).wrapping_sub(NOTE + HEAD + 4) as u32);
            object.move_note(to);
            assert_eq!(object.found(), [RUNTIME], "{to:#x} {page}");
            // Controls that must find nothing: a reader that uses only the first word, and a header that does not lie at the beginning of a page.
            let here = (object.base + to + HEAD).wrapping_add(HERE.wrapping_sub(NOTE + HEAD));
            assert_eq!(runtime_at(&object.segments(), here), None);
            object.put_word(to + HEAD + 4, 4 + (page * PAGE).wrapping_sub(NOTE + HEAD + 4) as u32);
            assert!(object.found().is_empty(), "{to:#x} {page}");
        }
    }
}

/// Each of these objects has one mistake, so its note leads nowhere.
#[test]
fn leads_nowhere() {
    type Damage = fn(&mut Object);
    let damage: [Damage; 22] = [
        |object| object.put_word(NOTE, 9),
        |object| object.put_word(NOTE, u32::MAX),
        |object| object.put_word(NOTE + 4, 4),
        |object| object.put_word(NOTE + 4, u32::MAX - 8),
        |object| object.put_word(NOTE + 8, VERSION + 1),
        |object| object.put(NOTE + 12, b"J"),
        |object| object.put(NOTE + 22, b"l"),
        |object| object.headers[NOTE_HEADER].p_filesz -= 1,
        |object| object.headers[NOTE_HEADER].p_memsz -= 1,
        |object| object.headers[NOTE_HEADER].p_filesz = 0,
        |object| object.move_segment(HOLE.start - 8),
        |object| object.move_segment(HOLE.start),
        |object| object.move_segment(usize::MAX - object.base - 3),
        |object| object.headers[NOTE_HEADER].p_type = 5,
        |object| object.headers[1].p_flags = 2, // the segment that the note leads to cannot be read
        |object| object.put(HERE, &0_usize.to_ne_bytes()),
        |object| object.put(HERE, &(object.base + HOLE.start).to_ne_bytes()),
        |object| {
            object.put_runtime(PAGES * PAGE - 16); // the object ends in the middle of the `Runtime`
            object.put(HERE, &(object.base + PAGES * PAGE - 16).to_ne_bytes());
        },
        |object| object.put(HERE, &(object.base + RUNTIME + 4).to_ne_bytes()),
        |object| object.put_word(RUNTIME, !MAGIC[0]),
        |object| object.put_word(RUNTIME + 4, !MAGIC[1]),
        |object| object.put_word(RUNTIME + offset_of!(Runtime, version), VERSION + 1),
    ];
    for (number, damage) in damage.into_iter().enumerate() {
        let mut object = Object::new();
        damage(&mut object);
        assert!(object.found().is_empty(), "damage {number}");
    }
    // The pointer is not aligned.
    let object = Object::new();
    object.put(HERE + 1, &(object.base + RUNTIME).to_ne_bytes());
    object.put_note(NOTE, (HERE + 1).wrapping_sub(NOTE + HEAD) as u32, 0);
    assert!(object.found().is_empty());
}

/// Shows that a reader that trusted the notes of the other tests would be killed by SIGSEGV.
#[test]
fn a_reader_that_believes_dies() {
    let object = Object::new();
    for address in [HOLE.start, HOLE.end - 16, PAGES * PAGE, 0_usize.wrapping_sub(16)] {
        let address = object.base.wrapping_add(address);
        assert_eq!(object.segments().pointer(address), None);
        // SAFETY: the child only reads one word, which may kill it. It runs nothing else of this process.
        unsafe {
            let child = ::libc::fork();
            if child == 0 {
                ::libc::signal(::libc::SIGSEGV, ::libc::SIG_DFL);
                (address as *const usize).read_volatile();
                ::libc::_exit(0);
            }
            let mut status = 0;
            assert_eq!(::libc::waitpid(child, &raw mut status, 0), child);
            assert!(::libc::WIFSIGNALED(status) && ::libc::WTERMSIG(status) == ::libc::SIGSEGV, "{status:#x}");
        }
    }
}

/// Offsets near something in the object, small numbers, and arbitrary numbers.
fn number() -> impl Strategy<Value = usize> {
    let places = [0, NOTE, HERE, RUNTIME, HOLE.start, HOLE.end, PAGES * PAGE, usize::MAX, i32::MAX as usize];
    prop_oneof![
        (0..places.len(), -40_isize..40).prop_map(move |(place, by)| places[place].wrapping_add_signed(by)),
        0_usize..256,
        any::<usize>(),
    ]
}

proptest! {
    /// Damages the note, its program header, and the words that the note leads to, in arbitrary ways. The reader then reads nothing outside the
    /// segments, and finds nothing except the `Runtime`.
    #[test]
    fn any_note(
        words in proptest::collection::vec((0..12_usize, number()), 0..4),
        bytes in proptest::collection::vec((0..HEAD + 8, any::<u8>()), 0..3),
        fields in proptest::collection::vec((0..5_usize, number()), 0..3),
    ) {
        let mut object = Object::new();
        for (place, value) in words {
            match place {
                0..8 => object.put_word(NOTE + place * 4, value as u32),
                8 => object.put(HERE, &value.to_ne_bytes()),
                9 => object.put(HERE, &object.base.wrapping_add(value).to_ne_bytes()),
                _ => object.put_word(RUNTIME + (place - 10) * 4, value as u32),
            }
        }
        for (at, byte) in bytes {
            object.put(NOTE + at, &[byte]);
        }
        for (field, value) in fields {
            let header = &mut object.headers[NOTE_HEADER];
            let Phdr { p_vaddr, p_offset, p_filesz, p_memsz, p_align, .. } = header;
            *[p_vaddr, p_offset, p_filesz, p_memsz, p_align][field] = value;
        }
        let found = object.found();
        assert!(found.iter().all(|&runtime| runtime == RUNTIME), "{found:x?}");
    }

    /// Puts arbitrary bytes in place of the note. The reader then reads nothing outside the segments, and finds nothing except the `Runtime`.
    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..4000), start in 0..HOLE.start, align in 0..9_usize) {
        let mut object = Object::new();
        let start = start.min(HOLE.start - bytes.len());
        object.put(start, &bytes);
        object.headers[NOTE_HEADER] = Phdr { p_align: align, ..header(PT_NOTE, 4, start, HOLE.start + PAGE) };
        let found = object.found();
        assert!(found.iter().all(|&runtime| runtime == RUNTIME), "{found:x?}");
    }
}
