//! Assertions: off, nothing of one is evaluated; on, one that fails panics or tells the hook. In the fallback too.

use std::cell::Cell;
use std::panic::catch_unwind;
use std::sync::Mutex;

use jumplabel::assertion::{Assertion, set_hook};
use jumplabel::{assertions, find_key, key_assert, static_key};

assertions!();

static_key! {
    #[key(name = "assert:tree")]
    static TREE: false;
}

/// One test at a time, because the process has one hook and one set of keys.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The number of times that the condition of an assertion was evaluated, and its message.
fn evaluated(holds: bool) -> (u32, u32) {
    let (conditions, messages) = (Cell::new(0), Cell::new(0));
    let count = |of: &Cell<u32>| of.set(of.get() + 1);
    key_assert!(
        {
            count(&conditions);
            holds
        },
        "message {}",
        {
            count(&messages);
            7
        },
    );
    key_assert!(in TREE; { count(&conditions); holds });
    (conditions.get(), messages.get())
}

fn text(panic: Box<dyn std::any::Any + Send>) -> String {
    *panic.downcast::<String>().unwrap()
}

#[test]
fn off_and_on() {
    let _alone = ONE_AT_A_TIME.lock();
    assert_eq!(evaluated(false), (0, 0));
    let key = find_key(concat!("assert:", file!())).unwrap().key;
    key.enable().unwrap();
    assert_eq!(evaluated(true), (1, 0));
    assert_eq!(text(catch_unwind(|| evaluated(false)).unwrap_err()), "message 7");
    key.disable().unwrap();
    TREE.enable().unwrap();
    let said = text(catch_unwind(|| evaluated(false)).unwrap_err());
    assert!(said.starts_with("assertion failed: {") && said.contains("holds"), "{said}");
    TREE.disable().unwrap();
    assert_eq!(evaluated(false), (0, 0));
}

static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn tell(assertion: &Assertion<'_>) {
    assert_eq!((assertion.file, assertion.module), (file!(), module_path!()));
    TOLD.lock().unwrap().push(format!("{} {assertion}", assertion.line));
}

/// The program goes on after an assertion if the hook returns.
#[test]
fn hooked() {
    let _alone = ONE_AT_A_TIME.lock();
    set_hook(Some(tell));
    let key = find_key(concat!("assert:", file!())).unwrap().key;
    key.enable().unwrap();
    let first = line!() + 1;
    key_assert!(first > 10_000);
    key_assert!(first > 10_000, "{first} is too small");
    key_assert!(first < 10_000);
    key.disable().unwrap();
    set_hook(None);
    let expected = [format!("{first} assertion failed: first > 10_000"), format!("{} {first} is too small", first + 1)];
    assert_eq!(*TOLD.lock().unwrap(), expected);
}
