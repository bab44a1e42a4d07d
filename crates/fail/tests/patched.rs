//! Tests a program whose dependency uses `fail`, and which only adds a line of `[patch.crates-io]`: test-crates/fail-patched.

use std::process::Command;

use jumplabel_testing::cargo::{Build, printed};

#[test]
fn a_dependency_that_knows_nothing_of_it() {
    let build = Build::of("fail-patched");
    let with = build.clone().args(&["--features", "failpoints"]).results_in("fail-with", &["fail-patched"]).remove(0);
    let without = build.results_in("fail-without", &["fail-patched"]).remove(0);
    let keys = |first| format!("[\"fail:dependency::save {first}\", \"fail:dependency::saved off\"]");
    for (program, points, says) in [
        (&with, "", format!("true Ok(()) {} Ok(())\n", keys("off"))),
        (&with, "dependency::save=return(full)", format!("true Err(\"full\") {} Ok(())\n", keys("on"))),
        // Without the feature, the point is not compiled in.
        (&without, "dependency::save=return(full)", "false Ok(()) [] Ok(())\n".to_owned()),
    ] {
        let output = Command::new(program).env("FAILPOINTS", points).output().unwrap();
        assert_eq!(printed(&output), says, "{points}");
    }
}
