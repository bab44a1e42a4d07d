//! The reader's desk: a directory with a checkout, in which the README's steps make a crate and an installation.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use crate::markdown::{Block, lines, split};

/// A file of the repository.
pub fn repository(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name).canonicalize().unwrap()
}

/// A directory in the directory for tests.
pub fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// The directory in which a reader begins: a checkout of the repository, called `jumplabel`, and nothing else. It lies outside of the
/// repository, because cargo would make members of its workspace of new crates inside.
pub fn desk() -> &'static Path {
    static DESK: OnceLock<PathBuf> = OnceLock::new();
    DESK.get_or_init(|| {
        let mut hasher = DefaultHasher::new();
        env!("CARGO_TARGET_TMPDIR").hash(&mut hasher);
        let desk = std::env::temp_dir().join(format!("jumplabel-documents-{:x}", hasher.finish()));
        let _ = std::fs::remove_dir_all(&desk);
        std::fs::create_dir_all(&desk).unwrap();
        std::os::unix::fs::symlink(repository(""), desk.join("jumplabel")).unwrap();
        desk
    })
}

pub fn read(document: &str) -> String {
    std::fs::read_to_string(repository(document)).unwrap()
}

/// The first block of a document that contains these words.
pub fn block(document: &str, words: &str) -> Block {
    let mut blocks = split(&read(document)).0.into_iter();
    blocks.find(|block| block.text.contains(words)).unwrap_or_else(|| panic!("{document} has no block with {words}"))
}

/// Writes a file, unless it has these contents already: then nothing is built again.
pub fn write(path: &Path, contents: &str) {
    if std::fs::read_to_string(path).is_ok_and(|found| found == contents) {
        return;
    }
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, contents).unwrap();
}

/// A line for the shell, as a reader would type it in this directory.
pub fn shell(line: &str, directory: &Path) -> Command {
    let mut bash = Command::new("bash");
    bash.args(["-e", "-u", "-o", "pipefail", "-c", line]).current_dir(directory);
    let of_cargo = |name: &str| name.starts_with("CARGO_") && name != "CARGO_HOME" || name.ends_with("RUSTFLAGS");
    for (name, _) in std::env::vars().filter(|(name, _)| of_cargo(name) || name.starts_with("MAKE")) {
        bash.env_remove(name);
    }
    // The reader's crates need the same dependencies, built in the same way (cargo 1.91; before, each builds them for itself).
    if directory.starts_with(desk()) {
        bash.env("CARGO_BUILD_BUILD_DIR", scratch("documents/built"));
    }
    // The build of this test has fetched everything that is needed.
    bash.env("CARGO_NET_OFFLINE", "true").env("DEBUGINFOD_URLS", "").stdin(std::process::Stdio::null());
    bash
}

/// The text that the line prints, if it succeeds.
pub fn printed(line: &str, directory: &Path) -> String {
    succeeds(&mut shell(line, directory))
}

pub fn succeeds(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}\n{}", output.status, all(&output));
    all(&output)
}

fn all(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// A crate with this manifest.
pub fn package(name: &str, manifest: &str, source: &str, program: &str) -> PathBuf {
    let directory = desk().join(name);
    let manifest = format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n{manifest}");
    write(&directory.join("Cargo.toml"), &manifest);
    write(&directory.join(source), program);
    directory
}

/// The README's first steps in a language: the commands of the block that has these words, and its program.
fn steps(words: &str, of_program: &str) -> (Vec<String>, String) {
    (lines(&block("README.md", words).text), block("README.md", of_program).text)
}

/// The crate `example`, which the README's steps in Rust make of its program.
pub fn example() -> &'static Path {
    static EXAMPLE: OnceLock<PathBuf> = OnceLock::new();
    EXAMPLE.get_or_init(|| {
        let (commands, program) = steps("cargo new", "static TRACE");
        printed(command(&commands, "cargo new"), desk());
        let directory = desk().join("example");
        std::fs::write(directory.join("src/main.rs"), program).unwrap();
        printed(command(&commands, "cargo run"), &directory);
        directory
    })
}

/// The prefix to which the README's step in C has installed the library. Its program lies beside that.
pub fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let (commands, program) = steps("-C jumplabel install", "#include <jumplabel/jump_label.h>");
        install(command(&commands, "make"), desk());
        std::fs::write(desk().join("program.c"), &program).unwrap();
        desk().join("installed")
    })
}

fn command<'a>(commands: &'a [String], begins: &str) -> &'a str {
    commands.iter().find(|line| line.starts_with(begins)).expect("a command of the README")
}

/// Runs a `make install`. The tests of the C interface build the library in the same directory, and in no other: it is there already, or will be.
pub fn install(line: &str, directory: &Path) -> String {
    succeeds(shell(line, directory).env("CARGO_TARGET_DIR", scratch("libraries")).env_remove("CARGO_BUILD_BUILD_DIR"))
}
