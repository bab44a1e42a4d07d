//! `link` on programs and libraries of C, by several linkers, which run before and after, and after other tools have rewritten them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use jumplabel_testing::{breadth, cargo, programs};
use object::{Object, ObjectSection, ObjectSymbol};
use serde_json::Value;

use crate::programs::{RECORD, compiled, compiled_with, copy, jumplabel, prints, text};

const ALL: [&str; 4] = ["bfd", "gold", "lld", "mold"];

/// Those of the linkers that gcc finds here.
pub fn installed<'name>(linkers: &[&'name str]) -> Vec<&'name str> {
    linkers.iter().copied().filter(|linker| breadth::has(format!("ld.{linker}"))).collect()
}

/// With the relocations that the linker leaves.
pub fn linked_by(linker: &str, name: &str, options: &str) -> PathBuf {
    let options = format!("-O2 -D_GNU_SOURCE -fuse-ld={linker} -Wl,--emit-relocs {options}");
    compiled("tests/c/linked.c", &format!("link-{linker}-{name}"), "gcc", &options)
}

/// A program that loads libraries.
fn host() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| compiled("tests/c/linked.c", "link-host", "gcc", "-O2 -rdynamic"))
}

/// Runs a program, or has the host run a library. `link` has possibly written it in this process.
#[track_caller]
fn runs(file: &Path) {
    programs::release(file).unwrap();
    let is_library = text(file).ends_with(".so");
    let mut command = Command::new(if is_library { host() } else { file });
    if is_library {
        command.arg(file);
    }
    assert_eq!(cargo::run(&mut command), "ok\n", "{}", file.display());
}

/// Links a file, and says what was found.
#[track_caller]
pub fn link(file: &Path, words: &[&str]) -> Value {
    let printed = jumplabel(&[&["link", "--json", text(file)], words].concat());
    assert_eq!((printed.code, &*printed.err), (0, ""), "{}: {}", file.display(), printed.out);
    serde_json::from_str(&printed.out).unwrap()
}

/// How many calls were found, how many of these lead straight to the default, and how many the table did not have.
pub fn counts(found: &Value) -> [u64; 3] {
    let sum = |field: &str| -> u64 {
        found["calls"]["forms"].as_array().unwrap().iter().map(|form| form[field].as_u64().unwrap()).sum()
    };
    [sum("calls"), sum("straight"), found["calls"]["added"].as_u64().unwrap()]
}

/// How many calls the table has, by what is in the file.
pub fn listed(file: &Path) -> usize {
    prints("sites", file, &[]).lines().filter(|row| row.split_whitespace().nth(2) == Some("calls")).count()
}

/// What of the file must be as it was, and what must fit the new table.
fn is_sound(before: &[u8], after: &[u8]) {
    let [before, after] = [before, after].map(|bytes| object::File::parse(bytes).unwrap());
    assert_eq!(before.build_id().unwrap(), after.build_id().unwrap());
    let table = after.section_by_name("__jump_table").unwrap();
    let symbol = |name: &str| after.symbols().find(|symbol| symbol.name() == Ok(name)).map(|symbol| symbol.address());
    let [start, stop] = ["__start___jump_table", "__stop___jump_table"].map(symbol);
    assert!(start.is_none_or(|start| start == table.address()));
    assert!(stop.is_none_or(|stop| stop == table.address() + table.size()));
    // patchelf and others take them to be in order.
    let addresses: Vec<u64> =
        after.sections().map(|section| section.address()).filter(|&address| address != 0).collect();
    assert!(addresses.is_sorted(), "{addresses:x?}");
    let names = |file: &object::File<'_>| {
        let mut names: Vec<_> = file.sections().map(|section| section.name().unwrap().to_owned()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&before), names(&after));
}

/// Each linker lays files out in its own way: what there is room for, and what must move.
#[test]
fn linkers() {
    for linker in installed(&ALL) {
        for (name, options) in [("pie", "-fPIE -pie"), ("static", "-static"), ("library.so", "-fPIC -shared -DPLUGIN")]
        {
            let file = linked_by(linker, name, options);
            let before = std::fs::read(&file).unwrap();
            assert_eq!(listed(&file), 0);
            let [calls, straight, added] = counts(&link(&file, &[]));
            assert!(
                calls >= 6 && straight >= 3 && straight <= calls && added == calls,
                "{linker} {name}: {calls} {straight}"
            );
            assert_eq!(listed(&file), calls as usize);
            runs(&file);
            assert_eq!(jumplabel(&["check", text(&file)]).code, 0);
            let after = std::fs::read(&file).unwrap();
            is_sound(&before, &after);
            let again = link(&file, &[]);
            assert_eq!((counts(&again), &again["changed"]), ([calls, straight, 0], &Value::Bool(false)));
            assert!(std::fs::read(&file).unwrap() == after, "{linker} {name}: the second run changed something");
            rewritten(&file, calls as usize);
            // Relocations that were dropped are not missed.
            let dropped = link(&file, &["--drop-relocations"]);
            assert_eq!((counts(&dropped), &dropped["changed"]), ([calls, straight, 0], &Value::Bool(true)));
            assert_eq!(link(&file, &[])["changed"], false);
            assert_eq!(listed(&file), calls as usize);
            runs(&file);
            let less = std::fs::read(&file).unwrap();
            let less = object::File::parse(&*less).unwrap();
            assert!(!less.sections().any(|section| section.name().unwrap().starts_with(".rela.text")));
            assert!(less.symbols().count() > 10, "symbols are kept");
        }
    }
}

/// A plugin that leaves the library to its host has next to nothing that may move: a build-id, a hash table, dynamic symbols.
#[test]
fn small_libraries() {
    let host = compiled_with("libjumplabel.so", "tests/c/linked.c", "link-small-host", "gcc", "-O2");
    for linker in installed(&ALL) {
        for (name, style) in [("gnu", "gnu"), ("both", "both"), ("bare", "sysv -Wl,--build-id=none")] {
            let options =
                format!("-O2 -fuse-ld={linker} -Wl,--emit-relocs -fPIC -shared -DPLUGIN -Wl,--hash-style={style}");
            let name = format!("link-small-{linker}-{name}.so");
            let file = compiled_with("libjumplabel.so", "tests/c/linked.c", &name, "gcc", &options);
            let [calls, _, added] = counts(&link(&file, &[]));
            assert!(calls >= 6 && added == calls, "{name}: {calls} {added}");
            assert_eq!(link(&file, &[])["changed"], false);
            let tools: [&[&str]; 3] = [&["true"], &["strip"], &["patchelf", "--add-rpath", "/a/longer/path"]];
            for tool in tools.into_iter().filter(|tool| breadth::has(tool[0])) {
                let other = copy(&file, &format!("{}-{name}", tool[0]), tool);
                assert_eq!(cargo::run(Command::new(&host).arg(&other)), "ok\n", "{tool:?} {name}");
                assert_eq!(listed(&other), calls as usize, "{tool:?} {name}");
                assert_eq!(jumplabel(&["check", text(&other)]).code, 0, "{tool:?} {name}");
            }
        }
    }
}

/// With link-time optimisation, lld keeps two records of a program: that of its own code, and that of the archive.
#[test]
fn several_records() {
    let options = "-O3 -flto -D_GNU_SOURCE -fuse-ld=lld-16 -Wl,--emit-relocs";
    let file = compiled("tests/c/linked.c", "link-lld-lto", "clang-16", options);
    let bytes = std::fs::read(&file).unwrap();
    let object = object::File::parse(&*bytes).unwrap();
    // One, and no more, has a name; the other is its copy.
    let named = object.symbol_by_name("__jumplabel_object").unwrap().address();
    let data = object.section_by_name(".data").unwrap();
    let at = |address: u64| &data.data().unwrap()[(address - data.address()) as usize..][..RECORD];
    let leads = |address: u64| {
        let word = |at: &[u8]| i32::from_le_bytes(at.try_into().unwrap());
        let words = at(address)[56..RECORD - 8].chunks(4).zip((56..).step_by(4));
        words.map(|(bytes, place)| (address + place).wrapping_add_signed(word(bytes).into())).collect::<Vec<u64>>()
    };
    let all = (data.address()..data.address() + data.size() - RECORD as u64).step_by(8);
    assert_eq!(all.filter(|&address| leads(address)[..4] == leads(named)[..4]).count(), 2);
    let [calls, straight, added] = counts(&link(&file, &[]));
    assert!(straight >= 3 && added == calls, "{calls} {straight} {added}");
    assert_eq!(listed(&file), calls as usize);
    runs(&file);
    assert_eq!(link(&file, &[])["changed"], false);
}

/// Other tools, after it.
fn rewritten(file: &Path, calls: usize) {
    const RPATH: &str = "/a/path/that/is/longer/than/what/the/file/has/room/for:$ORIGIN/../lib";
    let is_program = text(file).ends_with("-pie");
    let tools: [(&[&str], bool); 3] =
        [(&["strip"], true), (&["objcopy", "--strip-debug"], true), (&["patchelf", "--set-rpath", RPATH], is_program)];
    for (tool, _) in tools.iter().filter(|(_, is_for_it)| *is_for_it) {
        let name = format!("{}-{}", file.file_name().unwrap().to_str().unwrap(), tool[0]);
        let name = if text(file).ends_with(".so") { name + ".so" } else { name };
        let other = copy(file, &name, tool);
        runs(&other);
        assert_eq!(jumplabel(&["check", text(&other)]).code, 0, "{tool:?}");
        assert_eq!(listed(&other), calls, "{tool:?}");
    }
}

/// A table that is wrong by one byte is found out by the tool, and by the library before it writes anything.
#[test]
fn twin() {
    let file = linked_by("bfd", "twin", "-fPIE -pie");
    link(&file, &[]);
    runs(&file);
    let mut bytes = std::fs::read(&file).unwrap();
    let object = object::File::parse(&*bytes).unwrap();
    let table = object.section_by_name("__jump_table").unwrap();
    let (place, length) = table.file_range().unwrap();
    let key = object.symbols().find(|symbol| symbol.name() == Ok("__SCK__hash")).unwrap().address();
    let word = |at: u64| u32::from_le_bytes(bytes[at as usize..][..4].try_into().unwrap());
    let leads_to_key = |entry: u64| {
        let here = table.address() + (entry + 8 - place);
        here.wrapping_add_signed(i64::from(word(entry + 8).cast_signed())) == key
    };
    // A call of `hash`, which the program updates.
    let mut entries = (place..place + length).step_by(16);
    let entry = entries.find(|&entry| word(entry + 12) == 4 << 2 && leads_to_key(entry)).unwrap() as usize;
    bytes[entry] = bytes[entry].wrapping_add(1);
    programs::write(&file, &bytes).unwrap();
    let check = jumplabel(&["check", text(&file)]);
    // The byte in front of what the entry names is not the opcode of a call.
    assert!(check.code == 4 && check.err.contains("instead of an opcode"), "{}", check.err);
    assert_eq!(jumplabel(&["link", text(&file)]).code, 4);
    let output = Command::new(&file).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(printed.starts_with("failed: "), "{printed}");
}
