//! Reads the headers of a PE file, which is a program or a library of Windows. Addresses are those of an object that is loaded where its header asks,
//! as in debug information, symbols and objdump. Each section becomes a [`Segment`].

use std::cell::OnceCell;

use object::pe::{self, ImageNtHeaders32, ImageNtHeaders64};
use object::read::pe::{ImageNtHeaders, ImageOptionalHeader, Import, PeFile, optional_header_magic};
use object::{Endianness, LittleEndian as LE, ReadCache, elf};

use super::{Format, Image, Segment, Source, damaged, is_too_large};
use crate::failure::Failure;
use crate::machine::Machine;

/// The alignment that a linker gives to sections.
const ALIGNMENT: u64 = 4 << 10;
/// The most imports. A hostile file could claim any number of them in a few bytes.
const IMPORTS: usize = 1 << 16;

/// Reads the headers.
pub(super) fn read(source: Source, length: u64) -> Result<Image, Failure> {
    let magic = optional_header_magic(&ReadCache::new(source.reader())).map_err(|error| damaged(&error))?;
    match magic {
        pe::IMAGE_NT_OPTIONAL_HDR32_MAGIC => parse::<ImageNtHeaders32>(source, length),
        pe::IMAGE_NT_OPTIONAL_HDR64_MAGIC => parse::<ImageNtHeaders64>(source, length),
        _ => Err(Failure::OutOfReach("neither 32-bit nor 64-bit PE".into())),
    }
}

fn parse<Header: ImageNtHeaders>(source: Source, length: u64) -> Result<Image, Failure> {
    let cache = ReadCache::new(source.reader());
    let file = PeFile::<Header, _>::parse(&cache).map_err(|error| damaged(&error))?;
    let header = file.nt_headers();
    let number = header.file_header().machine.get(LE);
    let machine = Machine::of_pe(number, header.is_type_64());
    let machine = machine
        .ok_or_else(|| Failure::OutOfReach(format!("an instruction set without sites (PE machine {number:#x})")))?;
    let base = header.optional_header().image_base();
    let mut segments = Vec::new();
    for section in file.section_table().iter() {
        let (there, offset) = (section.virtual_address.get(LE), u64::from(section.pointer_to_raw_data.get(LE)));
        let (in_file, virtual_size) = (section.size_of_raw_data.get(LE), section.virtual_size.get(LE));
        if in_file > 0 && offset + u64::from(in_file) > length {
            let why = format!("a section of {in_file} bytes at {offset} goes beyond the end of the file, {length}");
            return Err(damaged(&why));
        }
        // In the file, sections are padded. The padded length counts only if the section gives no other.
        let bytes = u64::from(if virtual_size == 0 { in_file } else { virtual_size });
        let address = base.checked_add(there.into()).filter(|address| address.checked_add(bytes).is_some());
        let address = address.ok_or_else(|| damaged(&format!("the section at {there:#x} has impossible bounds")))?;
        segments.push(Segment {
            address,
            bytes,
            in_file: bytes.min(in_file.into()),
            offset,
            flags: flags(section.characteristics.get(LE)),
            alignment: ALIGNMENT,
            content: OnceCell::new(),
        });
    }
    if is_too_large(&segments, length) {
        return Err(damaged(&"the loaded sections are larger than any program"));
    }
    let imports = imports(&file, base).unwrap_or_default();
    drop(cache);
    Ok(Image {
        source,
        machine,
        endian: Endianness::Little,
        format: Format::Pe,
        is_movable: true,
        base,
        segments,
        dynamic: None,
        notes: Vec::new(),
        copies: OnceCell::from(None),
        imports,
        symbols: OnceCell::new(),
        slots: OnceCell::new(),
    })
}

/// The flags of an ELF segment that mean the same as these characteristics.
fn flags(characteristics: u32) -> u32 {
    let flag = |section, segment| if characteristics & section != 0 { segment } else { 0 };
    flag(pe::IMAGE_SCN_MEM_EXECUTE, elf::PF_X)
        | flag(pe::IMAGE_SCN_MEM_WRITE, elf::PF_W)
        | flag(pe::IMAGE_SCN_MEM_READ, elf::PF_R)
}

/// The slots of the import table, each with the symbol that the loader looks for. `None` if the table is damaged or has too many slots.
fn imports<'data, Header: ImageNtHeaders, R: object::ReadRef<'data>>(
    file: &PeFile<'data, Header, R>,
    base: u64,
) -> Option<Vec<(u64, String)>> {
    let Some(table) = file.import_table().ok()? else { return Some(Vec::new()) };
    let mut found = Vec::new();
    let mut libraries = table.descriptors().ok()?;
    while let Some(library) = libraries.next().ok()? {
        let name = table.name(library.name.get(LE)).ok()?;
        let first = library.first_thunk.get(LE);
        let names = library.original_first_thunk.get(LE);
        let mut thunks = table.thunks(if names == 0 { first } else { names }).ok()?;
        let mut slot = base.wrapping_add(first.into());
        while let Some(thunk) = thunks.next::<Header>().ok()? {
            let symbol = match table.import::<Header>(thunk).ok()? {
                Import::Name(_, symbol) => String::from_utf8_lossy(symbol).into_owned(),
                Import::Ordinal(number) => format!("{}#{number}", String::from_utf8_lossy(name)),
            };
            if found.len() == IMPORTS {
                return None;
            }
            found.push((slot, symbol));
            slot = slot.wrapping_add(size_of::<Header::ImageThunkData>() as u64);
        }
    }
    Some(found)
}
