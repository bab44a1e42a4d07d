//! Reads the headers of an ELF file.

use std::cell::OnceCell;

use object::elf::{self, FileHeader32, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endian, Endianness, ReadCache};

use super::{Format, Image, Range, Segment, Source, copied, damaged, is_too_large};
use crate::failure::Failure;
use crate::machine::Machine;

/// Reads the headers of a file of `length` bytes.
pub(super) fn read(source: Source, length: u64) -> Result<Image, Failure> {
    let mut ident = [0; 16];
    let is_whole = source.read_exact_at(&mut ident, 0).is_ok();
    match ident[4] {
        _ if !is_whole => Err(Failure::OutOfReach("not an ELF file: its header is cut off".into())),
        elf::ELFCLASS32 => parse::<FileHeader32<Endianness>>(source, length),
        elf::ELFCLASS64 => parse::<FileHeader64<Endianness>>(source, length),
        _ => Err(Failure::OutOfReach("neither 32-bit nor 64-bit ELF".into())),
    }
}

fn parse<Header: FileHeader<Endian = Endianness>>(source: Source, length: u64) -> Result<Image, Failure> {
    let cache = ReadCache::new(source.reader());
    let header = Header::parse(&cache).map_err(|error| damaged(&error))?;
    let endian = header.endian().map_err(|error| damaged(&error))?;
    let kind = header.e_type(endian);
    if kind != elf::ET_EXEC && kind != elf::ET_DYN {
        return Err(Failure::OutOfReach("neither a program nor a shared library: not linked yet?".into()));
    }
    let number = header.e_machine(endian);
    let machine = Machine::of(number, header.is_type_64(), endian.is_big_endian());
    let machine = machine.ok_or_else(|| {
        Failure::OutOfReach(format!("an instruction set whose sites are unknown (ELF machine {number})"))
    })?;
    let headers = header.program_headers(endian, &cache).map_err(|error| damaged(&error))?;
    let (mut segments, mut dynamic, mut notes) = (Vec::new(), None, Vec::new());
    let (mut unwinders, mut has_stack) = (None, false);
    for header in headers {
        let (start, offset): (u64, u64) = (header.p_vaddr(endian).into(), header.p_offset(endian).into());
        let (in_file, bytes): (u64, u64) = (header.p_filesz(endian).into(), header.p_memsz(endian).into());
        match header.p_type(endian) {
            elf::PT_LOAD => {
                if offset.checked_add(in_file).is_none_or(|end| end > length) {
                    let why =
                        format!("a segment of {in_file} bytes at {offset} goes beyond the end of the file, {length}");
                    return Err(damaged(&why));
                }
                if in_file > bytes || start.checked_add(bytes).is_none() {
                    return Err(damaged(&format!("the segment at {start:#x} has impossible bounds")));
                }
                let (flags, alignment, content) =
                    (header.p_flags(endian), header.p_align(endian).into(), OnceCell::new());
                segments.push(Segment { address: start, bytes, in_file, offset, flags, alignment, content });
            }
            elf::PT_GNU_EH_FRAME => unwinders = Some(start),
            elf::PT_GNU_STACK => has_stack = true,
            elf::PT_DYNAMIC => dynamic = Some(Range { start, bytes: in_file }),
            elf::PT_NOTE => notes.push(Range { start: offset, bytes: in_file }),
            _ => {}
        }
    }
    if is_too_large(&segments, length) {
        return Err(damaged(&"the loaded segments are larger than any program"));
    }
    let e_phoff: u64 = header.e_phoff(endian).into();
    drop(cache);
    let copies =
        copied::start(&segments, unwinders, e_phoff, has_stack).map_or_else(OnceCell::new, |start| Some(start).into());
    Ok(Image {
        source,
        machine,
        endian,
        format: Format::Elf,
        is_movable: kind == elf::ET_DYN,
        base: 0,
        segments,
        dynamic,
        notes,
        copies,
        imports: Vec::new(),
        symbols: OnceCell::new(),
        slots: OnceCell::new(),
    })
}
