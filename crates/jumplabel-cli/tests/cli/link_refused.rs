//! Files that `link` refuses: it says why, and the file stays as it is, byte by byte.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::damaged::{hit, section};
use crate::link_c::{link, linked_by, listed};
use crate::programs::{compiled, copy, edited, jumplabel, program, scratch, text};

/// A small library with relocations.
fn whole() -> &'static [u8] {
    static BUILT: OnceLock<Vec<u8>> = OnceLock::new();
    BUILT.get_or_init(|| fs::read(linked_by("bfd", "refused.so", "-fPIC -shared -DPLUGIN")).unwrap())
}

fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = scratch(name);
    fs::write(&path, bytes).unwrap();
    path
}

/// Refused with this code, and a sentence that has these words; nothing has changed, and nothing was left beside it.
#[track_caller]
pub fn refused(path: &Path, code: u8, words: &str) {
    let before = (fs::read(path).unwrap(), fs::metadata(path).unwrap());
    let printed = jumplabel(&["link", text(path)]);
    assert!(
        printed.code == code && printed.err.contains(words),
        "{}: {} {}",
        path.display(),
        printed.code,
        printed.err
    );
    assert!(printed.out.is_empty() && printed.err.lines().count() == 1, "{} {}", printed.out, printed.err);
    let after = fs::metadata(path).unwrap();
    assert!(fs::read(path).unwrap() == before.0 && after.ino() == before.1.ino() && after.mode() == before.1.mode());
    assert!(!is_left(path), "something is left beside {}", path.display());
}

/// Whether there is a new file beside it.
fn is_left(path: &Path) -> bool {
    let prefix = format!(".{}.jumplabel", path.file_name().unwrap().to_str().unwrap());
    let mut names = fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name());
    names.any(|name| name.to_string_lossy().starts_with(&prefix))
}

#[test]
fn of_another_kind() {
    refused(&file("link-text", b"#!/bin/sh\n"), 3, "not an ELF file");
    refused(&file("link-empty", b""), 3, "not an ELF file");
    let arm =
        edited(&file("link-whole", whole()), "link-arm", |bytes| bytes[18..20].copy_from_slice(&183_u16.to_le_bytes()));
    refused(&arm, 3, "of aarch64: this step is for x86_64 alone");
    let missing = jumplabel(&["link", "/no/such/file"]);
    assert_eq!(
        (missing.code, &*missing.err),
        (3, "jumplabel: /no/such/file: No such file or directory (os error 2)\n")
    );
    assert_eq!(jumplabel(&["link", "/usr"]).code, 3);
    assert_eq!(jumplabel(&["link"]).code, 2);
    let plain = scratch("link-plain.c");
    fs::write(&plain, "int main(void) { return 0; }").unwrap();
    refused(&compiled(text(&plain), "link-plain", "gcc", "-O2"), 1, "no keys");
}

#[test]
fn without_relocations() {
    refused(&copy(program(), "link-none", &[]), 4, "link it with -Wl,--emit-relocs, or by jumplabel-cc");
    let stripped = file("link-stripped", whole());
    jumplabel_testing::cargo::run(std::process::Command::new("strip").arg(&stripped));
    refused(&stripped, 4, "--emit-relocs");
}

/// What the system says about a file counts.
#[test]
fn not_to_be_written() {
    let path = file("link-read-only", whole());
    for (mode, words) in [(0o444, "read-only"), (0o4755, "set-user-id"), (0o2755, "set-group-id")] {
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        refused(&path, 4, words);
    }
    fs::set_permissions(&path, Permissions::from_mode(0o750)).unwrap();
    // Where no file can be made beside it.
    let beside = path.with_file_name(format!(".link-read-only.jumplabel-{}", std::process::id()));
    fs::create_dir(&beside).unwrap();
    let printed = jumplabel(&["link", text(&path)]);
    fs::remove_dir(&beside).unwrap();
    assert!(printed.code == 4 && printed.err.contains("no file beside it"), "{}", printed.err);
    assert!(fs::read(&path).unwrap() == whole());
}

/// Attributes are kept. Of a file with capabilities, nobody who links it may make another one.
#[test]
fn attributes() {
    let path = file("link-attributes", whole());
    if xattr::set(&path, "user.built-by", b"make").is_err() {
        eprintln!("the file system has no attributes");
        return;
    }
    // Revision 2: CAP_NET_RAW, permitted and effective (linux/capability.h). It is root's to say so.
    let capabilities = [0x0200_0001_u32, 1 << 13, 0, 0, 0].map(u32::to_le_bytes).concat();
    if xattr::set(&path, "security.capability", &capabilities).is_ok() {
        refused(&path, 4, "setcap");
        xattr::remove(&path, "security.capability").unwrap();
    }
    link(&path, &[]);
    assert_eq!((listed(&path), xattr::get(&path, "user.built-by").unwrap()), (6, Some(b"make".to_vec())));
}

/// Links and modes are kept; other hard links keep the old file.
#[test]
fn links() {
    let path = file("link-linked.so", whole());
    let [name, other] = ["link-symbolic.so", "link-hard.so"].map(scratch);
    for old in [&name, &other] {
        let _ = fs::remove_file(old);
    }
    symlink("link-linked.so", &name).unwrap();
    fs::hard_link(&path, &other).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o751)).unwrap();
    link(&name, &[]);
    assert!(fs::symlink_metadata(&name).unwrap().is_symlink());
    assert_eq!((listed(&path), listed(&other), fs::metadata(&path).unwrap().mode() & 0o7777), (6, 0, 0o751));
    assert!(fs::read(&other).unwrap() == whole() && !is_left(&path));
}

#[test]
fn truncated() {
    let whole = whole();
    let all = (0..whole.len()).step_by(whole.len() / 60).chain([1, 15, 16, 63, 64, 65, 100, whole.len() - 1]);
    for length in all {
        let cut = file("link-cut.so", &whole[..length]);
        let printed = jumplabel(&["link", text(&cut)]);
        assert!(matches!(printed.code, 3 | 4) && !printed.err.is_empty(), "{length}: {} {}", printed.code, printed.err);
        assert!(fs::read(&cut).unwrap() == whole[..length], "{length}");
    }
}

/// Where the step looks first, and anywhere. What it links, the tool finds whole; what it refuses stays.
#[test]
fn changed_bytes() {
    let random = &mut fastrand::Rng::with_seed(0x6a75_6d71);
    let whole = whole();
    let sections = ["__jump_table", ".rela.text", ".symtab", ".text", ".data", ".dynsym", ".shstrtab"];
    let headers = whole.len() - 64 * 50;
    let places: Vec<_> = sections
        .map(|name| section(whole, name))
        .into_iter()
        .chain([0..64, 64..64 + 12 * 56, headers..whole.len()])
        .collect();
    let mut codes = [0; 5];
    for round in 0..150 {
        let mut bytes = whole.to_vec();
        hit(&mut bytes, &places, random);
        let hit = file("link-hit.so", &bytes);
        let printed = jumplabel(&["link", text(&hit)]);
        codes[usize::from(printed.code)] += 1;
        if printed.code == 0 {
            let check = jumplabel(&["check", text(&hit)]);
            assert_eq!(check.code, 0, "round {round}: {}", check.err);
        } else {
            assert!(
                fs::read(&hit).unwrap() == bytes && printed.err.starts_with("jumplabel: "),
                "round {round}: {}",
                printed.err
            );
            assert!(!printed.err.contains("mistake"), "round {round}: {}", printed.err);
        }
    }
    assert!(codes[4] > 10 && codes[0] > 10, "too little is damaged, or too much: {codes:?}");
}

/// Each word of each header, with numbers that lead out of the file: refused, or linked so that a second run has nothing to do.
#[test]
fn headers_that_lie() {
    let whole = whole();
    let word = |at: usize| u64::from_le_bytes(*whole[at..].first_chunk().unwrap());
    let half = |at: usize| usize::from(u16::from_le_bytes(*whole[at..].first_chunk().unwrap()));
    let [programs, sections] = [0x20, 0x28].map(|at| word(at) as usize);
    let headers = [0x18..0x40, programs..programs + 56 * half(0x38), sections..sections + 64 * half(0x3c)];
    let mut refused = 0;
    let all = headers.into_iter().flat_map(|range| range.step_by(8)).filter(|at| at + 8 <= whole.len());
    for at in all {
        for lie in [u64::MAX - 4096, whole.len() as u64 - 8] {
            let mut bytes = whole.to_vec();
            bytes[at..at + 8].copy_from_slice(&lie.to_le_bytes());
            match jumplabel_cli::link(bytes) {
                Ok(Some(linked)) => assert_eq!(jumplabel_cli::link(linked), Ok(None), "{at:#x} {lie:#x}"),
                Ok(None) => {}
                Err(_) => refused += 1,
            }
        }
    }
    assert!(refused > 100, "{refused}");
}
