//! Without symbols, without debug information, without sections.

use std::path::Path;

use crate::commands::LISTED;
use crate::programs::{Printed, copy, edited, fixed, jumplabel, native, prints, program, text};

/// What names code and data is gone: of the functions that calls lead to, addresses are left.
#[track_caller]
fn lists_addresses(file: &Path) {
    let printed = prints("list", file, &[]);
    let row =
        |key: &str| printed.lines().find(|row| row.starts_with(key)).unwrap_or_else(|| panic!("{key}\n{printed}"));
    for wanted in LISTED.lines().skip(1).filter(|row| !row.contains("operated::_") && !row.contains("plain")) {
        let words = |row: &str| row.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(row(wanted.split(' ').next().unwrap())), words(wanted));
    }
    assert!(row("operated::HASH").contains(" 0x"), "{printed}");
    assert_eq!(printed.lines().count(), LISTED.lines().count());
    let sites = prints("sites", file, &["net.trace"]);
    assert_eq!(sites.matches("0f1f440000  nop").count(), 2, "{sites}");
    assert!(prints("disasm", file, &["net.trace"]).contains("; on"));
    assert_eq!(prints("check", file, &["net.trace=off"]), "");
}

/// Takes the section headers away, and all that is behind what is loaded, as sstrip does.
pub fn without_sections(file: &Path, name: &str) -> std::path::PathBuf {
    edited(file, name, |bytes| {
        let headers = u64::from_le_bytes(bytes[0x28..0x30].try_into().unwrap()) as usize;
        bytes.truncate(headers);
        bytes[0x28..0x30].fill(0);
        bytes[0x3c..0x40].fill(0);
    })
}

#[test]
fn symbols() {
    for (file, name) in [(program(), "stripped"), (&native()[1], "stripped.so"), (fixed(), "stripped-fixed")] {
        let stripped = copy(file, name, &["strip"]);
        lists_addresses(&stripped);
        lists_addresses(&without_sections(&stripped, &format!("{name}-bare")));
    }
}

/// Symbols are enough for functions, and there are no lines then.
#[test]
fn debug_information() {
    let file = copy(program(), "no-debug", &["strip", "--strip-debug"]);
    assert_eq!(prints("list", &file, &[]), LISTED);
    let sites = prints("sites", &file, &["net.trace"]);
    assert!(sites.lines().skip(1).all(|row| row.ends_with("  receive")), "{sites}");
    // What cannot be read counts as none.
    let file = copy(program(), "compressed", &["objcopy", "--compress-debug-sections"]);
    assert_eq!(prints("sites", &file, &["net.trace"]), sites.replace("no-debug", "compressed"));
}

/// The note is not needed.
#[test]
fn note() {
    lists_addresses(&copy(
        &copy(program(), "to-lose-its-note", &["strip"]),
        "no-note",
        &["objcopy", "--remove-section=.note.jumplabel"],
    ));
}

/// Tables of a later version are not guessed at.
#[test]
fn later_version() {
    let file = edited(program(), "later", |bytes| {
        let name = bytes.windows(12).position(|window| window == b"jumplabel\0\0\0").unwrap();
        bytes[name - 4] = 2;
    });
    let Printed { code, err, .. } = jumplabel(&["list", text(&file)]);
    assert!(code == 3 && err.contains("tables of version 2, and this tool reads version 1"), "{code} {err}");
}

#[test]
fn object_file() {
    let file = edited(program(), "object-file", |bytes| bytes[16] = 1);
    let Printed { code, err, .. } = jumplabel(&["list", text(&file)]);
    assert!(code == 3 && err.contains("not linked yet"), "{code} {err}");
    let file = edited(program(), "sparc", |bytes| bytes[18] = 43);
    let Printed { code, err, .. } = jumplabel(&["list", text(&file)]);
    assert!(code == 3 && err.contains("sites are unknown (ELF machine 43)"), "{code} {err}");
}
