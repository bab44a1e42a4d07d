//! A layer of another crate, whose functions flip keys under a lock of theirs: jumplabel-fail.
#![cfg(target_os = "linux")]

use std::sync::Mutex;

use jumplabel::{AskedBy, Changed};
use jumplabel_fail::{cfg, fail_point, remove};
use jumplabel_testing::scenario::passes;

static HEARD: Mutex<Vec<(String, bool)>> = Mutex::new(Vec::new());

fn heard(name: &str, changed: &Changed<'_>, _: AskedBy) {
    let Changed::Key { on, .. } = changed else { unreachable!() };
    HEARD.lock().unwrap().push((name.to_owned(), *on));
}

/// A function of the agent's hears of such a flip, while the thread that flips has the layer's lock: nothing in between asks the layer.
#[test]
fn heard_under_the_lock_of_a_layer() {
    passes(|| {
        jumplabel_agent::serve(jumplabel_fail::layer()).unwrap();
        jumplabel_agent::on_change("fail:save", heard).unwrap();
        let save = || {
            fail_point!("save", |_| true);
            false
        };
        cfg("save", "return").unwrap();
        assert!(save());
        remove("save");
        assert!(!save());
        assert_eq!(*HEARD.lock().unwrap(), [("fail:save".to_owned(), true), ("fail:save".to_owned(), false)]);
    });
}
