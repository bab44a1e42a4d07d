//! Removal: from when on a function is not called any more.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};

use jumplabel::{Changed, Error, OnChange, on_change, static_key};

use crate::alone;

/// A function that removes itself in its call: this does not wait, and counts the call.
#[test]
fn in_its_own_call() {
    static_key! { static KEY: false; }
    static ITSELF: Mutex<Option<OnChange>> = Mutex::new(None);
    static RUNNING: AtomicUsize = AtomicUsize::new(0);
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let _turn = alone();
    let itself = KEY
        .on_change(&|_, _| {
            CALLS.fetch_add(1, Ordering::Relaxed);
            let itself = ITSELF.lock().unwrap().take().unwrap();
            RUNNING.store(itself.remove(), Ordering::Relaxed);
        })
        .unwrap();
    *ITSELF.lock().unwrap() = Some(itself);
    KEY.enable().unwrap();
    KEY.disable().unwrap();
    assert_eq!((CALLS.load(Ordering::Relaxed), RUNNING.load(Ordering::Relaxed)), (1, 1));
    assert_eq!((itself.remove(), itself.remove()), (0, 0));
}

/// The number of calls that run says when the function's data may be freed.
#[test]
fn while_it_runs() {
    static_key! { static KEY: false; }
    static ARRIVED: Barrier = Barrier::new(2);
    static LEAVE: Barrier = Barrier::new(2);
    static IS_FREED: AtomicBool = AtomicBool::new(false);
    static USED_FREED: AtomicBool = AtomicBool::new(false);
    let _turn = alone();
    let waits = KEY
        .on_change(&|_, _| {
            ARRIVED.wait();
            LEAVE.wait();
            USED_FREED.fetch_or(IS_FREED.load(Ordering::SeqCst), Ordering::SeqCst);
        })
        .unwrap();
    let flips = std::thread::spawn(|| KEY.enable().unwrap());
    ARRIVED.wait();
    assert_eq!((waits.remove(), waits.remove()), (1, 1));
    // Nobody calls it any more: else this waited for the barrier.
    KEY.disable().unwrap();
    // No other function gets the place of this one while its call runs.
    let other = on_change(&|_, _| ()).unwrap();
    assert_eq!((other.remove(), waits.remove()), (0, 1));
    LEAVE.wait();
    while waits.remove() > 0 {
        std::thread::yield_now();
    }
    IS_FREED.store(true, Ordering::SeqCst);
    flips.join().unwrap();
    assert!(!USED_FREED.load(Ordering::SeqCst));
}

/// A function that is registered twice is called twice. A full table refuses. A place that was freed has another number.
#[test]
fn places() {
    static_key! { static KEY: false; }
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let _turn = alone();
    let count = &|_: &Changed<'_>, _| _ = CALLS.fetch_add(1, Ordering::Relaxed);
    let all: Vec<_> = (0..64).map(|_| KEY.on_change(count).unwrap()).collect();
    assert_eq!(KEY.on_change(count), Err(Error::OutOfMemory));
    KEY.enable().unwrap();
    assert_eq!(CALLS.swap(0, Ordering::Relaxed), 64);
    assert_eq!(all[5].remove(), 0);
    let again = KEY.on_change(count).unwrap();
    assert!(all.iter().all(|one| *one != again));
    assert_eq!(KEY.on_change(count), Err(Error::OutOfMemory));
    // The old registration is over: it does not remove the new one.
    assert_eq!(all[5].remove(), 0);
    KEY.disable().unwrap();
    assert_eq!(CALLS.swap(0, Ordering::Relaxed), 64);
    assert!(all.iter().chain([&again]).all(|one| one.remove() == 0));
    KEY.enable().unwrap();
    assert_eq!(CALLS.load(Ordering::Relaxed), 0);
}

/// Threads register, flip and remove beside each other. Whoever frees the data when no call runs has freed them in time.
#[test]
fn beside_each_other() {
    static_key! { static KEYS: [false; 2]; }
    const ROUNDS: usize = if cfg!(miri) { 5 } else { 300 };
    let _turn = alone();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for key in &KEYS {
            let stop = &stop;
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    key.enable().unwrap();
                    key.disable().unwrap();
                    std::thread::yield_now();
                }
            });
        }
        for _ in 0..ROUNDS {
            // Only a test: a reference that ends when the function is removed, and not with the program.
            let is_there = Box::into_raw(Box::new(AtomicBool::new(true)));
            unsafe extern "C" fn look(_: *const jumplabel::platform::RawChanged, data: *mut std::ffi::c_void) {
                // SAFETY: the box is there until `remove_raw` has returned 0.
                assert!(unsafe { &*data.cast::<AtomicBool>() }.load(Ordering::Relaxed));
            }
            // SAFETY: as above.
            let id = unsafe { jumplabel::on_change_raw(0, look, is_there.cast()) }.unwrap();
            std::thread::yield_now();
            while jumplabel::remove_raw(id) > 0 {
                std::thread::yield_now();
            }
            // SAFETY: no call runs, and none begins.
            unsafe {
                (*is_there).store(false, Ordering::Relaxed);
                drop(Box::from_raw(is_there));
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}
