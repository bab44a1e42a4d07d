//! Tests that the data of a probe is dropped neither too early nor too late.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;

use super::readers::FREES_AT_ONCE;

crate::tracepoint! { test, point(); }

/// Returns true if data is dropped while a thread is in the probe that uses the data.
fn drops_too_early() -> bool {
    static DROPS: AtomicUsize = AtomicUsize::new(0);
    struct Data;
    impl Drop for Data {
        fn drop(&mut self) {
            DROPS.fetch_add(1, Ordering::SeqCst);
        }
    }
    let before = DROPS.load(Ordering::SeqCst);
    let (data, (entered, enters)) = (Data, channel());
    let entered = std::sync::Mutex::new(entered);
    // If lists are freed at once (`FREES_AT_ONCE`), the closure is dropped while it runs. The closure uses `GO` after that, so `GO` is a static, and
    // not a part of the closure.
    static GO: AtomicBool = AtomicBool::new(false);
    GO.store(false, Ordering::SeqCst);
    let closure = move || {
        let _whole = &data;
        entered.lock().unwrap().send(()).unwrap();
        while !GO.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
    };
    let probe = point.add_closure(Arc::new(closure)).unwrap();
    let emitter = std::thread::spawn(|| crate::emit!(point));
    enters.recv().unwrap();
    probe.remove().unwrap();
    // Each of these changes frees the retired lists that can be freed.
    (0..4).for_each(|_| drop(point.add_closure(Arc::new(|| ())).unwrap()));
    let early = DROPS.load(Ordering::SeqCst) != before;
    GO.store(true, Ordering::SeqCst);
    emitter.join().unwrap();
    crate::synchronize_probes().unwrap();
    assert_eq!(DROPS.load(Ordering::SeqCst), before + 1);
    early
}

/// A copy that does not become the list may be the last one that holds a closure. While a thread drops such a copy, it counts as a reader: a call of
/// `synchronize_probes` in the closure's drop is refused.
#[test]
fn what_drops_a_copy_is_counted() {
    crate::tracepoint! { test, changed(); }
    static SAID: std::sync::Mutex<std::vec::Vec<Result<(), crate::Error>>> =
        std::sync::Mutex::new(std::vec::Vec::new());
    struct Data;
    impl Drop for Data {
        fn drop(&mut self) {
            SAID.lock().unwrap().push(crate::synchronize_probes());
        }
    }
    let data = std::cell::RefCell::new(Some(Data));
    let edit = |probes: &mut std::vec::Vec<super::Entry<changed>>| {
        let Some(data) = data.take() else { return };
        probes.push(super::Entry { id: u64::MAX, closure: Arc::new(move || _ = &data), function: None });
        std::mem::forget(changed.add(|| ()).unwrap());
    };
    changed.change(&edit).unwrap();
    assert_eq!((&SAID.lock().unwrap()[..], changed.probes()), (&[Err(crate::Error::Reentrant)][..], 1));
}

/// `drops_too_early` returns true for the wrong version of the module, which frees lists at once.
#[test]
#[cfg_attr(miri, ignore = "it finds the twin by itself")]
fn data_stay_while_a_thread_is_in_them() {
    assert!(!drops_too_early());
    FREES_AT_ONCE.store(true, Ordering::SeqCst);
    assert!(drops_too_early());
    FREES_AT_ONCE.store(false, Ordering::SeqCst);
}
