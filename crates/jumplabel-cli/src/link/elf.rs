//! Headers, symbols and relocations of an ELF file of x86-64, in the layouts of the crate `object`. That crate's writer (`object::build::elf`) is not
//! used, because it lays a file out anew, and drops what lies between sections. This module leaves everything that is loaded where it is.

use std::ops::Range;

use object::elf::{self, FileHeader64, ProgramHeader64, Rela64, SectionHeader64, Sym64};
use object::pod::{self, Pod};
use object::read::elf::{FileHeader as _, SectionHeader as _};
use object::{LittleEndian as LE, U16, U64};

use crate::failure::Failure;

pub type Segment = ProgramHeader64<LE>;
pub type Section = SectionHeader64<LE>;
pub type Symbol = Sym64<LE>;
pub type Relocation = Rela64<LE>;

/// The headers of a file.
#[derive(Clone)]
pub struct Elf {
    pub header: FileHeader64<LE>,
    pub segments: Vec<Segment>,
    pub sections: Vec<Section>,
}

/// The relocations of a section.
pub struct Relocations<'bytes> {
    pub rows: &'bytes [Relocation],
    /// The place of the first relocation in the file.
    pub place: u64,
    /// The number of the section that has the relocations' symbols.
    pub symbols: usize,
}

/// The error for a damaged file.
pub fn damaged(why: &str) -> Failure {
    Failure::Refused(format!("damaged: {why}"))
}

impl Elf {
    /// Reads the headers.
    pub fn read(bytes: &[u8]) -> Result<Elf, Failure> {
        let of = |error: object::Error| damaged(&error.to_string());
        let header = FileHeader64::<LE>::parse(bytes).map_err(of)?;
        if header.e_machine.get(LE) != elf::EM_X86_64 || !header.is_little_endian() {
            return Err(damaged("headers of another machine"));
        }
        let segments = header.program_headers(LE, bytes).map_err(of)?.to_vec();
        let sections = header.section_headers(LE, bytes).map_err(of)?.to_vec();
        let elf = Elf { header: *header, segments, sections };
        for section in &elf.sections {
            elf.data(bytes, section)?;
        }
        Ok(elf)
    }

    /// The bytes of a section in the file.
    pub fn data<'bytes>(&self, bytes: &'bytes [u8], section: &Section) -> Result<&'bytes [u8], Failure> {
        section.data(LE, bytes).map_err(|error| damaged(&error.to_string()))
    }

    /// The bytes of a section, as rows of type `T`.
    fn rows<'bytes, T: Pod>(&self, bytes: &'bytes [u8], section: &Section) -> Result<&'bytes [T], Failure> {
        let data = self.data(bytes, section)?;
        let count = data.len() / size_of::<T>();
        let rows = pod::slice_from_bytes(data, count).map_err(|()| damaged("a section that is not aligned"))?;
        Ok(rows.0)
    }

    /// The symbols in a section. Empty if the section is not a SHT_SYMTAB.
    pub fn symbols<'bytes>(&self, bytes: &'bytes [u8], section: usize) -> Result<&'bytes [Symbol], Failure> {
        let section = self.sections.get(section).filter(|section| section.sh_type.get(LE) == elf::SHT_SYMTAB);
        section.map_or(Ok(&[]), |section| self.rows(bytes, section))
    }

    /// The relocations that the linker left with --emit-relocs, for sections that have one of these flags.
    pub fn relocations<'bytes>(&self, bytes: &'bytes [u8], flags: u32) -> Result<Vec<Relocations<'bytes>>, Failure> {
        let mut all = Vec::new();
        for section in self.sections.iter().filter(|section| is_left(section)) {
            let of = self.sections.get(section.sh_info.get(LE) as usize);
            if of.is_some_and(|of| of.sh_flags.get(LE) & u64::from(flags) != 0) {
                let (place, symbols) = (section.sh_offset.get(LE), section.sh_link.get(LE) as usize);
                all.push(Relocations { rows: self.rows(bytes, section)?, place, symbols });
            }
        }
        Ok(all)
    }

    /// Whether the linker left relocations.
    pub fn has_relocations(&self) -> bool {
        self.sections.iter().any(is_left)
    }

    /// The place in the file of `count` bytes at `address`. `None` unless the file has all of them.
    pub fn place(&self, address: u64, count: u64) -> Option<usize> {
        let loaded = self.segments.iter().filter(|segment| segment.p_type.get(LE) == elf::PT_LOAD);
        let mut places = loaded.filter_map(|segment| {
            let into = address.checked_sub(segment.p_vaddr.get(LE))?;
            let has = into.checked_add(count)? <= segment.p_filesz.get(LE);
            usize::try_from(segment.p_offset.get(LE).checked_add(into)?).ok().filter(|_| has)
        });
        places.next()
    }

    /// Where everything that is loaded ends: the first place in the file and the first address in memory that come after it.
    pub fn end(&self) -> Option<(u64, u64)> {
        let mut loaded = self.segments.iter().filter(|segment| segment.p_type.get(LE) == elf::PT_LOAD);
        loaded.try_fold((0, 0), |(file, memory), segment| {
            let in_file = segment.p_offset.get(LE).checked_add(segment.p_filesz.get(LE))?;
            let in_memory = segment.p_vaddr.get(LE).checked_add(segment.p_memsz.get(LE))?;
            Some((file.max(in_file), memory.max(in_memory)))
        })
    }

    /// The lowest address that is loaded.
    pub fn start(&self) -> u64 {
        let loaded = self.segments.iter().filter(|segment| segment.p_type.get(LE) == elf::PT_LOAD);
        loaded.map(|segment| segment.p_vaddr.get(LE)).min().unwrap_or_default()
    }

    /// The address of a byte of the file.
    pub fn address(&self, place: u64) -> Option<u64> {
        let loaded = self.segments.iter().filter(|segment| segment.p_type.get(LE) == elf::PT_LOAD);
        let mut addresses = loaded.filter_map(|segment| {
            let into = place.checked_sub(segment.p_offset.get(LE))?;
            (into < segment.p_filesz.get(LE)).then(|| segment.p_vaddr.get(LE).wrapping_add(into))
        });
        addresses.next()
    }

    /// The places in the file that belong to a section.
    pub fn range(&self, section: usize) -> Range<u64> {
        let section = &self.sections[section];
        let (start, bytes) = section.file_range(LE).unwrap_or_default();
        start..start.saturating_add(bytes)
    }

    /// The section that covers exactly these addresses.
    pub fn section_at(&self, addresses: &Range<u64>) -> Option<usize> {
        let end = |section: &Section| section.sh_addr.get(LE).wrapping_add(section.sh_size.get(LE));
        let is_it = |section: &Section| {
            is_loaded(section) && section.sh_addr.get(LE) == addresses.start && end(section) == addresses.end
        };
        self.sections.iter().position(is_it)
    }

    /// Whether a section has this name.
    pub fn is_named(&self, bytes: &[u8], section: usize, name: &[u8]) -> bool {
        let names = self.sections.get(usize::from(self.header.e_shstrndx.get(LE)));
        let names = names.and_then(|names| names.data(LE, bytes).ok()).unwrap_or_default();
        let at = self.sections[section].sh_name.get(LE) as usize;
        names.get(at..).and_then(|rest| rest.split(|&byte| byte == 0).next()) == Some(name)
    }

    /// Writes the headers into `bytes`. The ELF header says where the others go.
    pub fn write(&mut self, bytes: &mut [u8]) -> Option<()> {
        self.header.e_phnum = U16::new(LE, self.segments.len().try_into().ok()?);
        // 0 means that the first section header has the number of sections.
        if self.header.e_shnum.get(LE) != 0 {
            self.header.e_shnum = U16::new(LE, self.sections.len().try_into().ok()?);
        }
        put(bytes, 0, pod::bytes_of(&self.header))?;
        put(bytes, self.header.e_phoff.get(LE), pod::bytes_of_slice(&self.segments))?;
        put(bytes, self.header.e_shoff.get(LE), pod::bytes_of_slice(&self.sections))
    }
}

/// Whether a section has relocations that are not for the loader: the linker has left them in the file (--emit-relocs).
pub fn is_left(section: &Section) -> bool {
    section.sh_type.get(LE) == elf::SHT_RELA && section.sh_flags.get(LE) & u64::from(elf::SHF_ALLOC) == 0
}

/// Whether the loader maps the section.
pub fn is_loaded(section: &Section) -> bool {
    section.sh_flags.get(LE) & u64::from(elf::SHF_ALLOC) != 0
}

/// Writes bytes at a place. `None` if the file does not have all of that place.
pub fn put(bytes: &mut [u8], at: u64, new: &[u8]) -> Option<()> {
    let at = usize::try_from(at).ok()?;
    bytes.get_mut(at..at.checked_add(new.len())?)?.copy_from_slice(new);
    Some(())
}

/// The bytes of a section in the file, to be changed by the caller.
pub fn content<'bytes>(section: &Section, bytes: &'bytes mut [u8]) -> Result<&'bytes mut [u8], Failure> {
    let [start, length] = [&section.sh_offset, &section.sh_size].map(|word| usize::try_from(word.get(LE)).ok());
    let end = start.zip(length).and_then(|(start, length)| start.checked_add(length));
    let range = start.zip(end).and_then(|(start, end)| bytes.get_mut(start..end));
    range.ok_or_else(|| damaged("a section beyond the end of the file"))
}

/// Adds to a word.
pub fn add(word: &mut U64<LE>, more: u64) {
    *word = U64::new(LE, word.get(LE).wrapping_add(more));
}
