//! Compilers, and the ways to call them.

use std::path::{Path, PathBuf};
use std::process::Command;

use jumplabel_testing::breadth;

use crate::prefix::{file, prefix, succeeds};

/// A C and a C++ compiler.
#[derive(Clone, Copy, Debug)]
pub struct Compiler {
    pub c: &'static str,
    pub cxx: &'static str,
    /// The linker's flag for link-time optimisation.
    linker: &'static str,
}

pub const GCC: Compiler = Compiler { c: "gcc", cxx: "g++", linker: "" };
pub const CLANG: Compiler = Compiler { c: "clang-16", cxx: "clang++-16", linker: "-fuse-ld=lld-16" };

/// Other compilers that have sites, with which fewer tests run: those of Debian 12. (gcc 9 and 10 are in Debian 11, gcc 13 and 14 in Debian 13.)
const OTHERS: [Compiler; 4] = [
    Compiler { c: "gcc-11", cxx: "g++-11", linker: "" },
    Compiler { c: "clang-14", cxx: "clang++-14", linker: "" },
    Compiler { c: "clang-15", cxx: "clang++-15", linker: "" },
    Compiler { c: "clang-19", cxx: "clang++-19", linker: "" },
];

/// C or C++.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    C,
    Cxx,
}

impl Compiler {
    /// The compilers for all tests; `cargo xtask setup` installs them.
    pub const ALL: [Compiler; 2] = [GCC, CLANG];

    /// The other installed compilers, if all are to be tested.
    pub fn others() -> impl Iterator<Item = Compiler> {
        breadth::some_of(0, &OTHERS).iter().copied().filter(|compiler| breadth::has(compiler.cxx))
    }

    /// A compiler's command with all warnings as errors, the installed headers, and the path at which the program finds the libraries. `flags` are
    /// separated by blanks.
    pub fn command(self, language: Language, flags: &str) -> Command {
        self.command_with(&prefix().join("include"), language, flags)
    }

    /// The same with the headers in another directory.
    pub fn command_with(self, headers: &Path, language: Language, flags: &str) -> Command {
        let (name, standard) = match language {
            Language::C => (self.c, ["-x", "c", "-std=c11"]),
            Language::Cxx => (self.cxx, ["-x", "c++", "-std=c++17"]),
        };
        let mut command = Command::new(name);
        command.args(standard).args(["-Wall", "-Wextra", "-pedantic", "-Werror", "-pthread", "-D_GNU_SOURCE"]);
        command.arg("-I").arg(headers).args(flags.split_whitespace());
        if flags.contains("-flto") && !self.linker.is_empty() {
            command.arg(self.linker);
        }
        command
    }

    /// Compiles and links files of tests/c (or absolute ones) into `output`; `libraries` are separated by blanks.
    pub fn build(self, language: Language, flags: &str, files: &[&str], libraries: &str, output: &Path) -> PathBuf {
        let library_path = prefix().join("lib");
        let mut command = self.command(language, flags);
        command.args(files.iter().map(|name| file("tests/c").join(name))).arg("-o").arg(output);
        command.arg("-L").arg(&library_path).arg("-L").arg(output.parent().unwrap());
        if !flags.contains("-static") {
            // Not for static programs: glibc's start-up of a static PIE crashes if there is a run path.
            command.arg(format!("-Wl,-rpath,{}:$ORIGIN", library_path.display()));
        }
        command.args(libraries.split_whitespace());
        succeeds(&mut command);
        output.to_path_buf()
    }
}
