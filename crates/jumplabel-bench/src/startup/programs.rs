//! The two programs `startup-sites` and `startup-plain`. `cargo run` builds only the program that it runs, so this program asks cargo to build them.
//! If it runs without cargo, because it is installed, it looks for them in its own directory.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::Result;

/// The paths of the program with sites and of the program without sites.
pub fn programs() -> Result<[PathBuf; 2]> {
    const NAMES: [&str; 2] = ["startup-sites", "startup-plain"];
    let paths = match std::env::var_os("CARGO") {
        Some(cargo) => built(cargo, NAMES)?,
        None => {
            let here = std::env::current_exe()?;
            NAMES.map(|name| here.with_file_name(name))
        }
    };
    for path in &paths {
        if !path.is_file() {
            let command = "cargo build --release -p jumplabel-bench";
            return Err(format!("{} is missing: run `{command}`", path.display()).into());
        }
    }
    Ok(paths)
}

/// A command that runs a program as a shell does. Cargo's search path for libraries is removed, because it would cost system calls.
pub fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_remove("LD_LIBRARY_PATH");
    command
}

/// Makes cargo build the programs in the profile of this program. Returns the paths of the built programs.
fn built(cargo: std::ffi::OsString, names: [&str; 2]) -> Result<[PathBuf; 2]> {
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--message-format=json-render-diagnostics", "--manifest-path"]);
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
    for name in names {
        command.args(["--bin", name]);
    }
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    let output = command.stderr(std::process::Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err("cargo could not build the programs to be measured".into());
    }
    let mut paths = names.map(|_| PathBuf::new());
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
        let at = names.iter().position(|&name| message["target"]["name"] == name);
        if let (Some(at), Some(path)) = (at, message["executable"].as_str()) {
            paths[at] = path.into();
        }
    }
    Ok(paths)
}
