//! The image of a program or library: the bytes that the loader would put at each address, read from the file. Nothing in the file is trusted: each
//! address and each length is checked against the segments, and each segment against the file.

mod copied;
mod elf_file;
pub mod lines;
mod pe_file;
pub mod relocations;
mod source;
pub mod symbols;

use std::cell::OnceCell;
use std::path::Path;
use std::rc::Rc;

use object::{Endian, Endianness, elf};

use crate::failure::Failure;
use crate::input;
use crate::machine::Machine;
use relocations::Slots;
pub use source::Reader;
use source::Source;
use symbols::Symbols;

/// The image of one object.
pub struct Image {
    source: Source,
    pub machine: Machine,
    endian: Endianness,
    pub format: Format,
    /// Whether the loader chooses the object's address.
    pub is_movable: bool,
    /// The address to which a self-relative word leads if it means NULL: 0 in an ELF file; in a PE file, the address that the header asks for.
    pub base: u64,
    segments: Vec<Segment>,
    dynamic: Option<Range>,
    notes: Vec<Range>,
    /// Code below this address does not run any more, because a post-link optimizer (BOLT) has copied it. `None` if BOLT has copied nothing.
    copies: OnceCell<Option<u64>>,
    /// In a PE file: the slots, and the symbols of other objects to which they lead.
    imports: Vec<(u64, String)>,
    symbols: OnceCell<Symbols>,
    slots: OnceCell<Slots>,
}

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Elf,
    Pe,
}

/// The most bytes of a file. Files with holes cost nothing to make, but memory to read.
const FILE: u64 = 16 << 30;
/// The most bytes that a program loads. No instruction set has jumps that reach farther.
const LOADED: u64 = 4 << 30;

/// The error for a damaged file.
fn damaged(why: &dyn std::fmt::Display) -> Failure {
    Failure::Refused(format!("damaged: {why}"))
}

/// Whether a file of `length` bytes claims to load more than [`LOADED`], or more than twice its own length.
fn is_too_large(segments: &[Segment], length: u64) -> bool {
    let (all, most) = (segments.iter().map(|segment| segment.in_file), LOADED.min(length.saturating_mul(2)));
    all.fold(0, u64::saturating_add) > most
}

/// A range of the file.
#[derive(Clone, Copy, Debug)]
struct Range {
    start: u64,
    bytes: u64,
}

/// A segment: a range of addresses that the loader maps.
struct Segment {
    address: u64,
    /// The size in memory. `in_file` bytes come from `offset` on in the file, and zeros follow.
    bytes: u64,
    in_file: u64,
    offset: u64,
    flags: u32,
    alignment: u64,
    content: OnceCell<Option<Vec<u8>>>,
}

impl Segment {
    /// The offset of `address` in the segment, if all `bytes` bytes from there on lie in the segment.
    fn place(&self, address: u64, bytes: u64) -> Option<u64> {
        let place = address.checked_sub(self.address)?;
        (place.checked_add(bytes)? <= self.bytes).then_some(place)
    }
}

impl Image {
    /// Reads the headers of a file.
    pub fn open(path: &Path) -> Result<Image, Failure> {
        let unreachable = |why: &dyn std::fmt::Display| Failure::OutOfReach(format!("{}: {why}", path.display()));
        let (file, metadata) = input::open(path).map_err(|error| unreachable(&error))?;
        // The kernel makes some files while they are read: their length is 0.
        if metadata.len() == 0 {
            return Err(unreachable(&"empty, and so not an ELF file, nor a PE file"));
        }
        if metadata.len() > FILE {
            return Err(Failure::Refused(format!("{}: larger than {} GiB", path.display(), FILE >> 30)));
        }
        Image::read(Source::File(file), metadata.len()).map_err(|failure| failure.of(&path.display().to_string()))
    }

    /// Reads the headers of a file whose contents are `bytes`.
    pub fn of(bytes: Rc<Vec<u8>>) -> Result<Image, Failure> {
        let length = bytes.len() as u64;
        Image::read(Source::Memory(bytes), length)
    }

    fn read(source: Source, length: u64) -> Result<Image, Failure> {
        let mut start = [0; 4];
        let has_start = source.read_exact_at(&mut start, 0).is_ok();
        match start {
            elf::ELFMAG if has_start => elf_file::read(source, length),
            [b'M', b'Z', ..] if has_start => pe_file::read(source, length),
            _ => Err(Failure::OutOfReach("not an ELF file, nor a PE file".into())),
        }
    }

    /// Whether the linker has dropped what the entry at `address` describes. The linker of a PE file drops a site or a key, but keeps its entry. GNU
    /// ld then writes 0 into the entry's word. lld leaves a word that leads forward, where no code is, because all code is in front of the table.
    pub fn is_dropped(&self, entry: u64) -> bool {
        let word = |at: u64| self.word(entry.wrapping_add(at)).map(u32::cast_signed);
        let leads_on = || {
            word(0).is_some_and(|distance| {
                distance > 0 && !self.contains_code(entry.wrapping_add_signed(distance.into()), 1)
            })
        };
        self.format == Format::Pe && (word(0) == Some(0) || word(8) == Some(0) || leads_on())
    }

    /// Those bytes of a segment that come from the file.
    fn content<'image>(&self, segment: &'image Segment) -> Option<&'image [u8]> {
        let read = || {
            let mut content = vec![0; usize::try_from(segment.in_file).ok()?];
            self.source.read_exact_at(&mut content, segment.offset).ok()?;
            Some(content)
        };
        segment.content.get_or_init(read).as_deref()
    }

    /// The `bytes` bytes from `address` on. `None` unless the file has all of them.
    pub fn slice(&self, address: u64, bytes: usize) -> Option<&[u8]> {
        let find = |segment: &&Segment| segment.place(address, bytes as u64).is_some();
        let segment = self.segments.iter().find(find)?;
        let place = usize::try_from(segment.place(address, bytes as u64)?).ok()?;
        self.content(segment)?.get(place..place.checked_add(bytes)?)
    }

    /// Like [`slice`](Self::slice), but the bytes of a segment that do not come from the file are zero.
    pub fn array<const BYTES: usize>(&self, address: u64) -> Option<[u8; BYTES]> {
        if let Some(slice) = self.slice(address, BYTES) {
            return slice.try_into().ok();
        }
        let mut array = [0; BYTES];
        for (byte, at) in array.iter_mut().zip(0..) {
            let at = address.checked_add(at)?;
            *byte = self.slice(at, 1).map_or_else(|| self.contains(at, 1).then_some(0), |slice| Some(slice[0]))?;
        }
        Some(array)
    }

    /// Reads a word of four bytes.
    pub fn word(&self, address: u64) -> Option<u32> {
        Some(self.endian.read_u32_bytes(self.array(address)?))
    }

    /// Reads two bytes.
    pub fn half(&self, address: u64) -> Option<u16> {
        Some(self.endian.read_u16_bytes(self.array(address)?))
    }

    /// Reads a word of the size of a pointer.
    pub fn pointer(&self, address: u64) -> Option<u64> {
        if self.machine.pointer() == 4 {
            return self.word(address).map(u64::from);
        }
        Some(self.endian.read_u64_bytes(self.array(address)?))
    }

    /// The address to which the self-relative word at `address` leads.
    pub fn follow(&self, address: u64) -> Option<u64> {
        let distance = self.word(address)?.cast_signed();
        Some(self.address(address.wrapping_add_signed(distance.into())))
    }

    /// An address cut to the size that the machine has: 32 or 64 bits.
    pub fn address(&self, there: u64) -> u64 {
        if self.machine.pointer() == 4 { there & u64::from(u32::MAX) } else { there }
    }

    /// Whether a single segment contains all of these bytes.
    pub fn contains(&self, address: u64, bytes: u64) -> bool {
        self.segments.iter().any(|segment| segment.place(address, bytes).is_some())
    }

    /// Whether a single executable segment contains all of these bytes.
    pub fn contains_code(&self, address: u64, bytes: u64) -> bool {
        let is_code = |segment: &Segment| segment.flags & elf::PF_X != 0 && segment.place(address, bytes).is_some();
        self.segments.iter().any(is_code)
    }

    /// Whether a post-link optimizer has copied the code at `address`, so that the copy runs instead.
    pub fn is_copied(&self, address: u64) -> bool {
        let copies = self.copies.get_or_init(|| copied::is_named(self.file()).then_some(u64::MAX));
        copies.is_some_and(|start| address < start)
    }

    /// The address of the file's first page. `None` if that page is not loaded.
    #[cfg(target_os = "linux")]
    pub fn first_page(&self) -> Option<u64> {
        const PAGE: u64 = 4 << 10;
        let first = self.segments.iter().find(|segment| segment.offset < PAGE)?;
        Some(first.address.wrapping_sub(first.offset) & !(PAGE - 1))
    }

    /// The beginnings of the segments of code: each one's address, and its offset in the file.
    #[cfg(target_os = "linux")]
    pub fn code(&self) -> impl Iterator<Item = (u64, u64)> {
        let is_code = |segment: &&Segment| segment.flags & elf::PF_X != 0;
        self.segments.iter().filter(is_code).map(|segment| (segment.address, segment.offset))
    }

    /// The range of addresses that all segments lie in.
    #[cfg(target_os = "linux")]
    pub fn bounds(&self) -> std::ops::Range<u64> {
        let start = self.segments.iter().map(|segment| segment.address).min().unwrap_or_default();
        let end = self.segments.iter().map(|segment| segment.address + segment.bytes).max().unwrap_or_default();
        start..end
    }

    /// The data that the program may write, as far as the file has it: addresses, and bytes.
    pub fn data(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let written = self.segments.iter().filter(|segment| segment.flags & elf::PF_W != 0);
        written.filter_map(|segment| Some((segment.address, self.content(segment)?)))
    }

    /// The contents of the notes.
    pub fn notes(&self) -> impl Iterator<Item = Vec<u8>> {
        self.notes.iter().filter_map(|range| {
            // Notes are small, but a damaged file may give any length.
            let mut note = vec![0; usize::try_from(range.bytes).ok().filter(|&bytes| bytes <= 1 << 20)?];
            self.source.read_exact_at(&mut note, range.start).ok()?;
            Some(note)
        })
    }

    /// A reader of the file, for its parts that are not loaded.
    pub fn file(&self) -> Reader<'_> {
        self.source.reader()
    }

    /// The order of bytes in words.
    pub fn endian(&self) -> Endianness {
        self.endian
    }

    /// The names of functions and variables; none in a stripped file. Reads them at the first call.
    pub fn symbols(&self) -> &Symbols {
        self.symbols.get_or_init(|| Symbols::read(self.file()))
    }

    /// The slots that the loader fills. Reads them at the first call.
    pub fn slots(&self) -> &Slots {
        self.slots.get_or_init(|| Slots::read(self))
    }
}
