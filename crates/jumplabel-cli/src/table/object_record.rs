//! Finds the record of an object, which leads to its tables.
//!
//! In a stripped file, only code names the record's address. The note of the library does not help: it leads to the library's state, which does not
//! know the record until the constructors have run. So this module searches the data that the program may write. Nothing else there looks like a
//! record:
//!
//! ```text
//!   0 0 0 0 0 0 0   table  keys  foreign  lists   0   1
//!   pointers        start and stop of each            version
//! ```
//!
//! Each of the four pairs leads to whole rows that lie in the file, or to nothing. A table leads to code. So the sections need no names. A program
//! may have several copies of the same record: with link-time optimisation, lld keeps the record of the code that it compiled beside that of an
//! archive, and uses one of them.

use std::ops::Range;

use jumplabel_format::layout::{KEYS_SECTION, NOTE_NAME, TABLE_SECTION, VERSION};
use object::{Endian, Object, ObjectSection, ReadCache};

use crate::failure::Failure;
use crate::image::Image;

const ENTRY: usize = 16;
const KEY: usize = 12;
const LISTED: usize = 8;
/// The bytes of the words in a record: two words for each of the four sections.
const WORDS: usize = 32;

/// The section of a PE file that contains the record.
const PE_SECTION: &str = ".jumplbl";

/// The addresses of the tables.
pub struct Bounds {
    /// The addresses of the record's eight words, of which the first two lead to the table: one address for each copy of the record.
    pub words: Vec<u64>,
    pub table: Entries,
    pub keys: std::iter::StepBy<Range<u64>>,
    /// The addresses of the object's marks ("foreign" in the figure), each a word.
    pub marks: std::iter::StepBy<Range<u64>>,
}

/// The addresses of entries, with the range that they lie in.
#[derive(Clone)]
pub struct Entries(Range<u64>, std::iter::StepBy<Range<u64>>);

impl Entries {
    pub fn bounds(&self) -> &Range<u64> {
        &self.0
    }
}

impl Iterator for Entries {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.1.next()
    }
}

/// The addresses of the tables, as the object's record gives them. `None` if the object has neither keys nor sites.
pub fn find(image: &Image) -> Result<Option<Bounds>, Failure> {
    if let Some(version) = other_version(image) {
        let why = format!("tables of version {version}, and this tool reads version {VERSION}");
        return Err(Failure::OutOfReach(why));
    }
    let found = image.data().flat_map(|(start, data)| candidates(image, start, data));
    let (words, mut sections): (Vec<u64>, Vec<Sections>) = found.unzip();
    sections.dedup();
    match sections.pop() {
        Some(Sections { table, keys, marks }) if sections.is_empty() => {
            let rows = super::rows(table.clone(), ENTRY);
            let (keys, marks) = (super::rows(keys, KEY), super::rows(marks, 4));
            Ok(Some(Bounds { words, table: Entries(table, rows), keys, marks }))
        }
        Some(_) => Err(Failure::Refused("damaged: records that lead to several tables".into())),
        None if image.has_tables() => {
            Err(Failure::Refused("damaged: there are tables, and no record leads to them".into()))
        }
        None => Ok(None),
    }
}

/// The sections that a record leads to.
#[derive(PartialEq)]
struct Sections {
    table: Range<u64>,
    keys: Range<u64>,
    marks: Range<u64>,
}

/// Candidates for records in data that begins at `start`: for each, the address of the eight words, and the sections to which they lead.
fn candidates<'image>(
    image: &'image Image,
    start: u64,
    data: &'image [u8],
) -> impl Iterator<Item = (u64, Sections)> + 'image {
    let pointer = image.machine.pointer();
    let pointers = 7 * pointer;
    let first = (start.wrapping_neg() % pointer as u64) as usize;
    let records = data.get(first..).unwrap_or_default().windows(pointers + WORDS + 8).step_by(pointer);
    let is_one = move |record: &[u8]| {
        let (zeros, flags) = (&record[..pointers], &record[pointers + WORDS..pointers + WORDS + 4]);
        image.endian().read_u32_bytes(last(record)) == VERSION && [zeros, flags].concat().iter().all(|&byte| byte == 0)
    };
    let numbered = (0..).step_by(pointer).zip(records);
    let there = numbered.filter(move |(_, record)| is_one(record)).map(move |(at, _)| start + (first + at) as u64);
    let words = there.map(move |record| record + pointers as u64);
    words.filter_map(move |words| Some((words, sections(image, words)?)))
}

fn last(record: &[u8]) -> [u8; 4] {
    record.last_chunk().copied().unwrap_or_default()
}

/// The sections to which the eight words at `words` lead. `None` if the words cannot be those of a record.
fn sections(image: &Image, words: u64) -> Option<Sections> {
    let pair = |number: u64, row: usize| -> Option<Range<u64>> {
        let (start, stop) = (image.follow(words + number * 8)?, image.follow(words + number * 8 + 4)?);
        // If a section is missing, its two words need not lead to exactly the same address, but the addresses differ by less than a row.
        if start.abs_diff(stop) < row as u64 {
            return Some(0..0);
        }
        let bytes = usize::try_from(stop.checked_sub(start)?).ok()?;
        (start % 4 == 0 && bytes.is_multiple_of(row) && image.slice(start, bytes).is_some()).then_some(start..stop)
    };
    let (table, keys) = (pair(0, ENTRY)?, pair(1, KEY)?);
    let (marks, _) = (pair(2, 4)?, pair(3, LISTED)?);
    // Most entries of a table of sites lead to code, even if some are damaged.
    let entries = || super::rows(table.clone(), ENTRY);
    let leads = |entry: &u64| {
        let [code, key] = [*entry, entry + 8].map(|word| image.follow(word));
        code.is_some_and(|code| image.contains_code(code, 4)) && key.is_some_and(|key| image.contains(key, 8))
    };
    let entries = || entries().filter(|&entry| !image.is_dropped(entry));
    let leads_to_code = || entries().filter(leads).count() * 2 > entries().count() || entries().next().is_none();
    if table.is_empty() && keys.is_empty() || !table.is_empty() && !leads_to_code() {
        return None;
    }
    Some(Sections { table, keys, marks })
}

/// The version that a note of the library gives, if it is not this tool's.
fn other_version(image: &Image) -> Option<u32> {
    let word = |note: &[u8], at: usize| Some(image.endian().read_u32_bytes(*note.get(at..)?.first_chunk()?));
    for note in image.notes() {
        let mut at = 0;
        while let (Some(name), Some(description), Some(version)) =
            (word(&note, at), word(&note, at + 4), word(&note, at + 8))
        {
            let name_end = at + 12 + (name as usize).min(note.len()).next_multiple_of(4);
            if note.get(at + 12..at + 12 + name as usize) == Some(NOTE_NAME) && version != VERSION {
                return Some(version);
            }
            at = name_end + (description as usize).min(note.len()).next_multiple_of(4);
        }
    }
    None
}

impl Image {
    /// Whether sections show that there are tables. Tables may also exist without such sections.
    fn has_tables(&self) -> bool {
        let cache = ReadCache::new(self.file());
        let Ok(file) = object::File::parse(&cache) else { return false };
        [TABLE_SECTION, KEYS_SECTION, PE_SECTION]
            .iter()
            .any(|name| file.section_by_name(name).is_some_and(|section| section.size() > 0))
    }
}
