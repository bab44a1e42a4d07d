//! A library's constructor changes objects of the program before the program's constructors run: tests/c/early.c, early_library.c.

use std::path::PathBuf;
use std::process::Command;

use crate::compiler::{CLANG, Compiler, GCC, Language};
use crate::prefix::{printed, scratch, succeeds};

const SHARED: &str = "-ljumplabel";
const COPY: &str = "-Wl,-Bstatic -ljumplabel -Wl,-Bdynamic";

/// Builds the program. `libraries` are for the linker: the first text for the program's own library, the second for the program.
fn build(name: &str, compiler: Compiler, language: Language, flags: [&str; 2], libraries: [&str; 2]) -> PathBuf {
    let directory = scratch(&format!("early-{name}-{}", compiler.c));
    let library = format!("{} -fPIC -shared", flags[0]);
    compiler.build(language, &library, &["early_library.c"], libraries[0], &directory.join("libearly.so"));
    let libraries = format!("-Wl,--no-as-needed -learly {}", libraries[1]);
    compiler.build(language, flags[1], &["early.c"], &libraries, &directory.join("program"))
}

fn passes(name: &str, compiler: Compiler, language: Language, flags: [&str; 2], libraries: [&str; 2]) {
    let program = build(name, compiler, language, flags, libraries);
    // Functions without a result report their refusal on stderr.
    let output = succeeds(&mut Command::new(program)).stdout;
    assert_eq!(str::from_utf8(&output), Ok("ok\n"), "{compiler:?} {language:?} {flags:?} {libraries:?}");
}

/// The instance is in libjumplabel.so, or in both objects. If the program also checks the library's key, the linker may copy it into the program.
#[test]
fn changes_by_a_constructor() {
    for compiler in Compiler::ALL {
        for libraries in [[SHARED, SHARED], [COPY, COPY], [COPY, SHARED]] {
            passes("ways", compiler, Language::C, ["-O2"; 2], libraries);
        }
        passes("no-pie", compiler, Language::C, ["-O2", "-O2 -fno-pie -no-pie"], [SHARED; 2]);
        passes("unchecked", compiler, Language::C, ["-O2 -DUNCHECKED", "-O2 -DJUMPLABEL_FOREIGN_KEYS"], [SHARED; 2]);
        passes("gc", compiler, Language::C, ["-O2 -Wl,--gc-sections"; 2], [SHARED; 2]);
    }
    passes("lld", CLANG, Language::C, ["-O2 -fuse-ld=lld-16 -Wl,--gc-sections"; 2], [SHARED; 2]);
}

#[test]
fn changes_by_an_initialiser() {
    for compiler in Compiler::ALL {
        passes("initialiser", compiler, Language::Cxx, ["-O1"; 2], [SHARED; 2]);
    }
}

/// A broken twin: without its note, nobody can know that the program has a record. Changes return Ok, and the program's checks do not follow.
#[test]
fn broken_twin() {
    let program = build("twin", GCC, Language::C, ["-O2"; 2], [SHARED; 2]);
    succeeds(Command::new("objcopy").arg("--remove-section=.note.jumplabel").arg(&program));
    let output = Command::new(program).output().unwrap();
    assert!(!output.status.success() && printed(&output).contains("early_key)): 0"), "{}", printed(&output));
}
