//! `link` on sites that were built as plain jumps, of two bytes and of five: a program of Rust, and one of C with static calls besides.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use jumplabel_testing::cargo::{self, Build};

use crate::damaged::section;
use crate::link_c::{counts, installed, link, linked_by, listed};
use crate::link_refused::refused;
use crate::programs::{compiled, copy, edited, jumplabel, prints, text};

/// It checks itself, linked or not, and prints what its sites hold at first.
fn program() -> &'static Path {
    static BUILT: OnceLock<Vec<PathBuf>> = OnceLock::new();
    let build = || Build::of("short").env("RUSTFLAGS", "--cfg jumplabel_short").results_in("linked", &["short"]);
    &BUILT.get_or_init(build)[0]
}

/// Checks of two and of five bytes; of each, those that were turned.
fn checks(found: &serde_json::Value) -> [u64; 4] {
    ["short", "long", "turned_short", "turned_long"].map(|name| found["checks"][name].as_u64().unwrap())
}

#[test]
fn turned_once() {
    let file = copy(program(), "link-short", &[]);
    let before = cargo::run(&mut Command::new(&file));
    assert!(before.contains("test [a8") && !before.contains("nop [66, 90]") && before.ends_with("ok\n"), "{before}");
    assert_eq!(jumplabel(&["check", text(&file)]).code, 0);
    assert!(prints("disasm", &file, &["short::OFF"]).contains("once linked or loaded"));
    let first = link(&file, &[]);
    let [short, long, turned_short, turned_long] = checks(&first);
    assert!(short > turned_short && turned_short > 10 && long > turned_long && turned_long > 1, "{first}");
    // Its constructor has nothing to write.
    let after = cargo::run(&mut Command::new(&file));
    assert!(after.contains("nop [66, 90]") && after.contains("nop [0f, 1f") && after.ends_with("ok\n"), "{after}");
    assert!(!after.contains("test ["), "{after}");
    assert_eq!(jumplabel(&["check", text(&file)]).code, 0);
    let shown = prints("disasm", &file, &["short::OFF"]);
    assert!(shown.contains("66 90") && shown.contains("eb 7f") && !shown.contains("once linked"), "{shown}");
    // And there is nothing to do twice.
    let linked = std::fs::read(&file).unwrap();
    assert_eq!(checks(&link(&file, &[])), [short, long, 0, 0]);
    assert!(std::fs::read(&file).unwrap() == linked);
    // Sites, flags and marks, and nothing else, are others.
    let old = std::fs::read(program()).unwrap();
    let parts = [".text", "__jump_table", "__jump_foreign"].map(|name| section(&old, name));
    let differ: Vec<usize> = (0..old.len()).filter(|&at| old[at] != linked[at]).collect();
    assert!(old.len() == linked.len() && differ.iter().all(|at| parts.iter().any(|part| part.contains(at))));
    let in_table = differ.iter().filter(|at| parts[1].contains(at)).count() as u64;
    assert_eq!(in_table, turned_short + turned_long);
    let said = jumplabel(&["link", text(&copy(program(), "link-short-said", &[]))]).out;
    assert!(
        said.starts_with(&format!("{short} checks of two bytes and {long} of five; {turned_short} and ")),
        "{said}"
    );
}

/// A table that gets more entries keeps what was done to its own.
#[test]
fn with_calls() {
    for linker in installed(&["bfd", "lld"]) {
        let options = if linker == "lld" { "-fPIC -shared -DPLUGIN" } else { "" };
        let name = if options.is_empty() { "short" } else { "short.so" };
        let file = linked_by(linker, name, &format!("-DJUMPLABEL_SHORT {options}"));
        let first = link(&file, &[]);
        let [short, long, turned_short, turned_long] = checks(&first);
        assert!(turned_short + turned_long > 0 && counts(&first)[2] > 0 && short + long > 0, "{first}");
        assert_eq!(listed(&file) as u64, counts(&first)[0]);
        assert_eq!(jumplabel(&["check", text(&file)]).code, 0);
        let second = link(&file, &[]);
        assert_eq!((checks(&second), counts(&second)[2]), ([short, long, 0, 0], 0));
        if options.is_empty() {
            assert_eq!(cargo::run(&mut Command::new(&file)), "ok\n");
        }
    }
}

/// Sites are turned even if nothing says where the static calls are.
#[test]
fn without_relocations() {
    let file = compiled("tests/c/linked.c", "link-short-plain", "gcc", "-O2 -D_GNU_SOURCE -DJUMPLABEL_SHORT");
    let first = link(&file, &[]);
    let [short, long, turned_short, turned_long] = checks(&first);
    assert!(turned_short + turned_long > 0 && first["calls"]["unknown"] == true, "{first}");
    assert_eq!(cargo::run(&mut Command::new(&file)), "ok\n");
    assert_eq!(checks(&link(&file, &[])), [short, long, 0, 0]);
    assert!(prints("link", &file, &[]).contains("no relocations say where its static calls are"));
}

/// Refused as a whole.
#[test]
fn damaged() {
    let old = std::fs::read(program()).unwrap();
    let (table, marks) = (section(&old, "__jump_table"), section(&old, "__jump_foreign"));
    // The first entry that is to be linked, and where its site is: the text is where the file has it, at one distance.
    let entry = table.clone().step_by(16).find(|&at| old[at + 12] & 0x80 != 0).unwrap();
    let parsed = object::File::parse(&*old).unwrap();
    let address = |name: &str| object::ObjectSection::address(&object::Object::section_by_name(&parsed, name).unwrap());
    let at = address("__jump_table") + (entry - table.start) as u64;
    let distance = i32::from_le_bytes(*old[entry..].first_chunk().unwrap());
    let site = at.wrapping_add_signed(distance.into()) - address(".text");
    let site = section(&old, ".text").start + site as usize;
    assert!([0xeb, 0xe9].contains(&old[site]));
    for (place, byte) in [
        (site, 0x90),                                        // no jump
        (site + 1, old[site + 1] ^ 1),                       // to elsewhere
        (site, if old[site] == 0xeb { 0xa8 } else { 0xa9 }), // a test
        (entry + 4, old[entry + 4] ^ 1),                     // from elsewhere
        (entry + 12, old[entry + 12] ^ 1),                   // the other arm
        (marks.start, 3),
    ] {
        let file = edited(program(), "link-short-damaged", |bytes| bytes[place] = byte);
        refused(&file, 4, "damaged");
    }
    // As if it had been turned: what the key says is another.
    let file = edited(program(), "link-short-turned", |bytes| bytes[entry + 12] &= 0x7f);
    refused(&file, 4, "damaged");
}
