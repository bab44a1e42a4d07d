//! Reorders or removes section headers. Tools expect them in the order of addresses (patchelf overwrites sections that are not), so a section that
//! moves to the end needs a number at the end. Everything that names a section by its number changes with it: symbols, other section headers, the ELF
//! header.

use object::{LittleEndian as LE, U16, U32, U64, elf, pod};

use super::elf::{Elf, Symbol, content, damaged, is_left, is_loaded};
use crate::failure::Failure;

/// The part of a file to keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// Everything.
    #[default]
    All,
    /// Everything except the relocations that --emit-relocs left.
    NoRelocations,
}

/// Numbers loaded sections in the order of their addresses, and all others after them.
pub fn sort(elf: &mut Elf, bytes: &mut [u8]) -> Result<(), Failure> {
    let mut order: Vec<usize> = (0..elf.sections.len()).collect();
    // The sort is stable, because sections without bytes share an address.
    let key = |&section: &usize| match &elf.sections[section] {
        _ if section == 0 => (0, 0),
        header if !is_loaded(header) => (2, 0),
        header => (1, header.sh_addr.get(LE)),
    };
    order.sort_by_key(key);
    renumber(elf, bytes, &order)
}

/// Removes from the file the sections that `keep` excludes, and closes the gaps that they leave.
pub fn without(mut elf: Elf, mut bytes: Vec<u8>, keep: Keep) -> Result<Vec<u8>, Failure> {
    let too_long = || damaged("section headers that make no sense");
    let goes = |elf: &Elf, section: usize| keep == Keep::NoRelocations && is_left(&elf.sections[section]);
    let order: Vec<usize> = (0..elf.sections.len()).filter(|&section| !goes(&elf, section)).collect();
    if order.len() == elf.sections.len() {
        return Ok(bytes);
    }
    renumber(&mut elf, &mut bytes, &order)?;
    let (end, _) = elf.end().ok_or_else(too_long)?;
    let mut rest = bytes.split_off(usize::try_from(end).ok().filter(|&end| end <= bytes.len()).ok_or_else(too_long)?);
    // The sections that are not loaded, in the order of their places.
    let is_behind = |section: &usize| !is_loaded(&elf.sections[*section]) && elf.range(*section).start >= end;
    let mut behind: Vec<usize> = (0..elf.sections.len()).filter(is_behind).collect();
    behind.sort_by_key(|&section| elf.range(section).start);
    for section in behind {
        let range = elf.range(section);
        let (start, stop) = ((range.start - end) as usize, range.end.saturating_sub(end) as usize);
        let align = elf.sections[section].sh_addralign.get(LE).clamp(1, 4096) as usize;
        bytes.resize(bytes.len().next_multiple_of(align), 0);
        elf.sections[section].sh_offset = U64::new(LE, bytes.len() as u64);
        bytes.extend(rest.get_mut(start..stop).ok_or_else(too_long)?.iter());
    }
    if elf.header.e_shoff.get(LE) >= end {
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        elf.header.e_shoff = U64::new(LE, bytes.len() as u64);
        bytes.resize(bytes.len() + size_of_val(&*elf.sections), 0);
    }
    elf.write(&mut bytes).ok_or_else(too_long)?;
    Ok(bytes)
}

/// Gives sections new numbers: `order` has their old numbers in the new order. Sections that are not in `order` are removed.
fn renumber(elf: &mut Elf, bytes: &mut [u8], order: &[usize]) -> Result<(), Failure> {
    let count = elf.sections.len();
    if order.iter().copied().eq(0..count) {
        return Ok(());
    }
    // Section numbers that do not fit into their fields are kept elsewhere in the file. This tool does not update them there.
    let is_plain = |section: &super::elf::Section| section.sh_type.get(LE) != elf::SHT_SYMTAB_SHNDX;
    if count >= usize::from(elf::SHN_LORESERVE) || !elf.sections.iter().all(is_plain) {
        return Err(Failure::Refused("so many sections that this tool cannot number them".into()));
    }
    let mut numbers = vec![0_u16; count];
    for (new, &old) in order.iter().enumerate() {
        numbers[old] = new as u16;
    }
    let of = |old: u32| numbers.get(old as usize).map_or(old, |&new| new.into());
    for section in &elf.sections {
        if !matches!(section.sh_type.get(LE), elf::SHT_SYMTAB | elf::SHT_DYNSYM) {
            continue;
        }
        let data = content(section, bytes)?;
        let count = data.len() / size_of::<Symbol>();
        let symbols = pod::slice_from_bytes_mut::<Symbol>(data, count);
        let (symbols, _) = symbols.map_err(|()| damaged("a section that is not aligned"))?;
        for symbol in symbols {
            let old = symbol.st_shndx.get(LE);
            symbol.st_shndx = U16::new(LE, numbers.get(usize::from(old)).copied().unwrap_or(old));
        }
    }
    for section in &mut elf.sections {
        section.sh_link = U32::new(LE, of(section.sh_link.get(LE)));
        let has_section = matches!(section.sh_type.get(LE), elf::SHT_RELA | elf::SHT_REL)
            || section.sh_flags.get(LE) & u64::from(elf::SHF_INFO_LINK) != 0;
        if has_section {
            section.sh_info = U32::new(LE, of(section.sh_info.get(LE)));
        }
    }
    elf.header.e_shstrndx = U16::new(LE, of(elf.header.e_shstrndx.get(LE).into()) as u16);
    elf.sections = order.iter().map(|&old| elf.sections[old]).collect();
    Ok(())
}
