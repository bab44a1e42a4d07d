//! Finds room for one more program header.
//!
//! ```text
//!   ELF header | program headers | .interp | notes | ...
//!                                ^ 56 bytes
//! ```
//!
//! The program headers must stay after the ELF header: kernels before 5.18 tell the program that the headers are in its first page, at their offset
//! in the file, and GNU strip writes them there whatever the file says. So room is taken from the first of these that exists:
//!
//! * a header without a use (PT_NULL), or free bytes after the headers;
//! * PT_GNU_PROPERTY, because x86's loaders read the same from PT_NOTE;
//! * `.interp` and notes. They move to the new segment, as in patchelf, because only their program headers lead to them. Of the notes, only
//!   `.note.ABI-tag` moves if that is enough, because readers of core dumps look for the build-id in the first page. This note then leaves its
//!   PT_NOTE: only glibc before 2.36 looked for it there, in libraries;
//! * the hash table and the dynamic symbols, in libraries that have no `.interp` in front of them. Tags of `.dynamic` lead to both.

use std::ops::Range;

use object::{LittleEndian as LE, U64, elf, pod};

use super::elf::{Elf, add, content, damaged, is_loaded};
use crate::failure::Failure;

/// The source of the room for the new program header.
pub enum Room {
    /// The header with this number, which is given up.
    Header(usize),
    /// The bytes after the headers, once these ranges of the file have moved.
    Behind(Vec<Range<u64>>),
}

const HEADER: u64 = 56;

/// Finds room for the header.
pub fn find(elf: &Elf, bytes: &[u8]) -> Result<Room, Failure> {
    let none = || Failure::Refused("no room for one more program header".into());
    let is = |number: usize, kind: u32| elf.segments[number].p_type.get(LE) == kind;
    let mut all = 0..elf.segments.len();
    if let Some(unused) = all.clone().find(|&number| is(number, elf::PT_NULL)) {
        return Ok(Room::Header(unused));
    }
    let start = elf.header.e_phoff.get(LE) + elf.segments.len() as u64 * HEADER;
    let header = start..start + HEADER;
    let in_the_way = || sections(elf, &header);
    let is_free = |range: &Range<u64>| {
        let range = range.start as usize..range.end as usize;
        bytes.get(range).is_some_and(|bytes| bytes.iter().all(|&byte| byte == 0))
    };
    let is_loaded = elf.address(elf.header.e_phoff.get(LE)).is_some();
    if is_loaded && elf.address(header.end - 1).is_none() {
        return Err(none());
    }
    if in_the_way().next().is_none() && is_free(&header) {
        return Ok(Room::Behind(Vec::new()));
    }
    let ranges = |kind: u32| {
        let of_kind = elf.segments.iter().filter(move |segment| segment.p_type.get(LE) == kind);
        of_kind.map(|segment| segment.p_offset.get(LE)..segment.p_offset.get(LE).wrapping_add(segment.p_filesz.get(LE)))
    };
    let is_noted = |property: usize| {
        let at = elf.segments[property].p_offset.get(LE);
        ranges(elf::PT_NOTE).any(|note| note.contains(&at))
    };
    if let Some(property) = all.find(|&number| is(number, elf::PT_GNU_PROPERTY) && is_noted(number)) {
        return Ok(Room::Header(property));
    }
    let mut moved: Vec<Range<u64>> = Vec::new();
    for section in in_the_way() {
        let own = elf.range(section);
        let notes = ranges(elf::PT_NOTE).find(|notes| notes.contains(&own.start) && notes.end >= own.end);
        let is_alone = match &notes {
            Some(notes) => notes.start == own.start && elf.is_named(bytes, section, b".note.ABI-tag"),
            None => ranges(elf::PT_INTERP).any(|interp| interp == own) || is_found_by_tag(elf, section),
        };
        let group = if is_alone { Some(own) } else { notes };
        let group = group.filter(|group| group.end as usize <= bytes.len()).ok_or_else(none)?;
        if moved.iter().any(|other| other.contains(&group.start) && other.end >= group.end) {
            continue;
        }
        moved.retain(|other| !group.contains(&other.start));
        moved.push(group);
    }
    Ok(Room::Behind(moved))
}

/// The sections that have bytes in a range of the file.
fn sections<'elf>(elf: &'elf Elf, range: &Range<u64>) -> impl Iterator<Item = usize> + use<'elf> {
    let range = range.clone();
    (1..elf.sections.len()).filter(move |&section| {
        let own = elf.range(section);
        own.start < range.end && own.end > range.start
    })
}

/// A range that was moved: its old place in the file, and by how much its address and its place have changed.
pub struct Moved {
    pub from: Range<u64>,
    pub by: u64,
    pub by_in_file: u64,
}

/// The tags of tables that may move, and the types of their sections.
const TAGS: [(u32, u32); 3] =
    [(elf::DT_GNU_HASH, elf::SHT_GNU_HASH), (elf::DT_HASH, elf::SHT_HASH), (elf::DT_SYMTAB, elf::SHT_DYNSYM)];

fn is_found_by_tag(elf: &Elf, section: usize) -> bool {
    let section = &elf.sections[section];
    is_loaded(section) && TAGS.iter().any(|&(_, kind)| section.sh_type.get(LE) == kind)
}

/// Makes the tags of `.dynamic` lead to what was moved. Each section that may move has one tag.
pub fn follow_tags(elf: &Elf, bytes: &mut [u8], moved: &[Moved]) -> Result<(), Failure> {
    let wrong = || damaged("a dynamic section that leads elsewhere");
    for section in (1..elf.sections.len()).filter(|&section| is_found_by_tag(elf, section)) {
        let Some(Moved { by, .. }) = moved.iter().find(|moved| moved.from.contains(&elf.range(section).start)) else {
            continue;
        };
        let dynamic = elf.sections.iter().find(|section| section.sh_type.get(LE) == elf::SHT_DYNAMIC);
        let data = content(dynamic.ok_or_else(wrong)?, bytes)?;
        let count = data.len() / size_of::<elf::Dyn64<LE>>();
        let (rows, _) = pod::slice_from_bytes_mut::<elf::Dyn64<LE>>(data, count).map_err(|()| wrong())?;
        let kind = elf.sections[section].sh_type.get(LE);
        let leads = |row: &&mut elf::Dyn64<LE>| {
            TAGS.iter().any(|&(tag, of)| u64::from(tag) == row.d_tag.get(LE) && of == kind)
                && row.d_val.get(LE) == elf.sections[section].sh_addr.get(LE)
        };
        add(&mut rows.iter_mut().find(leads).ok_or_else(wrong)?.d_val, *by);
    }
    Ok(())
}

/// Updates the headers that lead to what was moved.
pub fn follow(elf: &mut Elf, moved: &[Moved]) {
    for Moved { from, by, by_in_file } in moved {
        for section in elf.sections.iter_mut().filter(|section| is_loaded(section)) {
            let at = section.sh_offset.get(LE);
            if from.contains(&at) && section.sh_type.get(LE) != elf::SHT_NOBITS {
                add(&mut section.sh_addr, *by);
                add(&mut section.sh_offset, *by_in_file);
            }
        }
        for segment in &mut elf.segments {
            let (start, bytes) = (segment.p_offset.get(LE), segment.p_filesz.get(LE));
            let kind = segment.p_type.get(LE);
            if !matches!(kind, elf::PT_INTERP | elf::PT_NOTE | elf::PT_GNU_PROPERTY) || !from.contains(&start) {
                continue;
            }
            if start.saturating_add(bytes) <= from.end {
                add(&mut segment.p_offset, *by_in_file);
                add(&mut segment.p_vaddr, *by);
                add(&mut segment.p_paddr, *by);
            } else {
                // The rest of the notes has not moved, so the segment shrinks to the rest.
                let less = from.end - start;
                add(&mut segment.p_offset, less);
                add(&mut segment.p_vaddr, less);
                add(&mut segment.p_paddr, less);
                segment.p_filesz = U64::new(LE, bytes - less);
                segment.p_memsz = U64::new(LE, bytes - less);
            }
        }
    }
}
