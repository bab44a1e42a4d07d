//! The installation that all tests use: one `make install` into a scratch prefix.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// A directory in which tests may write.
pub fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// A file of the crate.
pub fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Runs `make` with these arguments. It needs its own target directory, because `cargo test` may hold a lock on the other one. `with` has environment
/// variables, which must name it.
pub fn make_with(words: &[&str], with: &[(&str, &str)]) -> Output {
    let mut make = Command::new("make");
    make.arg("-C").arg(file("")).args(words).arg(concat!("CARGO=", env!("CARGO")));
    make.env_remove("MAKEFLAGS").env_remove("CARGO_TARGET_DIR").envs(with.iter().copied());
    succeeds(&mut make)
}

/// Runs `make` with these arguments, and the usual target directory.
pub fn make(words: &[&str]) -> Output {
    make_with(words, &[("CARGO_TARGET_DIR", scratch("libraries").to_str().unwrap())])
}

/// The prefix, with the libraries in `lib` and the headers in `include`.
pub fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let path = scratch("prefix");
        make(&["install", &format!("PREFIX={}", path.display())]);
        path
    })
}

/// Runs a command that must succeed.
pub fn succeeds(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}\n{}", output.status, printed(&output));
    output
}

/// All output of a command.
pub fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// All files below a directory.
pub fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

/// Builds the programs of tests/consumers with CMake, against the installation in `prefix`. Returns the directory of the build.
pub fn built_by_cmake(prefix: &Path, name: &str) -> PathBuf {
    let build = scratch(name);
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(file("tests/consumers")).arg("-B").arg(&build);
    succeeds(configure.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display())));
    succeeds(Command::new("cmake").arg("--build").arg(&build));
    build
}

/// Does the same, and runs two of the programs.
pub fn runs_by_cmake(prefix: &Path, name: &str) {
    let build = built_by_cmake(prefix, name);
    for program in ["shared", "static"] {
        assert!(printed(&succeeds(&mut Command::new(build.join(program)))).contains("verified"), "{program}");
    }
}
