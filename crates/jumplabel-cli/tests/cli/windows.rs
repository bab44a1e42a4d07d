//! Programs and DLLs of Windows: PE files. `make test-all` runs these tests.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use jumplabel_testing::breadth;
use jumplabel_testing::cargo::{self, Build, has_target};
use object::{Object, ObjectSection};

use crate::commands::LISTED;
use crate::damaged::{hit, section, survives};
use crate::machines::offset;
use crate::programs::{Printed, copy, edited, jumplabel, prints, scratch, text};

const TARGET: &str = "x86_64-pc-windows-gnu";
const STRIP: &[&str] = &["x86_64-w64-mingw32-strip"];

/// test-crates/operated for Windows: the program, then the DLL. `None` if that cannot be built here.
fn windows() -> Option<&'static [PathBuf]> {
    static BUILT: OnceLock<Option<Vec<PathBuf>>> = OnceLock::new();
    let build = || {
        if !breadth::tests_all() {
            println!("left out: {TARGET} (make test-all)");
            return None;
        }
        if !breadth::has("x86_64-w64-mingw32-gcc") {
            return None;
        }
        if !has_target(None, TARGET) {
            breadth::leave_out(TARGET);
            return None;
        }
        let build = Build { target: Some(TARGET), ..Build::of("operated") };
        Some(build.results_in("windows", &["operated.exe", "operated.dll"]))
    };
    BUILT.get_or_init(build).as_deref()
}

/// What the tool says of them is what it says of ELF files, and what the tools of binutils say.
#[test]
fn whole() {
    for file in windows().unwrap_or_default() {
        assert_eq!(prints("list", file, &[]), LISTED, "{}", file.display());
        assert_eq!(prints("check", file, &["net.trace=off", "wal.fsync=on"]), "");
        let sites = prints("sites", file, &[]);
        let mut rows = 0;
        for row in sites.lines().skip(1) {
            let address = row.split_whitespace().next().unwrap();
            let mut addr2line = Command::new("x86_64-w64-mingw32-addr2line");
            let line = cargo::run(addr2line.arg("-se").arg(file).arg(address));
            let (_, line) = line.trim().rsplit_once('/').unwrap_or(("", line.trim()));
            let line = line.split(' ').next().unwrap();
            let is_unknown = line.contains('?');
            assert!(is_unknown || row.contains(&format!("/{line}")), "{row}\n{line}");
            rows += usize::from(!is_unknown);
        }
        assert!(rows >= 10, "{sites}");
        let whole = std::fs::read(file).unwrap();
        let shown = prints("disasm", file, &["*"]);
        let now = shown.lines().filter_map(|line| line.strip_prefix(" now"));
        let compared = now.map(|line| {
            let (address, bytes) = line.trim().split_once(": ").unwrap();
            let at = offset(&whole, u64::from_str_radix(address, 16).unwrap());
            let bytes = bytes[..14].split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap());
            assert!(bytes.eq(whole[at..at + 5].iter().copied()), "{line}");
        });
        assert_eq!(compared.count(), 13);
        assert!(shown.contains("; operated::plain\n") && shown.contains("; 0/3\n"), "{shown}");
    }
}

#[test]
fn stripped() {
    for (file, name) in windows().unwrap_or_default().iter().zip(["stripped.exe", "stripped.dll"]) {
        let bare = copy(file, name, STRIP);
        let rows = |file: &Path| prints("list", file, &["net.*", "operated::MODE", "operated::NAKED"]);
        assert_eq!(rows(&bare), rows(file));
        assert_eq!(prints("sites", &bare, &[]).lines().count(), prints("sites", file, &[]).lines().count());
    }
}

/// What means nothing there says so, and writes nothing.
#[test]
fn refused() {
    for file in windows().unwrap_or_default() {
        let before = std::fs::read(file).unwrap();
        for words in [&["link", text(file)][..], &["link", "--drop-relocations", text(file)]] {
            let Printed { code, err, .. } = jumplabel(words);
            assert!(code == 3 && err.contains("a PE file: this step is for ELF files alone"), "{code} {err}");
        }
        assert!(before == std::fs::read(file).unwrap());
    }
    let Some([program, _]) = windows() else { return };
    let header = |bytes: &[u8]| u32::from_le_bytes(bytes[0x3c..0x40].try_into().unwrap()) as usize;
    let with = |at: usize, value: u16| {
        edited(program, "other.exe", |bytes| {
            let place = header(bytes) + at;
            bytes[place..place + 2].copy_from_slice(&value.to_le_bytes());
        })
    };
    // ARM64; no magic that is known.
    complains(&with(4, 0xaa64), 3, "an instruction set without sites (PE machine 0xaa64)");
    complains(&with(24, 0x1234), 3, "neither 32-bit nor 64-bit PE");
}

#[track_caller]
fn complains(file: &Path, wanted: u8, why: &str) {
    for command in ["list", "check"] {
        let Printed { code, err, .. } = jumplabel(&[command, text(file)]);
        assert!(code == wanted && err.contains(why) && err.contains(text(file)), "{command}: {code} {err}");
    }
}

/// Where the first entry of the table is in the file, and how many there are: by the object's record.
fn table(bytes: &[u8]) -> (usize, usize) {
    let record = section(bytes, ".jumplbl").start + 16;
    let file = object::File::parse(bytes).unwrap();
    let address = file.section_by_name(".jumplbl").unwrap().address() + 16;
    let bound = |at: usize| {
        let word = i32::from_le_bytes(bytes[record + at..record + at + 4].try_into().unwrap());
        (address + at as u64).wrapping_add_signed(word.into())
    };
    let (start, stop) = (bound(56), bound(60));
    (offset(bytes, start), (stop - start) as usize / 16)
}

#[test]
fn truncated() {
    for (file, name) in windows().unwrap_or_default().iter().zip(["cut.exe", "cut.dll"]) {
        let whole = std::fs::read(copy(file, name, STRIP)).unwrap();
        let cut = scratch(name);
        for length in (0..whole.len()).step_by(8192).chain([1, 2, 63, 64, 65, 200, 400, whole.len() - 1]) {
            std::fs::write(&cut, &whole[..length]).unwrap();
            let code = survives(&cut, &format_args!("{name}: {length} bytes"));
            assert!(code >= 3 || length + 4096 > whole.len(), "{name}: {length} of {} bytes: {code}", whole.len());
        }
    }
}

#[test]
fn damaged_headers() {
    let Some([program, _]) = windows() else { return };
    // Of the section with the record: its length in memory, its address, its length and its place in the file.
    let header = |name: &str, at: usize, value: u32| {
        edited(program, name, |bytes| {
            let found = bytes.windows(8).position(|name| name == b".jumplbl").unwrap();
            bytes[found + at..found + at + 4].copy_from_slice(&value.to_le_bytes());
        })
    };
    complains(&header("far.exe", 20, 0x7fff_0000), 4, "goes beyond the end of the file");
    complains(&header("long.exe", 16, u32::MAX), 4, "goes beyond the end of the file");
    complains(&header("away.exe", 12, 0xffff_0000), 4, "damaged: there are tables, and no record leads to them");
    complains(&header("short.exe", 8, 40), 4, "damaged: there are tables, and no record leads to them");
    let version = edited(program, "version.exe", |bytes| {
        let record = section(bytes, ".jumplbl").start + 16;
        bytes[record + 56 + 36] = 2;
    });
    complains(&version, 4, "damaged: there are tables, and no record leads to them");
    // The twin: a section that nothing needs may be as short as it likes.
    let twin = edited(program, "twin.exe", |bytes| {
        let found = bytes.windows(8).position(|name| name == b".reloc\0\0").unwrap();
        bytes[found + 8..found + 12].fill(0);
    });
    assert_eq!(prints("list", &twin, &[]), LISTED);
}

/// Entries that lead astray. The twin: those whose site or key the linker has dropped are nobody's, and leave no damage.
#[test]
fn damaged_table() {
    let Some([program, _]) = windows() else { return };
    let word = |name: &str, entry: usize, at: usize, value: u32| {
        edited(program, name, |bytes| {
            let (first, count) = table(bytes);
            assert!(entry < count);
            let place = first + entry * 16 + at;
            bytes[place..place + 4].copy_from_slice(&value.to_le_bytes());
        })
    };
    let whole = prints("sites", program, &[]).lines().count();
    let is_live = |bytes: &[u8], entry: usize| {
        let entry = &bytes[table(bytes).0 + entry * 16..][..16];
        entry[..4] != [0; 4] && entry[8..12] != [0; 4]
    };
    let bytes = std::fs::read(program).unwrap();
    let live = (0..table(&bytes).1).find(|&entry| is_live(&bytes, entry)).unwrap();
    for (at, value, why) in [
        // In front of the entry. What leads on to no code is what lld leaves of a site that it drops.
        (0, 16_u32.wrapping_neg(), "has its site where no code is"),
        (4, 0x7000_0000, "leads to where no code is"),
        (8, 0x7000_0000, "leads to no key"),
        (12, 0x3f << 2, "unknown kind"),
    ] {
        let file = word("entry.exe", live, at, value);
        complains(&file, 4, why);
        complains(&file, 4, &format!("entry {live} of the table"));
    }
    for at in [0, 8] {
        let file = word("dropped.exe", live, at, 0);
        assert_eq!(prints("sites", &file, &[]).lines().count(), whole - 1);
        prints("check", &file, &[]);
    }
    // A site that does not do what its key is.
    let file = edited(program, "flipped.exe", |bytes| {
        let shown = prints("sites", program, &["net.unused", "operated::NAKED"]);
        let address = shown.lines().last().unwrap().split_whitespace().next().unwrap();
        let at = offset(bytes, u64::from_str_radix(&address[2..], 16).unwrap());
        bytes[at + 1] ^= 1;
    });
    complains_of_sites(&file);
}

#[track_caller]
fn complains_of_sites(file: &Path) {
    let Printed { code, err, .. } = jumplabel(&["check", text(file)]);
    assert!(code == 4 && err.contains("operated::NAKED: 1 of 1 site differs from the table"), "{code} {err}");
}

/// Random bytes, mostly where the tool looks first.
#[test]
fn changed_bytes() {
    let Some([_, dll]) = windows() else { return };
    let whole = std::fs::read(copy(dll, "hit.dll", STRIP)).unwrap();
    let random = &mut fastrand::Rng::with_seed(0x6a75_6d70);
    let (first, count) = table(&whole);
    let mut places: Vec<_> = [".jumplbl", ".rdata", ".data", ".text", ".idata"]
        .map(|name| section(&whole, name))
        .into_iter()
        .chain([0..0x400, first..first + count * 16, 0..whole.len()])
        .collect();
    places.extend([first..first + count * 16, 0x80..0x400]);
    let mut codes = [0; 5];
    for round in 0..250 {
        let mut bytes = whole.clone();
        hit(&mut bytes, &places, random);
        let file = scratch("hit.dll");
        std::fs::write(&file, bytes).unwrap();
        codes[usize::from(survives(&file, &format_args!("round {round}")))] += 1;
    }
    assert!(codes[4] > 5 && codes[0] > 5, "too little is damaged, or too much: {codes:?}");
}
