//! Programs whose code llvm-bolt has copied: tests/c/bolted.c. The copies run, but the library does not know their sites; so flips are refused, also
//! after the file is stripped. The twin is the file before that: it flips, and the test notices.

use std::path::{Path, PathBuf};
use std::process::Command;

use jumplabel_testing::breadth;

use crate::compiler::{CLANG, Compiler, GCC, Language};
use crate::prefix::{printed, scratch, succeeds};

/// The version that `cargo xtask setup` installs.
const BOLT: &str = "llvm-bolt-16";
/// The version that newer Debians have. It leaves more of the file unchanged.
const LATER: &str = "llvm-bolt-22";

/// Rewrites `program`. Strips the result if its program headers are at their old place (strip breaks other files of BOLT). Then lets patchelf move
/// the program headers, if it can.
fn rewrite(bolt: &str, program: &Path, options: &str) {
    let bolted = program.with_extension("bolted");
    let mut command = Command::new(bolt);
    succeeds(command.arg(program).args(options.split_whitespace()).arg("-o").arg(&bolted));
    let strips: &[_] = if options.contains("gnu-stack") { &["true", "strip", "eu-strip"] } else { &["true"] };
    for strip in strips.iter().filter(|strip| breadth::has(strip)) {
        succeeds(Command::new(strip).arg(&bolted));
        assert_eq!(printed(&succeeds(Command::new(&bolted).arg("copied"))), "ok\n", "{bolt} {options} {strip}");
    }
    // patchelf also breaks the alignment of a program at a fixed address.
    let is_movable = std::fs::read(&bolted).unwrap()[16] == 3;
    if is_movable && breadth::has("patchelf") {
        let path = "/a/path/that/is/longer/than/what/the/file/has/room/for";
        succeeds(Command::new("patchelf").args(["--add-rpath", path]).arg(&bolted));
        assert_eq!(printed(&succeeds(Command::new(&bolted).arg("copied"))), "ok\n", "{bolt} {options} patchelf");
    }
}

fn build(test: &str, compiler: Compiler, language: Language, flags: &str, libraries: &str) -> PathBuf {
    let program = scratch(test).join("program");
    let flags = format!("{flags} -Wl,--emit-relocs");
    compiler.build(language, &flags, &["bolted.c"], libraries, &program);
    assert_eq!(printed(&succeeds(&mut Command::new(&program))), "ok\n", "{compiler:?} {flags}");
    assert!(!Command::new(&program).arg("copied").status().unwrap().success(), "it flips, and nobody notices");
    program
}

/// The library is in the program, or in libjumplabel.so; the program is position-independent or not; functions are in another order; new program
/// headers replace old ones; new code replaces old code.
#[test]
fn copied_code() {
    if !breadth::has(BOLT) {
        return;
    }
    let archive = "-Wl,-Bstatic -ljumplabel -Wl,-Bdynamic";
    for (compiler, language) in [(GCC, Language::C), (GCC, Language::Cxx), (CLANG, Language::C)] {
        for (flags, library) in [("-O2", archive), ("-O2 -fno-pie -no-pie", "-ljumplabel")] {
            let program = build("bolted", compiler, language, flags, library);
            let orders =
                ["", "--reorder-functions=random --reorder-blocks=reverse", "--use-gnu-stack", "--use-old-text"];
            orders.iter().for_each(|options| rewrite(BOLT, &program, options));
        }
    }
    let program = build("bolted", GCC, Language::C, "-O2 -static", "-ljumplabel");
    ["", "--use-gnu-stack"].iter().for_each(|options| rewrite(BOLT, &program, options));
}

/// BOLT 22 makes neither new program headers nor a new table for unwinders.
#[test]
fn code_for_stack() {
    if Command::new(LATER).arg("--version").output().is_err() {
        return println!("left out: {LATER}");
    }
    let ways = ["--use-gnu-stack", "--use-gnu-stack --keep-nops --relocs=0", "--use-gnu-stack --use-old-text"];
    for flags in ["-O2", "-O2 -fno-pie -no-pie", "-O2 -Wl,--no-eh-frame-hdr", "-O2 -static"] {
        // BOLT cannot put new code in the place of a static glibc's old code, because it does not understand __restore_rt.
        let ways = if flags.contains("-static") { &ways[..2] } else { &ways[..] };
        ways.iter().for_each(|options| build_and_rewrite("bolted-22", flags, options));
    }
}

/// Builds a program, and lets [`LATER`] rewrite it. To this version, the replacements of alternatives are padding that it does not understand, and it
/// puts no new code in the place of such code. So with that option, the programs have no alternatives.
fn build_and_rewrite(test: &str, flags: &str, options: &str) {
    let plain = if options.contains("old-text") { "-DPLAIN" } else { "" };
    let program = build(test, GCC, Language::C, &format!("{flags} {plain}"), "-ljumplabel");
    rewrite(LATER, &program, options);
}

/// Code with counters, for BOLT's profiles. BOLT adds code of its own after the copies, in one more executable segment.
#[test]
fn instrumented() {
    if Command::new(LATER).arg("--version").output().is_err() {
        return println!("left out: {LATER}");
    }
    let profile = scratch("bolted-profile").join("profile");
    let counts = format!("--instrument --instrumentation-file={}", profile.display());
    for flags in ["-O2", "-O2 -fno-pie -no-pie"] {
        for options in ["", "--conservative-instrumentation", "--custom-allocation-vma=0x10000000", "--use-old-text"] {
            build_and_rewrite("bolted-instrumented", flags, &format!("{counts} {options}"));
        }
    }
    assert!(profile.exists(), "a profile was written, so the copies ran");
}
