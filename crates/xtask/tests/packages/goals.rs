//! Tests of the Makefile's goals for a release.

use std::os::unix::fs::PermissionsExt;

use super::{root, scratch, shell};

/// What `breadth::leave_out` looks at: with both, a missing tool is an error.
const STRICT: &str = "CI=1 JUMPLABEL_TEST_ALL=1\n";

/// The variables that a goal of the Makefile gives to cargo.
fn given(goal: &str) -> String {
    let folder = scratch(&format!("goals-{goal}"));
    let cargo = folder.join("cargo");
    std::fs::write(&cargo, "#!/bin/sh\necho CI=$CI JUMPLABEL_TEST_ALL=$JUMPLABEL_TEST_ALL\n").unwrap();
    std::fs::set_permissions(&cargo, std::fs::Permissions::from_mode(0o755)).unwrap();
    let make = format!("make --silent --no-print-directory {goal} CARGO={}", cargo.display());
    let mut make = shell(&make, &root());
    let output = make.env_remove("CI").env_remove("JUMPLABEL_TEST_ALL").output().unwrap();
    assert!(output.status.success(), "{goal}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A check before a release fails where a tool is missing, and does not pass without having checked.
#[test]
fn nothing_is_left_out() {
    for goal in ["release-check", "packages", "site-check"] {
        assert!(given(goal).contains(STRICT), "{goal}: {}", given(goal));
    }
    // The twin: elsewhere a missing tool is only named.
    for goal in ["test", "test-all", "upstream"] {
        assert!(!given(goal).contains(STRICT), "{goal}");
    }
}
