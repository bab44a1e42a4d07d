//! How much is tested: one of each kind, which `make test` does, or all that there is, by `make test-all`.

use std::ffi::OsStr;
use std::process::Command;

/// Whether all compilers, linkers, tools and configurations are to be tested.
#[must_use]
pub fn tests_all() -> bool {
    is_set("JUMPLABEL_TEST_ALL")
}

/// Of all configurations, `few` that stand for the others, unless all are to be tested.
#[must_use]
pub fn some_of<T>(few: usize, all: &[T]) -> &[T] {
    if tests_all() { all } else { all.get(..few).unwrap_or(all) }
}

/// A test leaves out what it has no tool for, and says so.
///
/// # Panics
/// If all is to be tested, in CI: there, nothing may be missing.
pub fn leave_out(what: &str) {
    assert!(!(tests_all() && is_set("CI")), "{what} is missing: run make setup-all");
    println!("left out: {what}");
}

/// Whether a tool can be started. If not, what needs it is to be left out, and this says so.
///
/// # Panics
/// As for [`leave_out`].
#[must_use]
pub fn has(tool: impl AsRef<OsStr>) -> bool {
    let tool = tool.as_ref();
    let found = Command::new(tool).arg("--version").output().is_ok();
    if !found {
        leave_out(&tool.to_string_lossy());
    }
    found
}

fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| !value.is_empty())
}
