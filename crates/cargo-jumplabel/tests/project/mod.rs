//! Copies projects of test-crates, and runs `cargo jumplabel` in the copies.
#![allow(dead_code, reason = "each test uses a part")]

pub mod running;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use jumplabel_testing::cargo::{Build, printed, run};

/// The root of this repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A copy of a project of test-crates. Its paths to this repository's crates are made absolute.
pub fn copy(project: &'static str, to: &str) -> PathBuf {
    let (from, to) =
        (Build::of(project).source(), Path::new(env!("CARGO_TARGET_TMPDIR")).join("cargo-jumplabel").join(to));
    let _ = fs::remove_dir_all(&to);
    copy_folder(&from, &to);
    let manifest = fs::read_to_string(to.join("Cargo.toml")).unwrap();
    let crates = repository().join("crates");
    fs::write(to.join("Cargo.toml"), manifest.replace("../../crates", crates.to_str().unwrap())).unwrap();
    to
}

pub fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap).filter(|entry| entry.file_name() != "target") {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy_folder(&from, &to);
        } else {
            fs::copy(from, to).unwrap();
        }
    }
}

/// The command `cargo jumplabel` in a folder.
pub fn tool_command<S: AsRef<OsStr>>(folder: &Path, arguments: &[S]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-jumplabel"));
    command.arg("jumplabel").args(arguments).current_dir(folder).env_remove("JUMPLABEL_SOURCE");
    command
}

/// Runs `cargo jumplabel` in a folder.
pub fn tool<S: AsRef<OsStr>>(folder: &Path, arguments: &[S]) -> Output {
    tool_command(folder, arguments).output().unwrap()
}

pub fn succeeds(folder: &Path, arguments: &[&str]) -> String {
    let output = tool(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", printed(&output));
    printed(&output)
}

pub fn fails(folder: &Path, arguments: &[&str], with: &str) {
    let output = tool(folder, arguments);
    let says = printed(&output);
    assert!(!output.status.success() && says.contains(with), "{arguments:?}: {says}");
}

/// Builds the program `traced` of a folder, with these features.
pub fn build(folder: &Path, features: &str) -> PathBuf {
    build_with(folder, &features.replace(',', "-"), features, "")
}

/// Builds `traced` with flags for the compiler. `name` becomes a part of the program's file name.
pub fn build_with(folder: &Path, name: &str, features: &str, flags: &str) -> PathBuf {
    build_of("traced", folder, name, features, flags)
}

/// Builds a program of any name, with features and flags.
pub fn build_of(program: &'static str, folder: &Path, name: &str, features: &str, flags: &str) -> PathBuf {
    let mut command = Build::of(program).args(&["--release", "--bin", program]).command("build");
    let to = folder.join("target");
    command.current_dir(folder).env("CARGO_TARGET_DIR", &to).env("RUSTFLAGS", flags).args(["--features", features]);
    run(&mut command);
    let kept = to.join(format!("{program}-{name}"));
    fs::rename(to.join("release").join(program), &kept).unwrap();
    kept
}
