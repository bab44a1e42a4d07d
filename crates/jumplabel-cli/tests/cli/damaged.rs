//! Files that are damaged, or made to do harm: a clear error, and never a panic (the tool runs in the test's process).

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use jumplabel_testing::{breadth, cargo, headers};
use object::{Object, ObjectSection};

use crate::programs::{Printed, compiled_with, copy, edited, jumplabel, of_c, program, scratch, text};
use crate::stripped::without_sections;

/// A small library, with everything that is read: slots, relocations, symbols, debug information.
fn library() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| of_c("libdamaged.so", "gcc", "-O2 -g -fPIC -shared -Wl,-s -Wl,--gc-sections"))
}

/// Where a section is in a file, and how long it is.
pub fn section(bytes: &[u8], name: &str) -> std::ops::Range<usize> {
    let file = object::File::parse(bytes).unwrap();
    let (at, length) = file.section_by_name(name).unwrap().file_range().unwrap();
    at as usize..(at + length) as usize
}

const COMMANDS: &[&[&str]] = &[&["list"], &["list", "--json"], &["sites", "fn:receive"], &["check"], &["disasm", "*"]];

/// All commands; the exit code of `check`.
#[track_caller]
pub fn survives(file: &Path, what: &dyn std::fmt::Display) -> u8 {
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

/// Changes a few bytes in some of these places.
pub fn hit(bytes: &mut [u8], places: &[std::ops::Range<usize>], random: &mut fastrand::Rng) {
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
                hit(&mut bytes, &places, random);
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

/// BOLT copies functions and leaves the table as it is: it lists code that nobody runs. The file from before is sound. The last of the
/// options has no new segment: BOLT 22 puts the new code in the place of the old one.
#[test]
fn copied_by_bolt() {
    let within = "--use-gnu-stack --use-old-text --lite=0 --align-text=1 --align-functions=1";
    for (bolt, options) in [
        ("llvm-bolt-16", &["--use-gnu-stack"][..]),
        ("llvm-bolt-22", &["--use-gnu-stack --keep-nops", "--use-gnu-stack --use-old-text", within]),
    ] {
        for options in options.iter().filter(|_| breadth::has(bolt)) {
            let before = before_bolt();
            let after = scratch("copied.bolt");
            cargo::run(Command::new(bolt).args(options.split(' ')).arg(before).arg("-o").arg(&after));
            for strip in [None, Some("strip")] {
                are_copied(&copy(&after, "copied.checked", strip.as_slice()), &format!("{bolt} {options} {strip:?}"));
            }
        }
    }
}

/// A process that runs the copies: its keys are C's, which have no records, so no table leads to a key that can be read.
#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn a_process_of_copied_code() {
    const BOLT: &str = "llvm-bolt-16";
    if !breadth::has(BOLT) {
        return;
    }
    let after = scratch("copied.runs");
    cargo::run(Command::new(BOLT).arg("--use-gnu-stack").arg(before_bolt()).arg("-o").arg(&after));
    let mut program = Command::new(&after);
    let mut child = program.arg("waits").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "fsync\n");
    let pid = child.id().to_string();
    for (words, code, says) in [
        (&["doctor", &pid][..], 1, "BAD   table       "),
        (&["check", "--force", &pid], 4, ""),
        (&["list", "--force", &pid], 4, "damaged: "),
        (&["set", "--force", &pid, "trace=on"], 4, "damaged: "),
    ] {
        // In a process of its own: `doctor` flips a key of the process that it runs in.
        let output = Command::new(env!("CARGO_BIN_EXE_jumplabel")).args(words).output().unwrap();
        let printed = cargo::printed(&output);
        assert!(printed.contains("such as BOLT has copied") && printed.contains(says), "{words:?}: {printed}");
        assert_eq!(output.status.code(), Some(code), "{words:?}: {printed}");
        let healthy = ["ok    sites", "link the file anew"].iter().find(|line| printed.contains(**line));
        assert_eq!(healthy, None, "{words:?}: {printed}");
    }
    drop(child.stdin.take());
    child.wait().unwrap();
}

/// The same by the headers of BOLT 22 alone. The twin: a file of a linker that was told to leave PT_GNU_STACK out is sound.
#[test]
fn code_for_stack() {
    let file = edited(before_bolt(), "copied.without", |bytes| headers::without_stack(bytes));
    assert_eq!(jumplabel(&["check", text(&file)]).code, 0);
    are_copied(&edited(before_bolt(), "copied.code", |bytes| headers::code_for_stack(bytes)), "headers");
}

fn before_bolt() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let options = "-O2 -g -fno-reorder-blocks-and-partition -Wl,--emit-relocs";
        let file = compiled_with("libjumplabel.so", "tests/c/operated.c", "copied", "gcc", options);
        assert_eq!(jumplabel(&["check", text(&file)]).code, 0);
        file
    })
}

#[track_caller]
fn are_copied(file: &Path, what: &str) {
    for command in ["check", "list", "link"] {
        let Printed { code, err, .. } = jumplabel(&[command, text(file)]);
        assert!(code == 4 && err.contains("BOLT"), "{command}, {what}: {code} {err}");
    }
}
