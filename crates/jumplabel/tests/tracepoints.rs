//! Tracepoints: the functions that are called, their arguments, and the moment at which data are dropped.

#[path = "tracepoints/declared.rs"]
mod declared;
#[cfg(all(target_os = "linux", not(miri)))]
#[path = "tracepoints/process.rs"]
mod process;
#[path = "tracepoints/threads.rs"]
mod threads;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use jumplabel::{Error, emit, synchronize_probes, tracepoint};

/// A sum that plain functions add to.
macro_rules! sums {
    ($($sum:ident $function:ident),*) => { $(
        static $sum: AtomicU64 = AtomicU64::new(0);
        fn $function(a: u64, b: &str) {
            $sum.fetch_add(a + b.len() as u64, Ordering::Relaxed);
        }
    )* };
}

/// Whether calls lead straight to a function. (Under Miri, it has another address each time that it is named.)
macro_rules! leads_to {
    ($point:ident, $function:ident) => {
        cfg!(miri) || $point.call.query() as *const () == $function as *const ()
    };
}

#[test]
fn comes_and_goes() {
    sums! { FIRST first, SECOND second }
    tracepoint! { test, one(a: u64, b: &str); }
    let sums = || [&FIRST, &SECOND].map(|sum| sum.load(Ordering::Relaxed));
    let evaluated = AtomicUsize::new(0);
    let emit = || {
        emit!(
            one,
            {
                evaluated.fetch_add(1, Ordering::Relaxed);
                10
            },
            "abc"
        );
    };
    emit();
    assert_eq!((one.probes(), one.key().is_enabled(), evaluated.load(Ordering::Relaxed)), (0, false, 0));
    let probe = one.add(first).unwrap();
    assert!(leads_to!(one, first), "straight to the probe");
    emit();
    assert_eq!((sums(), one.probes(), one.key().is_enabled()), ([13, 0], 1, true));
    let other = one.add(second).unwrap();
    assert!(cfg!(miri) || !leads_to!(one, first));
    emit();
    assert_eq!((sums(), one.probes()), ([26, 13], 2));
    probe.remove().unwrap();
    assert!(leads_to!(one, second), "straight to the one that is left");
    emit();
    assert_eq!((sums(), one.probes()), ([26, 26], 1));
    drop(other);
    emit();
    assert_eq!((sums(), one.probes(), one.key().is_enabled()), ([26, 26], 0, false));
    assert_eq!(evaluated.load(Ordering::Relaxed), 3);
}

/// Counts its drops.
struct Data(&'static AtomicUsize);

impl Drop for Data {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Probes with data, beside one without: they are called in the order in which they came, and each datum is dropped once.
#[test]
fn data() {
    static DROPS: AtomicUsize = AtomicUsize::new(0);
    static PLAIN: AtomicU64 = AtomicU64::new(0);
    tracepoint! { test, point(number: u64); }
    fn plain(number: u64) {
        PLAIN.fetch_add(number, Ordering::Relaxed);
    }
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let probe = |name: &'static str| {
        let (seen, data) = (Arc::clone(&seen), Data(&DROPS));
        point
            .add_closure(Arc::new(move |number| {
                let _whole = &data;
                seen.lock().unwrap().push((name, number));
            }))
            .unwrap()
    };
    let [first, second] = ["first", "second"].map(probe);
    let third = point.add(plain).unwrap();
    emit!(point, 1);
    drop(first);
    emit!(point, 2);
    drop(second);
    assert!(leads_to!(point, plain));
    emit!(point, 3);
    drop(third);
    emit!(point, 4);
    assert_eq!(*seen.lock().unwrap(), [("first", 1), ("second", 1), ("second", 2)]);
    assert_eq!(PLAIN.load(Ordering::Relaxed), 6);
    synchronize_probes().unwrap();
    assert_eq!((DROPS.load(Ordering::SeqCst), Arc::strong_count(&seen)), (2, 1));
}

/// A plain function twice, and one probe that stays for good.
#[test]
fn twice_and_for_good() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    tracepoint! { test, point(); }
    fn count() {
        CALLS.fetch_add(1, Ordering::Relaxed);
    }
    let twice = [point.add(count).unwrap(), point.add(count).unwrap()];
    emit!(point);
    assert_eq!(CALLS.load(Ordering::Relaxed), 2);
    let [stays, goes] = twice;
    std::mem::forget(stays);
    drop(goes);
    emit!(point);
    assert_eq!((CALLS.load(Ordering::Relaxed), point.probes()), (3, 1));
}

/// A key or a call may not change: the probe is not added, and its data are dropped; or it is not removed, and its data are not dropped.
#[test]
fn refused() {
    static DROPS: AtomicUsize = AtomicUsize::new(0);
    tracepoint! { test, off(); test, on(); test, call(); }
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    fn count() {
        CALLS.fetch_add(1, Ordering::Relaxed);
    }
    let closure = || {
        let data = Data(&DROPS);
        Arc::new(move || _ = &data)
    };
    off.key().seal().unwrap();
    assert_eq!(off.add(count).err(), Some(Error::Sealed));
    assert_eq!(off.add_closure(closure()).err(), Some(Error::Sealed));
    emit!(off);
    assert_eq!((off.probes(), DROPS.load(Ordering::SeqCst), CALLS.load(Ordering::Relaxed)), (0, 1, 0));

    let probe = on.add(count).unwrap();
    on.key().seal().unwrap();
    assert_eq!(probe.remove().err(), Some(Error::Sealed));
    emit!(on);
    assert_eq!((on.probes(), CALLS.load(Ordering::Relaxed)), (1, 1));
    // A change that flips nothing is not refused.
    let closure = on.add_closure(closure()).unwrap();
    emit!(on);
    closure.remove().unwrap();
    emit!(on);
    synchronize_probes().unwrap();
    assert_eq!((on.probes(), DROPS.load(Ordering::SeqCst), CALLS.load(Ordering::Relaxed)), (1, 2, 3));

    // The key could change, but the call cannot be led to the probe.
    call.call.seal().unwrap();
    assert_eq!(call.add(count).err(), Some(Error::Sealed));
    assert!(!call.key().is_enabled() && call.probes() == 0);

    let _lock = jumplabel::Lock::take().unwrap();
    assert_eq!(call.add(count).err(), Some(Error::Reentrant));
    assert_eq!(synchronize_probes(), Err(Error::Reentrant));
}

/// A probe adds and removes probes, itself too, and does not wait for itself.
#[test]
fn from_a_probe() {
    static DROPS: AtomicUsize = AtomicUsize::new(0);
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    static OWN: std::sync::Mutex<Option<jumplabel::Probe<point>>> = std::sync::Mutex::new(None);
    tracepoint! { test, point(); }
    let data = Data(&DROPS);
    let probe = move || {
        let _whole = &data;
        assert_eq!(synchronize_probes(), Err(Error::Reentrant));
        let Some(own) = OWN.lock().unwrap().take() else { return };
        CALLS.fetch_add(1, Ordering::SeqCst);
        let other = point.add(|| _ = CALLS.fetch_add(10, Ordering::SeqCst)).unwrap();
        own.remove().unwrap();
        emit!(point);
        drop(other);
        emit!(point);
        assert_eq!(DROPS.load(Ordering::SeqCst), 0, "this thread is in it");
    };
    *OWN.lock().unwrap() = Some(point.add_closure(Arc::new(probe)).unwrap());
    emit!(point);
    assert_eq!((CALLS.load(Ordering::SeqCst), point.probes(), point.key().is_enabled()), (11, 0, false));
    synchronize_probes().unwrap();
    assert_eq!(DROPS.load(Ordering::SeqCst), 1);
}

/// A panic arrives, and the thread is in no probe any more.
#[test]
fn panics() {
    tracepoint! { test, point(number: u32); }
    let probe = point.add_closure(Arc::new(|number| panic!("{number}"))).unwrap();
    let panic = std::panic::catch_unwind(|| emit!(point, 7)).unwrap_err();
    assert_eq!(panic.downcast_ref::<String>().unwrap(), "7");
    drop(probe);
    synchronize_probes().unwrap();
}

/// Code that drops data may change tracepoints, and does not wait for itself.
#[test]
fn from_a_drop() {
    tracepoint! { test, point(); test, other(); }
    static DONE: AtomicBool = AtomicBool::new(false);
    struct Changes;
    impl Drop for Changes {
        fn drop(&mut self) {
            assert_eq!(synchronize_probes(), Err(Error::Reentrant));
            drop(other.add_closure(Arc::new(|| ())).unwrap());
            DONE.store(true, Ordering::SeqCst);
        }
    }
    let data = Changes;
    drop(point.add_closure(Arc::new(move || _ = &data)).unwrap());
    synchronize_probes().unwrap();
    assert!(DONE.load(Ordering::SeqCst));
}
