//! Files that are damaged, or made to do harm: a clear error, and never a panic (the tool runs in the test's process).

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use object::{Object, ObjectSection};

use crate::programs::{Printed, copy, edited, jumplabel, of_c, prints, program, scratch, text};
use crate::stripped::without_sections;

/// A small library, with everything that is read: slots, relocations, symbols, debug information.
fn library() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| of_c("libdamaged.so", "gcc", "-O2 -g -fPIC -shared -Wl,-s -Wl,--gc-sections"))
}

/// Where a section is in a file, and how long it is.
fn section(bytes: &[u8], name: &str) -> std::ops::Range<usize> {
    let file = object::File::parse(bytes).unwrap();
    let (at, length) = file.section_by_name(name).unwrap().file_range().unwrap();
    at as usize..(at + length) as usize
}

const COMMANDS: &[&[&str]] = &[&["list"], &["list", "--json"], &["sites", "fn:receive"], &["check"], &["disasm", "*"]];

/// All commands; the exit code of `check`.
#[track_caller]
fn survives(file: &Path, what: &dyn std::fmt::Display) -> u8 {
    let mut check = 0;
    for words in COMMANDS {
        let Printed { code, out, err } = jumplabel(&[&words[..1], &[text(file)], &words[1..]].concat());
        assert!(matches!(code, 0 | 1 | 3 | 4), "{what}: {words:?}: {code}");
        assert_eq!(err.is_empty(), code == 0, "{what}: {words:?}: {err}");
        assert!(!out.contains('\u{1b}') && err.lines().all(|line| line.starts_with("jumplabel: ")), "{what}: {err}");
        if words[0] == "check" {
            check = code;
        }
    }
    check
}

#[test]
fn truncated() {
    for (file, name) in [(program(), "cut"), (library(), "cut.so")] {
        let file = copy(file, &format!("{name}-whole"), &["strip"]);
        let whole = std::fs::read(&file).unwrap();
        let mut refused = 0;
        for length in (0..whole.len()).step_by(4096).chain([1, 15, 16, 63, 64, 65, 100, whole.len() - 1]) {
            let cut = scratch(name);
            std::fs::write(&cut, &whole[..length]).unwrap();
            let code = survives(&cut, &format_args!("{name}: {length} bytes"));
            refused += u32::from(code >= 3);
            // Whatever is loaded is there, or it is an error.
            assert!(code >= 3 || length + 8192 > whole.len(), "{name}: {length} of {} bytes: {code}", whole.len());
        }
        assert!(refused > 5);
    }
}

/// Random bytes anywhere, and, more often, where the tool looks first.
#[test]
fn changed_bytes() {
    let random = &mut fastrand::Rng::with_seed(0x6a75_6d70);
    for (file, name) in [(library(), "hit.so"), (program(), "hit")] {
        let stripped = copy(file, &format!("{name}-stripped"), &["strip"]);
        for (file, rounds) in [(stripped.clone(), 150), (without_sections(&stripped, &format!("{name}-bare")), 100)] {
            let whole = std::fs::read(&file).unwrap();
            let stripped = std::fs::read(&stripped).unwrap();
            let places: Vec<_> =
                ["__jump_table", "__jump_keys", ".data", ".rela.dyn", ".dynamic", ".dynsym", ".rodata", ".text"]
                    .iter()
                    .filter_map(|name| object::File::parse(&*stripped).unwrap().section_by_name(name)?.file_range())
                    .map(|(at, length)| at as usize..(at + length) as usize)
                    .chain([0..64, 64..64 + 13 * 56, whole.len() - whole.len() / 16..whole.len(), 0..whole.len()])
                    .collect();
            let mut codes = [0; 5];
            for round in 0..rounds {
                let mut bytes = whole.clone();
                for _ in 0..=random.u32(0..4) {
                    let place = places[random.usize(..places.len())].clone();
                    let at = random.usize(place);
                    if random.bool() {
                        bytes[at] = random.u8(..);
                    } else {
                        // What lengths and offsets are wrong by.
                        let value = [0, 1, 0x7fff_ffff, u32::MAX, 0x8000_0000, 0x1_0000][random.usize(..6)];
                        let end = (at + 4).min(bytes.len());
                        bytes[at..end].copy_from_slice(&u32::to_le_bytes(value)[..end - at]);
                    }
                }
                let hit = scratch(name);
                std::fs::write(&hit, bytes).unwrap();
                codes[usize::from(survives(&hit, &format_args!("{name}: round {round}")))] += 1;
            }
            assert!(codes[4] > 5 && codes[0] > 5, "{name}: too little is damaged, or too much: {codes:?}");
        }
    }
}

/// Debug information is read by `sites` only.
#[test]
fn changed_debug_information() {
    let file = of_c("libdebug.so", "gcc", "-O2 -g -fPIC -shared -Wl,--gc-sections");
    let whole = std::fs::read(&file).unwrap();
    let random = &mut fastrand::Rng::with_seed(7);
    for round in 0..100 {
        let mut bytes = whole.clone();
        for name in [".debug_info", ".debug_abbrev", ".debug_line", ".debug_str", ".symtab", ".strtab"] {
            let place = section(&whole, name);
            for _ in 0..4 {
                bytes[random.usize(place.clone())] = random.u8(..);
            }
        }
        let hit = scratch("hit-debug.so");
        std::fs::write(&hit, bytes).unwrap();
        let Printed { code, out, .. } = jumplabel(&["sites", text(&hit)]);
        assert!(code == 0 && out.lines().count() == 6, "round {round}: {code}\n{out}");
    }
}

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
    let file = word(program(), "empty-slot", "__jump_table", 12, 2);
    assert_eq!(prints("sites", &file, &[]).lines().count(), sites - 1);
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

/// Tables that nothing leads to; two records.
#[test]
fn records() {
    let record = |bytes: &[u8]| {
        let data = section(bytes, ".data");
        let version =
            |at: &usize| bytes[at - 4..*at] == [1, 0, 0, 0] && bytes[at - 88..at - 32].iter().all(|&byte| byte == 0);
        let end =
            data.filter(|at| at % 8 == 0).skip(12).find(|at| version(at) && bytes[at - 32..at - 28] != [0; 4]).unwrap();
        end - 88
    };
    let file = edited(program(), "no-record", |bytes| {
        let at = record(bytes);
        bytes[at] = 1;
    });
    refused(&file, "there are tables, and no record leads to them");
    // Without sections nothing says that there are tables.
    let file = without_sections(&copy(&file, "no-record-stripped", &["strip"]), "no-record-bare");
    assert_eq!(jumplabel(&["check", text(&file)]).code, 1);
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
    assert!((code, &*out) == (4, "") && err.contains(why), "{code} {err}");
}
