//! Tests of packages: crates, sources, Debian's packages. `make test-all` runs the quick tests. `make release-check` runs the others, which build all
//! packages and take an hour on one processor.
#![cfg(target_os = "linux")]

#[path = "packages/bookworm.rs"]
mod bookworm;
#[path = "packages/debian.rs"]
mod debian;
#[path = "packages/dependencies.rs"]
mod dependencies;
#[path = "packages/goals.rs"]
mod goals;
#[path = "packages/manifests.rs"]
mod manifests;
#[path = "packages/registry.rs"]
mod registry;
#[path = "packages/semver.rs"]
mod semver;
#[path = "packages/sources.rs"]
mod sources;

use std::path::{Path, PathBuf};
use std::process::Command;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn root() -> PathBuf {
    Path::new(ROOT).canonicalize().unwrap()
}

/// An empty folder below target/. Files of an earlier run are removed.
fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A line for the shell, in this folder. Removes variables of cargo and make that belong to this run of the tests.
fn shell(line: &str, folder: &Path) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-euc", line]).current_dir(folder);
    for (name, _) in std::env::vars_os() {
        let is_ours =
            |name: &str| name == "CARGO" || name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
        if name.to_str().is_some_and(is_ours)
            || name == "CARGO_TARGET_DIR"
            || name == "MAKEFLAGS"
            || name == "RUSTFLAGS"
        {
            shell.env_remove(name);
        }
    }
    shell
}

/// The output of the line, which must succeed.
fn printed(line: &str, folder: &Path) -> String {
    let output = shell(line, folder).output().unwrap();
    let (out, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{line}: {}\n{out}{errors}", output.status);
    out.into_owned()
}
