//! Reads the file of a program: where its sections are, and the relocations that the loader must make.

use std::ops::Range;
use std::path::Path;

use object::elf::{FileHeader64, PT_LOAD, SHF_ALLOC, SHF_EXECINSTR, SHF_WRITE};
use object::read::elf::{FileHeader, ProgramHeader, RelrIterator, SectionHeader};
use object::{LittleEndian, elf};

use crate::Result;

/// The parts of a program's file that this command needs.
pub struct Image {
    /// The addresses to which dynamic relocations write.
    pub relocations: Vec<u64>,
    /// Sections with code.
    pub text: Vec<Range<u64>>,
    /// The sections `__jump_table` and `__jump_keys`.
    pub tables: Vec<Range<u64>>,
    /// Sections that are writable.
    pub data: Vec<Range<u64>>,
    pub sites: usize,
    /// The address of the file's first byte in memory, as the linker chose it.
    pub base: u64,
}

impl Image {
    pub fn read(path: &Path) -> Result<Image> {
        let data = std::fs::read(path)?;
        let data = &*data;
        let header = FileHeader64::<LittleEndian>::parse(data)?;
        let endian = header.endian()?;
        let segments = header.program_headers(endian, data)?;
        let first = segments.iter().find(|load| load.p_type(endian) == PT_LOAD && load.p_offset(endian) == 0);
        let mut image = Image {
            relocations: Vec::new(),
            text: Vec::new(),
            tables: Vec::new(),
            data: Vec::new(),
            sites: 0,
            base: first.map_or(0, |load| load.p_vaddr(endian)),
        };
        let sections = header.sections(endian, data)?;
        for section in sections.iter() {
            let flags = section.sh_flags(endian) as u32;
            if flags & SHF_ALLOC == 0 {
                continue;
            }
            let range = section.sh_addr(endian)..section.sh_addr(endian) + section.sh_size(endian);
            if flags & SHF_EXECINSTR != 0 {
                image.text.push(range.clone());
            }
            if flags & SHF_WRITE != 0 {
                image.data.push(range.clone());
            }
            match sections.section_name(endian, section)? {
                b"__jump_table" => {
                    image.sites = (range.end - range.start) as usize / size_of::<jumplabel::format::Entry>();
                    image.tables.push(range);
                }
                b"__jump_keys" => image.tables.push(range),
                _ => {}
            }
            match section.sh_type(endian) {
                elf::SHT_RELA => {
                    let entries = section.rela(endian, data)?.map_or(&[][..], |(entries, _)| entries);
                    image.relocations.extend(entries.iter().map(|entry| entry.r_offset.get(endian)));
                }
                elf::SHT_RELR => {
                    if let Some(words) = section.relr(endian, data)? {
                        image.relocations.extend::<RelrIterator<'_, FileHeader64<LittleEndian>>>(words);
                    }
                }
                _ => {}
            }
        }
        Ok(image)
    }

    /// The number of relocations that write into one of `places`.
    pub fn relocations_in(&self, places: &[Range<u64>]) -> usize {
        let inside = |address: &&u64| places.iter().any(|place| place.contains(address));
        self.relocations.iter().filter(inside).count()
    }
}
