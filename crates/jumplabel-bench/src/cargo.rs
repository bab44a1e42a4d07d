//! Builds programs for measurements with cargo. The build does not depend on how this program itself was built.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The directory for the results of one project.
pub fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target").join(name)
}

/// Builds `test-crates/<project>` optimised, with results in `target`.
pub fn build(project: &str, target: &Path) -> Command {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../test-crates").join(project).join("Cargo.toml");
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["build", "--quiet", "--release", "--manifest-path"]).arg(manifest).arg("--target-dir").arg(target);
    for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET", "CARGO_PROFILE_RELEASE_LTO"] {
        command.env_remove(name);
    }
    command
}
