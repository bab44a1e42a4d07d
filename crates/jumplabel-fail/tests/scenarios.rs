//! Scenarios: configurations by the variable `FAILPOINTS` that end with a value.

use std::time::Duration;

use jumplabel_fail::{FailGuard, FailScenario, cfg, fail_point, list};
use jumplabel_testing::scenario::Scenario;

const SOON: Duration = Duration::from_millis(200);

/// True if the key of a point is on.
fn is_on(name: &str) -> bool {
    jumplabel::find_key(&format!("fail:{name}")).unwrap().enabled
}

/// Each scenario runs in a process of its own, because `FAILPOINTS` belongs to a process.
#[test]
fn scenarios() {
    const CHILD: &str = "JUMPLABEL_FAIL_CHILD";
    if std::env::var_os(CHILD).is_none() {
        let run = |points: &str| {
            let program = std::env::current_exe().unwrap();
            let mut child = std::process::Command::new(program);
            child.args(["--exact", "scenarios", "--nocapture"]).env(CHILD, "1").env("FAILPOINTS", points);
            child.output().unwrap()
        };
        let output = run(" first=return; second=pause;; ");
        assert!(output.status.success(), "{output:?}");
        for (points, complaint) in [
            ("first", "invalid failpoint: \"first\""),
            ("first=retrun", "unable to configure failpoint \"first\": unrecognized command \"retrun\""),
        ] {
            let output = run(points);
            assert!(
                !output.status.success() && String::from_utf8_lossy(&output.stderr).contains(complaint),
                "{output:?}"
            );
        }
        return;
    }
    let first = || {
        fail_point!("first", |_| 1);
        0
    };
    let second = || {
        fail_point!("second", |_| 2);
        0
    };
    cfg("third", "return").unwrap();
    let scenario = FailScenario::setup();
    assert!(first() == 1 && list().len() == 2, "what there was before is gone");
    let thread = std::thread::spawn(second);
    while !thread.is_finished() && !is_on("second") {}
    std::thread::sleep(SOON);
    assert!(!thread.is_finished());
    scenario.teardown();
    assert_eq!(thread.join().unwrap(), 0);
    assert!(first() == 0 && list().is_empty() && !is_on("first") && !is_on(""));
    // After a panic, the next scenario begins anew.
    let _ = std::panic::catch_unwind(|| {
        let _scenario = FailScenario::setup();
        panic!("a test failed");
    });
    FailScenario::setup().teardown();
}

/// If code cannot be written, `cfg` says so, and the earlier configuration stays.
#[test]
#[cfg_attr(jumplabel_fallback, ignore = "nothing is written")]
fn refused() {
    Scenario::new().env("JUMPLABEL_WRITER", "nonsense").passes(|| {
        let f = |name: &str| {
            fail_point!("refused", |_| 1);
            fail_point!(name, |_| 2);
            0
        };
        let error = cfg("refused", "return").unwrap_err();
        assert!(
            error.starts_with("the fail point cannot be turned on: ") && error.contains("JUMPLABEL_WRITER"),
            "{error}"
        );
        assert!(FailGuard::with_callback("computed", || {}).is_err());
        assert!(f("computed") == 0 && list().is_empty() && !is_on("refused") && !is_on(""));
        jumplabel_fail::remove("refused");
        FailScenario::setup().teardown();
    });
}
