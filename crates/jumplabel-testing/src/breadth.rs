//! The breadth of tests: `make test` tests one configuration of each kind, `make test-all` tests all of them.

use std::ffi::OsStr;
use std::process::Command;

/// True if all compilers, linkers, tools and configurations are to be tested.
#[must_use]
pub fn tests_all() -> bool {
    is_set("JUMPLABEL_TEST_ALL")
}

/// The first `few` of all configurations, which stand for the others; or all, if all are to be tested.
#[must_use]
pub fn some_of<T>(few: usize, all: &[T]) -> &[T] {
    if tests_all() { all } else { all.get(..few).unwrap_or(all) }
}

/// Says that a test leaves something out, because it has no tool for it.
///
/// # Panics
/// If all is to be tested, in CI: nothing may be missing there.
pub fn leave_out(what: &str) {
    assert!(!(tests_all() && is_set("CI")), "{what} is missing: run make setup-all");
    println!("left out: {what}");
}

/// True if a tool can be started. If not, the caller must leave out the part that needs it; this has said so.
///
/// # Panics
/// If all is to be tested, in CI, and the tool is missing, as in [`leave_out`].
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
