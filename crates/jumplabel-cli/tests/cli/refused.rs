//! What is refused, and what the tool says of it.

use std::path::{Path, PathBuf};

use object::{Object, ObjectSection};

use crate::damaged::section;
use crate::programs::{Printed, RECORD, copy, edited, jumplabel, prints, program, text};
use crate::stripped::without_sections;

/// A word of a row of a section.
fn word(file: &Path, name: &str, section_name: &str, at: usize, value: u32) -> PathBuf {
    edited(file, name, |bytes| {
        let place = section(bytes, section_name).start + at;
        bytes[place..place + 4].copy_from_slice(&value.to_le_bytes());
    })
}

#[track_caller]
fn refused(file: &Path, why: &str) {
    let Printed { code, out, err } = jumplabel(&["check", text(file)]);
    assert_eq!((code, &*out), (4, ""), "{err}");
    assert!(err.contains(why) && err.contains("damaged"), "{why}: {err}");
    // What can be read is listed all the same, but not as a success.
    let Printed { code, err, .. } = jumplabel(&["list", text(file)]);
    assert!(code == 4 && err.contains(why), "{err}");
}

#[test]
fn says_what() {
    let table = |name, at, value| word(program(), name, "__jump_table", at, value);
    refused(&table("no-code", 16, 0), "entry 1 of the table, at 0x");
    refused(&table("no-code", 16, 0), "has its site where no code is: 0x");
    refused(&table("no-target", 20, 0x7fff_0000), "leads to where no code is: 0x");
    refused(&table("no-key", 8, 0x7000_0000), "entry 0 of the table");
    refused(&table("no-key", 8, 0x7000_0000), "leads to no key: 0x");
    refused(&table("kind", 12, 9 << 2), "has the unknown kind 9");
    // What fills a screen is said in short.
    let file = edited(program(), "all-bad", |bytes| {
        let keys = section(bytes, "__jump_keys");
        bytes[keys].fill(0x70);
        let table = section(bytes, "__jump_table");
        for entry in bytes[table].chunks_exact_mut(16).skip(1) {
            entry[4..8].fill(0x70);
        }
    });
    let Printed { code, err, .. } = jumplabel(&["check", text(&file)]);
    assert!(code == 4 && err.lines().count() == 11 && err.ends_with(" more places\n"), "{err}");
    refused(&word(program(), "declaration", "__jump_keys", 4, 0x7000_0000), "the record of a key at 0x");
}

/// An entry of nobody's is no damage, and its site is left out: the key is where the object begins, or in a slot that is empty.
#[test]
fn nobodys() {
    let sites = prints("sites", program(), &[]).lines().count();
    let table = section(&std::fs::read(program()).unwrap(), "__jump_table");
    let address = |bytes: &[u8]| object::File::parse(bytes).unwrap().section_by_name("__jump_table").unwrap().address();
    let key = (address(&std::fs::read(program()).unwrap()) as u32 + 8).wrapping_neg();
    let file =
        edited(program(), "null", |bytes| bytes[table.start + 8..table.start + 12].copy_from_slice(&key.to_le_bytes()));
    assert_eq!(prints("sites", &file, &[]).lines().count(), sites - 1);
    let file = word(program(), "empty-slot", "__jump_table", entry_of_an_unused_key() + 12, 2);
    assert_eq!(prints("sites", &file, &[]).lines().count(), sites - 1);
}

/// The place in the table of an entry of a check whose key is 0. As a slot, such a key is empty.
fn entry_of_an_unused_key() -> usize {
    let bytes = std::fs::read(program()).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let table = file.section_by_name("__jump_table").unwrap();
    let is_zero = |address: u64| {
        let within = |section: &object::Section<'_, '_>| {
            (section.address()..section.address() + section.size()).contains(&address)
        };
        let holder = file.sections().filter(|section| section.kind() != object::SectionKind::Tls).find(within).unwrap();
        holder.kind() == object::SectionKind::UninitializedData || holder.data_range(address, 8) == Ok(Some(&[0; 8]))
    };
    let entries = table.data().unwrap();
    let word = |at: usize| u32::from_le_bytes(entries[at..at + 4].try_into().unwrap());
    // The distance to the key is at 8; the flags are at 12. A check has kind 0, in the bits 2 to 5, and is not indirect, in bit 1.
    let key = |at: usize| (table.address() + at as u64 + 8).wrapping_add_signed(i64::from(word(at + 8) as i32));
    (0..entries.len())
        .step_by(16)
        .find(|&at| word(at + 12) & 0b11_1110 == 0 && is_zero(key(at)))
        .expect("a key that is off")
}

/// Code that is not what the table says.
#[test]
fn code_that_differs() {
    let edit = |name, bytes: [u8; 5]| {
        let sites: serde_json::Value =
            serde_json::from_str(&jumplabel(&["sites", text(program()), "net.trace", "--json"]).out).unwrap();
        let address = sites["sites"][1]["address"].as_str().unwrap();
        let address = u64::from_str_radix(&address[2..], 16).unwrap();
        edited(program(), name, |file| {
            let at = {
                let text = object::File::parse(&**file).unwrap();
                let text = text.section_by_name(".text").unwrap();
                address - text.address() + text.file_range().unwrap().0
            } as usize;
            file[at..at + 5].copy_from_slice(&bytes);
        })
    };
    let breakpoint = edit("breakpoint", [0xcc, 0x1f, 0x44, 0, 0]);
    refused(&breakpoint, "net.trace: 1 of 2 sites differs from the table");
    assert!(jumplabel(&["sites", text(&breakpoint), "net.trace"]).out.contains("cc1f440000  foreign  net.trace"));
    // A jump to elsewhere.
    refused(&edit("elsewhere", [0xe9, 1, 2, 3, 0]), "net.trace: 1 of 2 sites differs from the table");
    // Between two states, and with the same effect, is right.
    let priming = edit("priming", [0xa9, 0x1f, 0x44, 0, 0]);
    assert_eq!(jumplabel(&["check", text(&priming)]), Printed { code: 0, out: String::new(), err: String::new() });
}

/// Tables that nothing leads to; several records.
#[test]
fn records() {
    let record = |bytes: &[u8]| {
        let data = section(bytes, ".data");
        let version = |at: &usize| {
            bytes[at - 4..*at] == [1, 0, 0, 0] && bytes[at - RECORD..at - 40].iter().all(|&byte| byte == 0)
        };
        let end =
            data.filter(|at| at % 8 == 0).skip(12).find(|at| version(at) && bytes[at - 40..at - 36] != [0; 4]).unwrap();
        end - RECORD
    };
    // Another place for one.
    let free = |bytes: &[u8]| {
        let (record, data) = (record(bytes), section(bytes, ".data"));
        let is_free = |at: &usize| (at + RECORD <= record || *at >= record + RECORD) && at + RECORD <= data.end;
        data.clone().step_by(8).rfind(is_free).unwrap()
    };
    let file = edited(program(), "no-record", |bytes| {
        let at = record(bytes);
        bytes[at] = 1;
    });
    refused(&file, "there are tables, and no record leads to them");
    // Of a section that is missing, the two words are 0: they stand for their own places.
    let file = edited(program(), "no-keys", |bytes| {
        let at = record(bytes) + 64;
        bytes[at..at + 8].fill(0);
    });
    let printed = prints("list", &file, &["*::TRACE"]);
    assert_eq!(printed.split_whitespace().skip(4).collect::<Vec<_>>(), ["operated::TRACE::TRACE", "off", "2", "-"]);
    let file = edited(program(), "no-record", |bytes| {
        let at = record(bytes);
        bytes[at] = 1;
    });
    // Without sections nothing says that there are tables.
    let file = without_sections(&copy(&file, "no-record-stripped", &["strip"]), "no-record-bare");
    assert_eq!(jumplabel(&["check", text(&file)]).code, 1);
    // A copy of the record elsewhere in the data, as some linkers leave it; if it leads elsewhere, nobody knows which is right.
    let twice = |name: &str, key_rows_less: i32| {
        edited(program(), name, |bytes| {
            let (from, to) = (record(bytes), free(bytes));
            let mut copy = bytes[from..from + RECORD].to_vec();
            for word in (56..RECORD - 8).step_by(4) {
                let less = if word == 68 { key_rows_less * 12 } else { 0 };
                let value = i32::from_le_bytes(copy[word..word + 4].try_into().unwrap());
                let moved = value + (from as i32 - to as i32) - less;
                copy[word..word + 4].copy_from_slice(&moved.to_le_bytes());
            }
            bytes[to..to + RECORD].copy_from_slice(&copy);
        })
    };
    assert_eq!(jumplabel(&["check", text(&twice("two-records", 0))]).code, 0);
    refused_whole(&twice("two-tables", 1), "records that lead to several tables");
    // What looks like a record, and leads to a table that leads to no code, is none.
    let file = edited(program(), "no-table", |bytes| {
        let to = free(bytes);
        bytes[to..to + 56].fill(0);
        let addresses = |name| {
            let file = object::File::parse(&**bytes).unwrap();
            let section = file.section_by_name(name).unwrap();
            section.address() as i32..(section.address() + section.size()) as i32
        };
        let (data, rodata, code) = (addresses(".data").start, addresses(".rodata").start, addresses(".text"));
        let (in_file, data) = (section(bytes, ".rodata"), data + (to - section(bytes, ".data").start) as i32);
        // Ten entries of it: some of what is there leads to code, like the tables of a match.
        let leads = |at: usize| {
            let word = i32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
            code.contains(&(rodata + (at - in_file.start) as i32).wrapping_add(word))
        };
        let is_no_table = |at: &usize| (*at..at + 160).step_by(16).all(|entry| !leads(entry));
        let table = in_file.clone().step_by(16).skip(1).find(is_no_table).unwrap();
        let start = rodata + (table - in_file.start) as i32 - (data + 56);
        let words = [start, start + 160 - 4, 0, 0, 0, 0, 0, 0, 0, 1];
        bytes[to + 56..to + RECORD].copy_from_slice(&words.map(i32::to_le_bytes).concat());
    });
    assert_eq!(prints("list", &file, &[]), crate::commands::LISTED);
    let file = edited(program(), "bounds", |bytes| {
        let at = record(bytes) + 56;
        bytes[at] ^= 4;
    });
    refused(&file, "there are tables, and no record leads to them");
}

/// Counts and lengths that would take all memory, or all time.
#[test]
fn greedy() {
    let declaration = |name: &str, at: usize, value: u32| {
        edited(program(), name, |bytes| {
            let keys = section(bytes, "__jump_keys").start;
            let file = object::File::parse(&**bytes).unwrap();
            let address = file.section_by_name("__jump_keys").unwrap().address();
            let rodata = file.section_by_name(".rodata").unwrap();
            let word = |at: usize| i32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
            // The only array among the records.
            let found = (0..section(bytes, "__jump_keys").len() / 12).find_map(|row| {
                let there = (address + row as u64 * 12 + 4).wrapping_add_signed(word(keys + row * 12 + 4).into());
                let place = (there - rodata.address() + rodata.file_range().unwrap().0) as usize;
                (word(place + 8) == 3).then_some(place)
            });
            let place = found.unwrap() + at;
            bytes[place..place + 4].copy_from_slice(&value.to_le_bytes());
        })
    };
    refused(&declaration("many", 8, u32::MAX), "leads to no key of the object");
    refused(&declaration("far", 16, u32::MAX), "leads to no key of the object");
    refused(&declaration("no-stride", 12, 0), "says 3 keys in one place");
    // A segment that says that it is huge: nothing of it is in the file.
    let file = edited(&declaration("huge-count", 8, u32::MAX), "huge", |bytes| {
        let headers = (0..usize::from(bytes[56])).map(|number| 64 + number * 56);
        let data = headers.rev().find(|&at| bytes[at..at + 8] == [1, 0, 0, 0, 6, 0, 0, 0]).unwrap();
        bytes[data + 40..data + 48].copy_from_slice(&(1_u64 << 60).to_le_bytes());
    });
    refused_whole(&file, "more than 1048576 keys");
}

/// Files that are mostly a hole, and segments that are each the whole file.
#[test]
fn large() {
    let long = |name: &str, length: u64, segment: u64| {
        let file = edited(program(), name, |bytes| {
            let headers = (0..usize::from(bytes[56])).map(|number| 64 + number * 56);
            for at in headers.filter(|&at| bytes[at..at + 4] == [1, 0, 0, 0]).collect::<Vec<_>>() {
                bytes[at + 32..at + 40].copy_from_slice(&segment.to_le_bytes());
                bytes[at + 40..at + 48].copy_from_slice(&segment.to_le_bytes());
            }
        });
        std::fs::File::options().write(true).open(&file).unwrap().set_len(length).unwrap();
        file
    };
    refused_whole(&long("hole", 1 << 40, 4096), "larger than 16 GiB");
    refused_whole(&long("hole-loaded", 8 << 30, 4 << 30), "larger than any program");
    let length = 64 << 20;
    refused_whole(&long("overlapping", length, length / 4 * 3), "larger than any program");
}

#[track_caller]
fn refused_whole(file: &Path, why: &str) {
    let Printed { code, out, err } = jumplabel(&["list", text(file)]);
    assert!((code, &*out) == (4, "") && err.contains(why) && err.contains(text(file)), "{code} {err}");
}
