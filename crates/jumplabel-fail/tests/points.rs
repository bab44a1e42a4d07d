//! Tests of actions: the cases that the crate `fail` tests, with the states of the keys.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use jumplabel_fail::{FailGuard, cfg, cfg_callback, fail_point, list, remove};

const SOON: Duration = Duration::from_millis(200);
const LONG: Duration = Duration::from_secs(60);

/// True if the key of a point is on.
fn is_on(name: &str) -> bool {
    jumplabel::find_key(&format!("fail:{name}")).unwrap().enabled
}

#[test]
fn off() {
    let f = || {
        fail_point!("off", |_| 2);
        0
    };
    assert!(f() == 0 && !is_on("off"));
    cfg("off", "off").unwrap();
    assert!(f() == 0 && !is_on("off"), "`off` needs no key");
    cfg("off", "1*off->return").unwrap();
    assert!(is_on("off"));
    assert_eq!([f(), f()], [0, 2]);
}

#[test]
fn returns() {
    let f = || {
        fail_point!("return", |text: Option<String>| text.map_or(2, |text| text.parse().unwrap()));
        0
    };
    assert_eq!(f(), 0);
    cfg("return", "return(1000)").unwrap();
    assert!(f() == 1000 && is_on("return"));
    cfg("return", "return").unwrap();
    assert_eq!(f(), 2);
    remove("return");
    assert!(f() == 0 && !is_on("return"));
}

/// Two points have the same name, and one of them is in a generic function. Each has a key, and both do what is configured.
#[test]
fn several_of_a_name() {
    fn generic<T: Default>() -> Option<T> {
        fail_point!("several", |_| Some(T::default()));
        None
    }
    let f = || {
        fail_point!("several", |_| true);
        false
    };
    let all = || [generic::<u8>().is_some(), generic::<String>().is_some(), f()];
    assert_eq!(all(), [false; 3]);
    let _guard = FailGuard::new("several", "return").unwrap();
    assert_eq!(all(), [true; 3]);
}

#[test]
fn waits() {
    let f = || {
        fail_point!("waits");
    };
    for actions in ["sleep(50)", "delay(50)"] {
        let _guard = FailGuard::new("waits", actions).unwrap();
        let start = Instant::now();
        f();
        assert!(start.elapsed() >= Duration::from_millis(50), "{actions}");
    }
}

#[test]
#[should_panic(expected = "disk on fire")]
fn panics() {
    cfg("panics", "panic(disk on fire)").unwrap();
    fail_point!("panics");
}

#[test]
#[should_panic(expected = "failpoint panics_without_text panic")]
fn panics_without_text() {
    cfg("panics_without_text", "panic").unwrap();
    fail_point!("panics_without_text");
}

#[test]
#[should_panic(expected = "Return is not supported for the fail point \"cannot_return\"")]
fn cannot_return() {
    cfg("cannot_return", "return").unwrap();
    fail_point!("cannot_return");
}

/// The lines that fail points have logged.
static LOGGED: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Logger;

impl log::Log for Logger {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }
    fn log(&self, record: &log::Record<'_>) {
        LOGGED.lock().unwrap().push(record.args().to_string());
    }
    fn flush(&self) {}
}

#[test]
fn prints() {
    log::set_max_level(log::LevelFilter::Info);
    log::set_logger(&Logger).unwrap();
    let f = || {
        fail_point!("prints");
    };
    cfg("prints", "1*print(still alive!)->print").unwrap();
    f();
    f();
    assert_eq!(*LOGGED.lock().unwrap(), ["still alive!", "failpoint prints executed."]);
}

/// A thread that pauses continues when the point is configured anew, and when it is removed.
#[test]
fn pauses() {
    let f = || {
        fail_point!("pauses");
    };
    cfg("pauses", "pause").unwrap();
    let (send, receive) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        for number in 0..3 {
            f();
            send.send(number).unwrap();
        }
    });
    assert!(receive.recv_timeout(SOON).is_err());
    cfg("pauses", "pause").unwrap();
    assert_eq!(receive.recv_timeout(LONG), Ok(0));
    assert!(receive.recv_timeout(SOON).is_err());
    remove("pauses");
    assert_eq!(receive.recv_timeout(LONG), Ok(1));
    assert_eq!(receive.recv_timeout(LONG), Ok(2));
    thread.join().unwrap();
}

/// A callback can configure points, even its own.
#[test]
fn callbacks() {
    let f = || {
        fail_point!("callbacks", |_| 7);
        0
    };
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    cfg_callback("callbacks", move || {
        counted.fetch_add(1, SeqCst);
        cfg("callbacks", "return").unwrap();
    })
    .unwrap();
    assert_eq!([f(), f()], [0, 7]);
    assert_eq!(count.load(SeqCst), 1);
    let guard = FailGuard::with_callback("callbacks", || {}).unwrap();
    assert!(f() == 0 && list().contains(&("callbacks".to_owned(), "callback".to_owned())));
    drop(guard);
    assert!(!is_on("callbacks"));
}

#[test]
fn shares_and_counts() {
    let f = || {
        fail_point!("shares", |text: Option<String>| text.map_or(2, |text| text.parse().unwrap()));
        0
    };
    cfg("shares", "50%50*return(1)->50%50*return(-1)->50*return").unwrap();
    assert_eq!((0..5000).map(|_| f()).sum::<i32>(), 100);
}

/// While the point is off, its condition is not evaluated.
#[test]
fn conditions() {
    let asked = AtomicBool::new(false);
    let f = |condition: bool| {
        fail_point!(
            "conditions",
            {
                asked.store(true, SeqCst);
                condition
            },
            |_| 2
        );
        0
    };
    assert!(f(true) == 0 && !asked.load(SeqCst));
    cfg("conditions", "return").unwrap();
    assert_eq!([f(false), f(true)], [0, 2]);
    assert!(asked.load(SeqCst));
}

/// Points with computed names share one key, and have their own configurations.
#[test]
fn computed_names() {
    let f = |number: u32| {
        fail_point!(&format!("computed-{number}"), |_| 1);
        fail_point!(&format!("computed-{number}"), number > 1, |_| 2);
        fail_point!(&format!("computed-{number}-panics"));
        0
    };
    let _guard = FailGuard::new("computed-1", "1*return->off").unwrap();
    assert!(is_on(""), "the key that they share");
    assert_eq!([f(1), f(1), f(2)], [1, 0, 0]);
    let _guard = FailGuard::new("computed-2", "1*off->return").unwrap();
    assert_eq!([f(1), f(2)], [0, 2]);
}

#[test]
fn lists() {
    let has = |text: &str| list().contains(&("lists".to_owned(), text.to_owned()));
    assert!(!has("off"));
    cfg("lists", "off").unwrap();
    assert!(has("off"));
    cfg("lists", "return").unwrap();
    assert!(has("return") && !has("off"));
    // A wrong text changes nothing.
    assert_eq!(cfg("lists", "retrun").unwrap_err(), "unrecognized command \"retrun\"");
    assert!(has("return"));
}

/// Threads reach points while others configure them. Each result is one that was configured.
#[test]
fn beside_threads() {
    let f = || {
        fail_point!("beside", |text: Option<String>| text.map_or(0, |text| text.parse().unwrap()));
        1
    };
    let (stop, reached) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(SeqCst) {
                    assert!([1, 2, 3].contains(&f()));
                    reached.fetch_add(1, SeqCst);
                }
            });
        }
        for round in 0..200 {
            cfg("beside", ["return(2)", "return(3)", "yield"][round % 3]).unwrap();
            if round % 5 == 0 {
                remove("beside");
            }
        }
        stop.store(true, SeqCst);
    });
    remove("beside");
    assert!(f() == 1 && reached.load(SeqCst) > 0);
}
