//! llvm-bolt copies code: tests/c/bolted.c. The copies run, and have no sites; flips are refused, also of what is stripped afterwards. The twin
//! is the file from before, which says the same of the refusals and is found out.

use std::path::{Path, PathBuf};
use std::process::Command;

use jumplabel_testing::breadth;

use crate::compiler::{CLANG, Compiler, GCC, Language};
use crate::prefix::{printed, scratch, succeeds};

/// As cargo xtask setup installs it.
const BOLT: &str = "llvm-bolt-16";
/// Where Debian has it; it leaves more as it was than the one above.
const LATER: &str = "llvm-bolt-22";

/// Runs it on `program`, and strips what comes of that if its program headers are where they were: strips break other files of BOLT's. Then
/// has patchelf move the program headers, where it can.
fn rewrite(bolt: &str, program: &Path, options: &str) {
    let bolted = program.with_extension("bolted");
    let mut command = Command::new(bolt);
    succeeds(command.arg(program).args(options.split_whitespace()).arg("-o").arg(&bolted));
    let strips: &[_] = if options.contains("gnu-stack") { &["true", "strip", "eu-strip"] } else { &["true"] };
    for strip in strips.iter().filter(|strip| breadth::has(strip)) {
        succeeds(Command::new(strip).arg(&bolted));
        assert_eq!(printed(&succeeds(Command::new(&bolted).arg("copied"))), "ok\n", "{bolt} {options} {strip}");
    }
    // With a program at a fixed address, patchelf does away with the alignment, too.
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

/// With the library in the program, and in libjumplabel.so; position-independent and not; functions in another order, new program headers
/// in the place of old ones, new code in the place of old code.
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

/// What BOLT 22 leaves: neither new program headers nor a new table for unwinders.
#[test]
fn code_for_stack() {
    if Command::new(LATER).arg("--version").output().is_err() {
        return println!("left out: {LATER}");
    }
    let ways = ["--use-gnu-stack", "--use-gnu-stack --keep-nops --relocs=0", "--use-gnu-stack --use-old-text"];
    for flags in ["-O2", "-O2 -fno-pie -no-pie", "-O2 -Wl,--no-eh-frame-hdr", "-O2 -static"] {
        // BOLT cannot put the new code of a static glibc in the place of the old: it does not understand __restore_rt.
        let ways = if flags.contains("-static") { &ways[..2] } else { &ways[..] };
        ways.iter().for_each(|options| build_and_rewrite("bolted-22", flags, options));
    }
}

/// Builds a program, and has [`LATER`] rewrite it. That takes the replacements of alternatives for padding that it does not understand, and puts no new code in the
/// place of such code: those programs have none.
fn build_and_rewrite(test: &str, flags: &str, options: &str) {
    let plain = if options.contains("old-text") { "-DPLAIN" } else { "" };
    let program = build(test, GCC, Language::C, &format!("{flags} {plain}"), "-ljumplabel");
    rewrite(LATER, &program, options);
}

/// With counters, which is how a profile for BOLT is made: code of BOLT's own follows the copies, in one more executable segment.
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
