//! The tool is killed after each number of writes.

use super::busy::{BACK, Busy, THERE};

/// Nothing is left by a change of so many writes that this would not meet each of them.
const MOST: usize = 200;

/// The guard puts it right at once.
#[test]
fn guarded() {
    let mut busy = Busy::start();
    let mut killed = 0;
    for writes in 0..MOST {
        let dies = format!("--dies={writes}");
        let told = busy.set(&[&[&*dies], &THERE[..]].concat());
        busy.check().done();
        if told.code == Some(0) {
            break;
        }
        told.refused(4, "signal 9 ended the change on its way");
        killed += 1;
        busy.set(&BACK).done();
    }
    assert!((6..MOST).contains(&killed), "{killed}");
    assert_eq!(busy.ask("agree"), "yes yes");
}

/// Nobody guards it. Each site holds one of its instructions; the next flip in the process, or in a child of it, makes them agree with the counts; so
/// does the next change from outside.
fn unguarded(has_flipped: bool) {
    let mut differed = 0;
    for writes in 0..MOST {
        let mut busy = Busy::start();
        if has_flipped {
            assert_eq!(busy.ask("flip busy.other on"), "done");
            assert_eq!(busy.ask("flip busy.other off"), "done");
        }
        let dies = format!("--dies={writes}");
        let told = busy.set(&[&["--worker", &*dies], &THERE[..]].concat());
        let is_killed = told.code.is_none();
        let check = busy.check();
        assert!(matches!(check.code, Some(0 | 4)) && !check.out.contains("foreign"), "{check:?}");
        differed += u32::from(check.code == Some(4));
        match writes % 3 {
            0 => assert_eq!(busy.ask("agree"), "yes yes", "{writes}: {check:?}"),
            1 => drop(busy.set(&["busy.other=on"]).done()),
            _ => {
                // A user comes and goes. If the key's count still says that it is on, nothing but the count has to change.
                busy.set(&["busy.hot+1"]).done();
                busy.check().done();
                busy.set(&["busy.hot-1"]).done();
            }
        }
        busy.check().done();
        busy.set(&BACK).done();
        assert_eq!(busy.ask("agree"), "yes yes");
        if !is_killed {
            assert!(writes > 6 && differed > 3, "{writes} {differed}");
            return;
        }
    }
    panic!("more than {MOST} writes");
}

#[test]
fn unguarded_after_a_flip() {
    unguarded(true);
}

#[test]
fn unguarded_before_any_flip() {
    unguarded(false);
}
