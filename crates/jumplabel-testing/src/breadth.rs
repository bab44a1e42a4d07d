//! The breadth of tests: `make test` takes a few configurations of each kind, `make test-all` takes all of them.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

/// True if all compilers, linkers, tools and configurations are to be tested.
#[must_use]
pub fn tests_all() -> bool {
    is_set("JUMPLABEL_TEST_ALL")
}

/// All configurations if all are to be tested; otherwise the first `few`, which stand for the others.
#[must_use]
pub fn some_of<T>(few: usize, all: &[T]) -> &[T] {
    if tests_all() { all } else { all.get(..few).unwrap_or(all) }
}

/// Says that a test leaves something out, because a tool for it is missing.
///
/// # Panics
/// In CI, if all is to be tested: there nothing may be missing.
pub fn leave_out(what: &str) {
    assert!(!(tests_all() && is_set("CI")), "{what} is missing: run make setup-all");
    println!("left out: {what}");
}

/// True if a tool can be started. If not, this says so, and the caller must leave out the part that needs the tool.
///
/// # Panics
/// If the tool is missing and [`leave_out`] panics.
#[must_use]
pub fn has(tool: impl AsRef<OsStr>) -> bool {
    let tool = tool.as_ref();
    let found = Command::new(tool).arg("--version").output().is_ok();
    if !found {
        leave_out(&tool.to_string_lossy());
    }
    found
}

/// True if there is a gcc for `gnu` (such as `riscv64-linux-gnu`), with the headers of its C library. A kernel needs only the compiler, so a machine
/// may have that alone. If not, this says so, and the caller must leave out the part that needs it.
///
/// # Panics
/// As [`leave_out`], if the compiler or the headers are missing.
#[must_use]
pub fn has_gcc(gnu: &str) -> bool {
    let found = gcc_is_here(gnu);
    if !found {
        leave_out(&format!("gcc for {gnu}, with the headers of its C library"));
    }
    found
}

/// The same as [`has_gcc`], without a word.
#[must_use]
pub fn gcc_is_here(gnu: &str) -> bool {
    Command::new(format!("{gnu}-gcc")).arg("--version").output().is_ok()
        && Path::new(&format!("/usr/{gnu}/include/stdio.h")).exists()
}

fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| !value.is_empty())
}
