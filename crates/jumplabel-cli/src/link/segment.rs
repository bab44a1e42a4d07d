//! Builds a table with more entries. The linker left no room after the old table, and nothing after it can move. So the whole table goes into a
//! segment of its own, which is the last one in the file and in memory, and is read-only like the old table.
//!
//! ```text
//!   old   headers | code, data, .bss |                       | symbols, relocations, debug information | section headers
//!   new   headers | code, data, .bss | table, what was moved | the same, some pages further on
//! ```
//!
//! The two words of the object's record lead to the new table, and so do the section `__jump_table` and its symbols. Zeros replace the old table.
//! Nothing else that is loaded moves, except what makes room for the new program header (`room`).

use object::pod::{self, bytes_of};
use object::{LittleEndian as LE, U32, U64, elf};

use super::elf::{Elf, Relocation, Section, Segment, Symbol, add, content, damaged, is_left, is_loaded, put};
use super::program::{ENTRY, Entry, Program};
use super::room::{self, Moved, Room};
use super::sections;
use crate::failure::Failure;

const PAGE: u64 = 4 << 10;
/// The limit for the loaded part of a file, because the words of the table reach only this far.
const MOST: u64 = 2 << 30;
/// The limit for addresses. No program has an address as high as this.
const HIGHEST: u64 = 1 << 63;

/// The file with `entries` added to its table.
pub fn with_entries(program: &Program, mut bytes: Vec<u8>, entries: &[Entry]) -> Result<Vec<u8>, Failure> {
    let too_large = || Failure::Refused("too large for a table behind it".to_owned());
    let mut elf = program.elf.clone();
    let (file_end, memory_end) = elf.end().ok_or_else(too_large)?;
    if memory_end.wrapping_sub(elf.start()) >= MOST || memory_end >= HIGHEST {
        return Err(too_large());
    }
    if file_end > bytes.len() as u64 {
        return Err(damaged("a segment beyond the end of the file"));
    }
    let (offset, address) = (file_end.next_multiple_of(PAGE), memory_end.next_multiple_of(PAGE));
    let mut content = table(program, &bytes, entries, address).ok_or_else(too_large)?;
    let table = address..address + content.len() as u64;
    let room = room::find(&elf, &bytes)?;
    let mut moved = Vec::new();
    if let Room::Behind(ranges) = &room {
        for from in ranges {
            let old = from.start as usize..from.end as usize;
            content.resize(content.len().next_multiple_of(16) + old.start % 16, 0);
            let to = offset + content.len() as u64;
            content.extend(&bytes[old.clone()]);
            bytes[old].fill(0);
            let from_address = elf.address(from.start).ok_or_else(|| damaged("headers that are not loaded"))?;
            let by = (address + (to - offset)).wrapping_sub(from_address);
            moved.push(Moved { from: from.clone(), by, by_in_file: to.wrapping_sub(from.start) });
        }
    }
    forget(program, &mut bytes)?;
    let section = elf.section_at(&program.entries);
    let moved_sections = |elf: &Elf, section: usize| {
        moved.iter().find(|one| one.from.contains(&elf.sections[section].sh_offset.get(LE))).map(|one| one.by)
    };
    // For each section, by its number: how far the section has moved.
    let shifts: Vec<u64> = (0..elf.sections.len())
        .map(|number| match section == Some(number) {
            true => table.start.wrapping_sub(program.entries.start),
            false if !is_loaded(&elf.sections[number]) => 0,
            false => moved_sections(&elf, number).unwrap_or_default(),
        })
        .collect();
    room::follow_tags(&elf, &mut bytes, &moved)?;
    room::follow(&mut elf, &moved);
    if let Some(section) = section {
        let section = &mut elf.sections[section];
        section.sh_addr = U64::new(LE, table.start);
        section.sh_offset = U64::new(LE, offset);
        section.sh_size = U64::new(LE, table.end - table.start);
    }
    insert(&mut elf, room, offset, address, content.len() as u64);
    for &words in &program.words {
        lead(&elf, &mut bytes, words, &table).ok_or_else(|| damaged("no record"))?;
    }
    // Everything after the loaded part moves by whole pages, so that it keeps its alignment.
    let more = (offset + content.len() as u64 - file_end).next_multiple_of(PAGE);
    let beside = |section: &&mut Section| !is_loaded(section) && section.sh_offset.get(LE) >= file_end;
    elf.sections.iter_mut().filter(beside).for_each(|section| add(&mut section.sh_offset, more));
    if elf.header.e_shoff.get(LE) >= file_end {
        add(&mut elf.header.e_shoff, more);
    }
    let rest = bytes.split_off(file_end as usize);
    bytes.resize(offset as usize, 0);
    bytes.extend(content);
    bytes.resize((file_end + more) as usize, 0);
    bytes.extend(rest);
    shift_symbols(&elf, &mut bytes, &shifts, program.entries.end, table.end)?;
    sections::sort(&mut elf, &mut bytes)?;
    elf.write(&mut bytes).ok_or_else(|| damaged("headers beyond the end of the file"))?;
    Ok(bytes)
}

/// The bytes of a table at `address`: the old entries, then `entries`. The meta words of the old entries come from `bytes`, where passes may have
/// changed them. `None` if an entry cannot reach what it leads to.
fn table(program: &Program, bytes: &[u8], entries: &[Entry], address: u64) -> Option<Vec<u8>> {
    let mut table = Vec::new();
    let mut push = |entry: Entry| {
        for to in [entry.code, entry.target, entry.key] {
            let here = address + table.len() as u64;
            table.extend(i32::try_from(to.wrapping_sub(here).cast_signed()).ok()?.to_le_bytes());
        }
        table.extend(entry.meta.to_le_bytes());
        Some(())
    };
    let image = &program.image;
    for at in program.entries.clone().step_by(ENTRY) {
        let follow = |number: u64| image.follow(at + number * 4);
        let meta = u32::from_le_bytes(*bytes.get(program.elf.place(at + 12, 4)?..)?.first_chunk()?);
        push(Entry { code: follow(0)?, target: follow(1)?, key: follow(2)?, meta })?;
    }
    entries.iter().try_for_each(|entry| push(*entry))?;
    Some(table)
}

/// Overwrites the old table with zeros.
fn forget(program: &Program, bytes: &mut [u8]) -> Result<(), Failure> {
    let old = program.entries.end - program.entries.start;
    let place = program.elf.place(program.entries.start, old).ok_or_else(|| damaged("no table in the file"))?;
    let table = bytes.get_mut(place..place.saturating_add(old as usize));
    table.ok_or_else(|| damaged("no table in the file"))?.fill(0);
    Ok(())
}

/// Makes the object's record lead to a table.
fn lead(elf: &Elf, bytes: &mut [u8], words: u64, table: &std::ops::Range<u64>) -> Option<()> {
    for (word, to) in [(words, table.start), (words + 4, table.end)] {
        let distance = i32::try_from(to.wrapping_sub(word).cast_signed()).ok()?;
        put(bytes, elf.place(word, 4)? as u64, &distance.to_le_bytes())?;
    }
    Some(())
}

/// Updates symbols and relocations of sections that have moved. A symbol at the end of the old table goes to the end of the new one.
fn shift_symbols(elf: &Elf, bytes: &mut [u8], shifts: &[u64], old_end: u64, end: u64) -> Result<(), Failure> {
    let wrong = || damaged("a section that is not aligned");
    for section in &elf.sections {
        let (kind, of) = (section.sh_type.get(LE), section.sh_info.get(LE) as usize);
        if matches!(kind, elf::SHT_SYMTAB | elf::SHT_DYNSYM) {
            let data = content(section, bytes)?;
            let count = data.len() / size_of::<Symbol>();
            let (symbols, _) = pod::slice_from_bytes_mut::<Symbol>(data, count).map_err(|()| wrong())?;
            for symbol in symbols {
                let by = shifts.get(usize::from(symbol.st_shndx.get(LE))).copied().unwrap_or_default();
                match by {
                    0 => {}
                    _ if symbol.st_value.get(LE) == old_end => symbol.st_value = U64::new(LE, end),
                    _ => add(&mut symbol.st_value, by),
                }
            }
        } else if let Some(&by) = shifts.get(of).filter(|&&by| by != 0 && is_left(section)) {
            let data = content(section, bytes)?;
            let count = data.len() / size_of::<Relocation>();
            let (rows, _) = pod::slice_from_bytes_mut::<Relocation>(data, count).map_err(|()| wrong())?;
            rows.iter_mut().for_each(|row| add(&mut row.r_offset, by));
        }
    }
    Ok(())
}

/// Inserts a program header for the new segment after the last one of type PT_LOAD, because the addresses of these must ascend.
fn insert(elf: &mut Elf, room: Room, offset: u64, address: u64, bytes: u64) {
    let word = |value| U64::new(LE, value);
    let segment = Segment {
        p_type: U32::new(LE, elf::PT_LOAD),
        p_flags: U32::new(LE, elf::PF_R),
        p_offset: word(offset),
        p_vaddr: word(address),
        p_paddr: word(address),
        p_filesz: word(bytes),
        p_memsz: word(bytes),
        p_align: word(PAGE),
    };
    match room {
        Room::Header(unused) => drop(elf.segments.remove(unused)),
        Room::Behind(_) => {
            let own = elf.segments.iter_mut().find(|segment| segment.p_type.get(LE) == elf::PT_PHDR);
            for word in own.into_iter().flat_map(|own| [&mut own.p_filesz, &mut own.p_memsz]) {
                add(word, bytes_of(&segment).len() as u64);
            }
        }
    }
    let last = elf.segments.iter().rposition(|segment| segment.p_type.get(LE) == elf::PT_LOAD);
    elf.segments.insert(last.map_or(0, |last| last + 1), segment);
}
