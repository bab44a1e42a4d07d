//! Builds test-crates/engine.

use std::fs;
use std::path::{Path, PathBuf};

use jumplabel_testing::cargo::{Build, run};

use crate::project::{copy, succeeds};

/// Builds the program, with keys or with upstream's fail. Returns its path.
pub fn built(patched: bool, features: &str, to: &str) -> PathBuf {
    let folder = copy("engine", to);
    if patched {
        succeeds(&folder, &["fail"]);
    }
    let target = folder.join("target");
    let mut command = Build::of("engine").args(&["--release", "--quiet"]).command("build");
    run(command.current_dir(&folder).env("CARGO_TARGET_DIR", &target).args(["--features", features]));
    target.join("release/engine")
}

/// A path for the engine's data, where nothing is.
pub fn data(program: &Path) -> PathBuf {
    let folder = program.with_file_name("data");
    let _ = fs::remove_dir_all(&folder);
    folder
}
