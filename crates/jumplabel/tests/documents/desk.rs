//! Where a reader would sit: a directory with the README's programs, and an installation in a prefix of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use crate::markdown::{Block, split};

/// A file of the repository.
pub fn repository(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name).canonicalize().unwrap()
}

/// A directory below the one for tests.
pub fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&path).unwrap();
    path
}

pub fn read(document: &str) -> String {
    std::fs::read_to_string(repository(document)).unwrap()
}

/// The first block of a document that contains these words.
pub fn block(document: &str, words: &str) -> Block {
    let mut blocks = split(&read(document)).0.into_iter();
    blocks.find(|block| block.text.contains(words)).unwrap_or_else(|| panic!("{document} has no block with {words}"))
}

/// Writes a file that has not these contents already, so that nothing is built again.
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
    // The README's crates need the same ones, built in the same way (cargo 1.91; before, each builds them for itself).
    if directory.starts_with(scratch("documents")) {
        bash.env("CARGO_BUILD_BUILD_DIR", scratch("documents/built"));
    }
    // All that is needed was fetched for the build of this test.
    bash.env("CARGO_NET_OFFLINE", "true").env("DEBUGINFOD_URLS", "").stdin(std::process::Stdio::null());
    bash
}

/// What the line prints, if it succeeds.
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

/// A crate with this manifest of the README's, which takes jumplabel from here.
pub fn package(name: &str, manifest: &str, source: &str, program: &str) -> PathBuf {
    let directory = scratch("documents").join(name);
    let here = env!("CARGO_MANIFEST_DIR");
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n{manifest}\n\
         [patch.crates-io]\njumplabel = {{ path = \"{here}\" }}\n\n[workspace]\n"
    );
    write(&directory.join("Cargo.toml"), &manifest);
    write(&directory.join(source), program);
    if !directory.join("Cargo.lock").exists() {
        std::fs::copy(repository("Cargo.lock"), directory.join("Cargo.lock")).unwrap();
    }
    directory
}

/// The crate `example`: the README's first program, built by the README's command.
pub fn example() -> &'static Path {
    static EXAMPLE: OnceLock<PathBuf> = OnceLock::new();
    EXAMPLE.get_or_init(|| {
        let manifest = block("README.md", "jumplabel = \"0.1\"").text;
        let program = block("README.md", "static TRACE").text;
        let directory = package("example", &manifest, "src/main.rs", &program);
        // Programs of documents as they were: cargo would build them, too.
        let _ = std::fs::remove_dir_all(directory.join("src/bin"));
        printed("cargo build --release", &directory);
        directory
    })
}

/// Where the README's `make install` has put the C library. The tests of the C interface build it in the same directory.
pub fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let prefix = scratch("documents/prefix");
        install(&format!("make install PREFIX={}", prefix.display()));
        prefix
    })
}

/// Runs a `make install`.
pub fn install(line: &str) -> String {
    succeeds(shell(line, &repository("")).env("CARGO_TARGET_DIR", scratch("libraries")))
}
