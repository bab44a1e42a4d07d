//! Reads a linked binary and checks what the format promises of it, without running it.
//!
//! ```text
//!  __jump_table    read-only, whole entries of 16 bytes, 4-aligned
//!  each entry      leads to code whose bytes are the nop, or the jump to the entry's target: as the key's default says;
//!                  or to the function of a naked key, which returns the default
//!  relocations     none in the table, in __jump_keys, in code
//!  .init_array     the object's constructor, once
//! ```

use std::collections::HashMap;

use object::elf::{PF_W, R_X86_64_RELATIVE, SHF_ALLOC, SHF_EXECINSTR, SHF_WRITE, SHT_RELA, SHT_RELR};
use object::read::elf::{ElfFile64, SectionHeader as _};
use object::{Endianness, Object as _, ObjectSection as _, ObjectSegment as _, ObjectSymbol as _, SegmentFlags};

/// The numbers of things in a sound binary.
#[derive(Debug, PartialEq, Eq)]
pub struct Contents {
    /// Entries of the table.
    pub sites: usize,
    /// The number of these entries that are for sites of two bytes, and of those that were built as jumps and are to be linked.
    pub short: usize,
    pub unlinked: usize,
    /// Names of the key records, sorted.
    pub keys: Vec<String>,
}

struct Record {
    key: u64,
    name: String,
    count: u64,
    stride: u64,
    default: bool,
}

pub struct Binary<'data> {
    file: ElfFile64<'data>,
    /// Address and addend of each dynamic relocation. The addend is `None` if it is in the place itself.
    relocations: HashMap<u64, Option<u64>>,
}

const NOP: [u8; 5] = [0x0f, 0x1f, 0x44, 0, 0];
/// Bytes of a key record.
const RECORD: u64 = 12;
/// The kind of an entry of a naked key's function, of a short check, and of a check that begins as a jump to a stub.
const NAKED: u32 = 1;
const SHORT: u32 = 7;
const LOADING: u32 = 8;
/// The flag of an entry whose site was built as a jump, and is to fall through once it is linked.
const UNLINKED: u32 = 1 << 7;

impl<'data> Binary<'data> {
    pub fn parse(data: &'data [u8]) -> Binary<'data> {
        let file = ElfFile64::parse(data).unwrap();
        let relocations = relocations(&file, data);
        Binary { file, relocations }
    }

    /// Runs all checks. An error says what is wrong.
    pub fn check(&self) -> Result<Contents, String> {
        let records = self.records()?;
        let [sites, short, unlinked] = self.table(&records)?;
        self.no_relocation()?;
        self.one_constructor()?;
        Ok(Contents { sites, short, unlinked, keys: names(&records) })
    }

    /// The names of keys that tools can find in a stripped binary.
    pub fn keys(&self) -> Result<Vec<String>, String> {
        self.records().map(|records| names(&records))
    }

    fn bytes(&self, address: u64, len: usize) -> Result<&'data [u8], String> {
        let found = self.file.sections().find_map(|section| section.data_range(address, len as u64).ok().flatten());
        found.ok_or(format!("no bytes at {address:#x}"))
    }

    /// The address to which the word at `address` leads.
    fn relative(&self, address: u64) -> Result<u64, String> {
        Ok(address.wrapping_add_signed(i64::from(self.word(address)? as i32)))
    }

    fn word(&self, address: u64) -> Result<u32, String> {
        Ok(u32::from_le_bytes(self.bytes(address, 4)?.try_into().unwrap()))
    }

    /// The bounds of a section that must be read-only.
    fn read_only(&self, name: &str, unit: u64) -> Result<(u64, u64), String> {
        let section = self.file.section_by_name(name).ok_or(format!("no section {name}"))?;
        let flags = section.elf_section_header().sh_flags(Endianness::Little) as u32;
        if flags & SHF_WRITE != 0 || flags & SHF_ALLOC == 0 {
            return Err(format!("{name} has the flags {flags:#x}"));
        }
        let (start, size) = (section.address(), section.size());
        let writable = |segment: object::read::elf::ElfSegment64<'_, '_>| {
            let SegmentFlags::Elf { p_flags } = segment.flags() else { return true };
            p_flags & PF_W != 0 && (segment.address()..segment.address() + segment.size()).contains(&start)
        };
        if self.file.segments().any(writable) {
            return Err(format!("{name} lies in a writable segment"));
        }
        if start % 4 != 0 || size % unit != 0 {
            return Err(format!("{name} at {start:#x} has {size} bytes"));
        }
        Ok((start, start + size))
    }

    fn records(&self) -> Result<Vec<Record>, String> {
        let (start, end) = self.read_only("__jump_keys", RECORD)?;
        let record = |at: u64| {
            let about = self.relative(at + 4)?;
            let word = |place: u64| Ok::<u64, String>(u64::from(self.word(about + place)?));
            let lengths = self.bytes(about + 20, 8)?;
            let [module, path, name, file] =
                [0, 2, 4, 6].map(|at| usize::from(u16::from_le_bytes([lengths[at], lengths[at + 1]])));
            let text = String::from_utf8(self.bytes(about + 28, path + name + file)?.to_vec()).unwrap();
            assert!(text[module..].starts_with("::") && text.ends_with(".rs"), "{text}");
            Ok(Record {
                key: self.relative(at)? + word(16)?,
                name: text[if name == 0 { 0..path } else { path..path + name }].to_owned(),
                count: word(8)?,
                stride: word(12)? >> 8,
                default: word(12)? & 1 != 0,
            })
        };
        (start..end).step_by(RECORD as usize).map(record).collect()
    }

    /// Checks each entry, and the bytes to which it leads. Returns the numbers of entries: all, the short ones, and those that are to be linked.
    fn table(&self, records: &[Record]) -> Result<[usize; 3], String> {
        let (start, end) = self.read_only("__jump_table", 16)?;
        let mut seen = Vec::new();
        let (mut short, mut unlinked) = (0, 0);
        for at in (start..end).step_by(16) {
            let [code, target, key] = [self.relative(at)?, self.relative(at + 4)?, self.relative(at + 8)?];
            let meta = self.word(at + 12)?;
            let arm = meta & 1 != 0;
            let kind = meta >> 2 & 15;
            let (nop, opcode): (&[u8], u8) = if kind == SHORT { (&[0x66, 0x90], 0xeb) } else { (&NOP, 0xe9) };
            let site = self.bytes(code, nop.len())?;
            let record = records.iter().find(|record| record.contains(key));
            seen.push(code);
            if !self.is_code(code) || !self.is_code(target) {
                return Err(format!("{code:#x} or {target:#x} is not in code"));
            }
            if kind == NAKED {
                naked(code, target, arm, self.bytes(code, 6)?, record)?;
                continue;
            }
            let displacement = (target as i64 - code as i64 - nop.len() as i64) as i32;
            let jump = [&[opcode], &displacement.to_le_bytes()[..nop.len() - 1]].concat();
            if kind == SHORT && i8::try_from(displacement).is_err() {
                return Err(format!("the site at {code:#x}: its jump is to {target:#x}"));
            }
            short += usize::from(kind == SHORT);
            if meta & UNLINKED != 0 {
                unlinked += 1;
                if site != jump || record.is_some_and(|record| record.default != arm) {
                    return Err(format!("the site at {code:#x} holds {site:02x?}, and is to be linked"));
                }
                continue;
            }
            if site != nop && site != jump {
                return Err(format!("the site at {code:#x} holds {site:02x?}, its jump is {jump:02x?}"));
            }
            if let Some(record) = record
                && (kind == LOADING || record.default != arm) != (site != nop)
            {
                return Err(format!("the site at {code:#x} of {} starts in the wrong state", record.name));
            }
        }
        let count = seen.len();
        seen.sort_unstable();
        seen.dedup();
        (seen.len() == count).then_some([count, short, unlinked]).ok_or("a site is listed twice".into())
    }

    fn flags_at(&self, address: u64) -> u32 {
        let holds = |section: &object::read::elf::ElfSection64<'data, '_>| {
            (section.address()..section.address() + section.size()).contains(&address)
        };
        let flags = |section: object::read::elf::ElfSection64<'data, '_>| {
            section.elf_section_header().sh_flags(Endianness::Little) as u32
        };
        self.file.sections().filter(holds).map(flags).find(|flags| flags & SHF_ALLOC != 0).unwrap_or(0)
    }

    fn is_code(&self, address: u64) -> bool {
        self.flags_at(address) & SHF_EXECINSTR != 0
    }

    fn no_relocation(&self) -> Result<(), String> {
        let [table, keys] = [self.read_only("__jump_table", 16)?, self.read_only("__jump_keys", RECORD)?];
        for &place in self.relocations.keys() {
            if (table.0..table.1).contains(&place) || (keys.0..keys.1).contains(&place) || self.is_code(place) {
                return Err(format!("a relocation at {place:#x}"));
            }
        }
        Ok(())
    }

    /// Checks that the object is registered once.
    pub fn one_constructor(&self) -> Result<(), String> {
        let init: Vec<u64> = self
            .file
            .symbols()
            .filter(|it| it.name() == Ok("__jumplabel_object_init"))
            .map(|it| it.address())
            .collect();
        let &[init] = &init[..] else { return Err(format!("{} functions that register", init.len())) };
        let section = self.file.section_by_name(".init_array").ok_or("no .init_array")?;
        let data = section.data().map_err(|error| error.to_string())?;
        let words = data.chunks_exact(8).zip((section.address()..).step_by(8)).map(|(word, at)| {
            let in_place = u64::from_le_bytes(word.try_into().unwrap());
            self.relocations.get(&at).copied().flatten().unwrap_or(in_place)
        });
        match words.filter(|&word| word == init).count() {
            1 => Ok(()),
            count => Err(format!("{count} registrations")),
        }
    }
}

/// The function of a naked key: two instructions, the default in the first.
fn naked(code: u64, target: u64, arm: bool, bytes: &[u8], record: Option<&Record>) -> Result<(), String> {
    let &[0xb8, value @ 0..=1, 0, 0, 0, 0xc3] = bytes else {
        return Err(format!("the function at {code:#x} holds {bytes:02x?}"));
    };
    if target != code {
        return Err(format!("the function at {code:#x}: its jump is to {target:#x}"));
    }
    let Some(record) = record else { return Err(format!("the function at {code:#x} has no key record")) };
    if arm || record.default != (value == 1) {
        return Err(format!("the function at {code:#x} of {} starts in the wrong state", record.name));
    }
    Ok(())
}

impl Record {
    fn contains(&self, key: u64) -> bool {
        (0..self.count).any(|element| self.key + element * self.stride == key)
    }
}

fn names(records: &[Record]) -> Vec<String> {
    let mut names: Vec<String> = records.iter().map(|record| record.name.clone()).collect();
    names.sort_unstable();
    names
}

/// Dynamic relocations: RELA, and the packed RELR.
fn relocations(file: &ElfFile64<'_>, data: &[u8]) -> HashMap<u64, Option<u64>> {
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
    let mut found = HashMap::new();
    for section in file.sections() {
        let header = section.elf_section_header();
        if header.sh_flags(Endianness::Little) & u64::from(SHF_ALLOC) == 0 {
            continue;
        }
        let contents = header.data(Endianness::Little, data).unwrap_or_default();
        match header.sh_type(Endianness::Little) {
            SHT_RELA => found.extend(contents.chunks_exact(24).map(|entry| {
                let relative = word(&entry[8..16]) as u32 == R_X86_64_RELATIVE;
                (word(&entry[..8]), relative.then(|| word(&entry[16..])))
            })),
            SHT_RELR => {
                let mut base = 0;
                for entry in contents.chunks_exact(8).map(word) {
                    if entry & 1 == 0 {
                        found.insert(entry, None);
                        base = entry + 8;
                    } else {
                        found.extend(
                            (0..63).filter(|bit| entry >> (bit + 1) & 1 != 0).map(|bit| (base + 8 * bit, None)),
                        );
                        base += 63 * 8;
                    }
                }
            }
            _ => {}
        }
    }
    found
}
