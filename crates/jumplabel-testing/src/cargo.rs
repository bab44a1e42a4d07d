//! Builds the projects of test-crates. Each project has a target directory of its own below the tests' directory. Since cargo 1.91, all projects also
//! share one build directory, so that the crates that most of them need are built once.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::programs;

/// A way to build a project.
#[derive(Clone, Debug, Default)]
pub struct Build {
    /// The project: `test-crates/<project>`.
    pub project: &'static str,
    /// The name of a toolchain; by default the one that builds this test.
    pub toolchain: Option<&'static str>,
    /// A target triple; by default the host's.
    pub target: Option<&'static str>,
    /// Environment variables: the profile (`CARGO_PROFILE_RELEASE_OPT_LEVEL`), `RUSTFLAGS`.
    pub env: Vec<(&'static str, String)>,
    /// Arguments of cargo.
    pub args: Vec<&'static str>,
    /// Arguments of the compiler for the last crate only, such as arguments for the linker.
    pub link: Vec<&'static str>,
}

/// The number of the next directory of results.
static NUMBER: AtomicU32 = AtomicU32::new(0);

impl Build {
    /// A build of a project in the release profile.
    pub fn of(project: &'static str) -> Build {
        Build { project, ..Build::default() }
    }

    /// Adds an environment variable.
    pub fn env(mut self, name: &'static str, value: impl ToString) -> Build {
        self.env.push((name, value.to_string()));
        self
    }

    /// Adds arguments for cargo.
    pub fn args(mut self, args: &[&'static str]) -> Build {
        self.args.extend(args);
        self
    }

    /// Adds arguments for the compiler of the last crate.
    pub fn link(mut self, args: &[&'static str]) -> Build {
        self.link.extend(args);
        self
    }

    /// The folder of the project's sources.
    pub fn source(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../test-crates").join(self.project)
    }

    /// The project's target directory.
    fn target_dir(&self) -> PathBuf {
        scratch().join(self.project)
    }

    /// The command `cargo <verb>` for this build, without anything that the surrounding cargo or the user's settings would add.
    pub fn command(&self, verb: &str) -> Command {
        let mut command = match self.toolchain {
            Some(toolchain) => {
                let mut rustup = Command::new("rustup");
                rustup.args(["run", toolchain, "cargo"]);
                rustup
            }
            None => Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())),
        };
        command.arg(verb).args(&self.args).current_dir(self.source());
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("CARGO_PROFILE_") || text.starts_with("CARGO_PKG_") || text.ends_with("RUSTFLAGS") {
                command.env_remove(&name);
            }
        }
        if self.toolchain.is_some() {
            command.env_remove("RUSTC").env_remove("RUSTDOC");
        }
        command.env("CARGO_TARGET_DIR", self.target_dir()).env("CARGO_BUILD_BUILD_DIR", scratch().join("built"));
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Locks the project's target directory until the file is closed, because two builds of a project write their results to the same place. Cargo's
    /// own lock ends before the results are copied. (On Windows there is no lock, because tests under Wine build nothing.)
    fn alone(&self) -> std::io::Result<std::fs::File> {
        std::fs::create_dir_all(self.target_dir())?;
        let file = std::fs::File::create(self.target_dir().join(".alone"))?;
        // SAFETY: the descriptor is open.
        #[cfg(unix)]
        if unsafe { libc::flock(std::os::fd::AsRawFd::as_raw_fd(&file), libc::LOCK_EX) } != 0 {
            return Err(std::io::Error::last_os_error());
        }
        Ok(file)
    }

    /// Builds in release, and copies the named results to `directory` in the project's target directory.
    fn try_results(&self, directory: &str, names: &[&str]) -> Result<Vec<PathBuf>, String> {
        let _alone = self.alone().map_err(|error| format!("{}: {error}", self.project))?;
        let mut command = self.command(if self.link.is_empty() { "build" } else { "rustc" });
        command.arg("--release");
        if let Some(target) = self.target {
            command.args(["--target", target]);
        }
        if !self.link.is_empty() {
            command.arg("--").args(&self.link);
        }
        let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
        if !output.status.success() {
            return Err(format!("{command:?}\n{}", String::from_utf8_lossy(&output.stderr)));
        }
        let from = self.target_dir().join(self.target.unwrap_or_default()).join("release");
        let to = self.target_dir().join(directory);
        std::fs::create_dir_all(&to).map_err(|error| error.to_string())?;
        let copy = |name: &&str| {
            let (from, to) = (from.join(name), to.join(name));
            programs::copy(&from, &to).map_err(|error| format!("{}: {error}", from.display()))?;
            Ok(to)
        };
        names.iter().map(copy).collect()
    }

    /// Builds in release, and copies the named results to a new directory, which [`discard`] removes.
    pub fn results(&self, names: &[&str]) -> Vec<PathBuf> {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        self.results_in(&format!("results-{}-{number}", std::process::id()), names)
    }

    /// Builds in release, and copies the named results to a directory that stays.
    pub fn results_in(&self, directory: &str, names: &[&str]) -> Vec<PathBuf> {
        self.try_results(directory, names).unwrap_or_else(|error| panic!("{self:?}\n{error}"))
    }
}

/// The directory in which tests may write: cargo's CARGO_TARGET_TMPDIR.
fn scratch() -> PathBuf {
    // target/<profile>/deps/<test>
    let test = std::env::current_exe().unwrap();
    test.ancestors().nth(3).unwrap().join("tmp")
}

/// Removes the copies of a build.
pub fn discard(results: &[PathBuf]) {
    if let Some(directory) = results.first().and_then(|file| file.parent()) {
        let _ = std::fs::remove_dir_all(directory);
    }
}

/// Runs a program, and returns the text that it printed. The test fails if the program does.
pub fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}\n{}", output.status, printed(&output));
    printed(&output)
}

/// The text of a program's two output streams.
pub fn printed(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|stream| String::from_utf8_lossy(stream)).concat()
}

/// True if the toolchain that builds this test, or `toolchain`, can build for `target`.
pub fn has_target(toolchain: Option<&str>, target: &str) -> bool {
    let mut rustc = match toolchain {
        Some(toolchain) => {
            let mut rustup = Command::new("rustup");
            rustup.args(["run", toolchain, "rustc"]);
            rustup
        }
        None => Command::new("rustc"),
    };
    let output = rustc.args(["--print", "target-libdir", "--target", target]).output();
    output.is_ok_and(|output| {
        output.status.success() && Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir()
    })
}
