//! Tracepoints in children of fork, and in signal handlers.

#![allow(clippy::redundant_closure, reason = "a scenario is found by the name of its closure")]

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use jumplabel::{Changed, Error, Probe, emit, synchronize_probes, tracepoint};
use jumplabel_testing::scenario::{Scenario, emulator, fork, passes, reap, rounds};

use crate::Data;

tracepoint! { test, point(); test, other(); }

static DROPS: AtomicUsize = AtomicUsize::new(0);
static ENTERED: AtomicUsize = AtomicUsize::new(0);
static GO: AtomicBool = AtomicBool::new(false);

fn drops() -> usize {
    DROPS.load(Ordering::SeqCst)
}

/// Stays until it is told to go.
fn slow() -> Probe<point> {
    let data = Data(&DROPS);
    let probe = move || {
        let _whole = &data;
        ENTERED.fetch_add(1, Ordering::SeqCst);
        while !GO.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
    };
    point.add_closure(Arc::new(probe)).unwrap()
}

/// Starts a thread that stays in the probe.
fn enter() -> std::thread::JoinHandle<()> {
    let before = ENTERED.load(Ordering::SeqCst);
    let thread = std::thread::spawn(|| emit!(point));
    while ENTERED.load(Ordering::SeqCst) == before {
        std::thread::yield_now();
    }
    thread
}

/// Makes some changes, each of which frees the data that can be freed.
fn change() {
    (0..4).for_each(|_| drop(other.add_closure(Arc::new(|| ())).unwrap()));
}

/// A thread is in a probe while another forks: in the child it is not there.
fn one_forks() {
    let probe = slow();
    let thread = enter();
    let mut probe = Some(probe);
    let child = fork(|| {
        probe.take().unwrap().remove().unwrap();
        synchronize_probes().unwrap();
        drops() == 1 && is_counted()
    });
    reap(child);
    probe.take().unwrap().remove().unwrap();
    change();
    assert_eq!(drops(), 0);
    GO.store(true, Ordering::SeqCst);
    thread.join().unwrap();
    synchronize_probes().unwrap();
    assert_eq!(drops(), 1);
}

/// Whether threads of this process are waited for.
fn is_counted() -> bool {
    let before = drops();
    let probe = slow();
    let thread = enter();
    probe.remove().unwrap();
    change();
    let stays = drops() == before;
    GO.store(true, Ordering::SeqCst);
    thread.join().unwrap();
    synchronize_probes().unwrap();
    stays && drops() == before + 1
}

#[test]
fn a_child_has_no_readers() {
    if emulator().is_some() {
        return; // The emulator accepts the advice to wipe, and does not wipe.
    }
    passes(|| one_forks());
}

/// If the system does not wipe the counters, the child waits for a thread that it does not have.
#[test]
#[cfg_attr(jumplabel_fallback, ignore = "the same, and slow")]
fn a_child_with_the_counters_of_its_parent_hangs() {
    if emulator().is_some() {
        return; // The same.
    }
    Scenario::new().hangs(|| {
        drop(other.add_closure(Arc::new(|| ())).unwrap());
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut range = "";
        let mut kept = 0;
        for line in maps.lines() {
            let first = line.split_whitespace().next().unwrap();
            if first == "VmFlags:" && line.split_whitespace().any(|flag| flag == "wf") {
                let ends = range.split_once('-').unwrap();
                let [start, end] = [ends.0, ends.1].map(|end| usize::from_str_radix(end, 16).unwrap());
                // SAFETY: pages of the library, which stay as they are.
                kept += unsafe { libc::madvise(start as *mut _, end - start, libc::MADV_KEEPONFORK) } + 1;
            } else if first.contains('-') {
                range = first;
            }
        }
        assert!(kept > 0, "no page is wiped");
        one_forks();
    });
}

/// A probe forks. In the child, the probe's data stay as long as the thread is in it, whoever changes lists there.
#[test]
fn data_stay_in_a_probe_that_forks() {
    passes(|| {
        static PROBE: Mutex<Option<Probe<point>>> = Mutex::new(None);
        static CHILD: AtomicUsize = AtomicUsize::new(usize::MAX);
        static KEPT: AtomicBool = AtomicBool::new(false);
        let data = Data(&DROPS);
        let probe = move || {
            let _whole = &data;
            // SAFETY: the child goes on as the parent does.
            let child = unsafe { libc::fork() };
            CHILD.store(child as usize, Ordering::SeqCst);
            if child == 0 {
                PROBE.lock().unwrap().take().unwrap().remove().unwrap();
                change();
                // Without sites, the library does not hear of forks.
                if cfg!(jumplabel_sites) {
                    std::thread::spawn(change).join().unwrap();
                }
                KEPT.store(drops() == 0, Ordering::SeqCst);
            }
        };
        *PROBE.lock().unwrap() = Some(point.add_closure(Arc::new(probe)).unwrap());
        emit!(point);
        match CHILD.load(Ordering::SeqCst) {
            0 => {
                let mut is_well = KEPT.load(Ordering::SeqCst);
                synchronize_probes().unwrap();
                is_well &= drops() == 1 && is_counted();
                // SAFETY: the end of the child.
                unsafe { libc::_exit(i32::from(!is_well)) }
            }
            child => reap(child as i32),
        }
    });
}

/// A probe forks: the thread of the child leaves it as one that was never counted there.
#[test]
fn a_probe_forks() {
    passes(|| {
        static CHILD: AtomicUsize = AtomicUsize::new(usize::MAX);
        let probe = move || {
            // SAFETY: the child goes on as the parent does.
            let child = unsafe { libc::fork() };
            CHILD.store(child as usize, Ordering::SeqCst);
            assert_eq!(synchronize_probes(), Err(Error::Reentrant));
        };
        let probe = other.add_closure(Arc::new(probe)).unwrap();
        emit!(other);
        probe.remove().unwrap();
        synchronize_probes().unwrap();
        let is_well = is_counted();
        match CHILD.load(Ordering::SeqCst) {
            // SAFETY: the end of the child.
            0 => unsafe { libc::_exit(i32::from(!is_well)) },
            child => reap(child as i32),
        }
        assert!(is_well);
    });
}

/// A handler emits, while this thread emits, and while it adds and removes probes.
#[test]
fn from_a_handler() {
    passes(|| {
        static HANDLED: AtomicUsize = AtomicUsize::new(0);
        extern "C" fn handler(_: i32) {
            HANDLED.fetch_add(1, Ordering::SeqCst);
            emit!(other);
        }
        let timer = |pause| {
            let pause = libc::timeval { tv_sec: 0, tv_usec: pause };
            let timer = libc::itimerval { it_interval: pause, it_value: pause };
            // SAFETY: the handler does only what handlers may, and the timer is for it.
            unsafe {
                libc::signal(libc::SIGALRM, handler as *const () as usize);
                assert_eq!(libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut()), 0);
            }
        };
        timer(300);
        let mut added = 0;
        for round in 0..rounds(3_000) {
            let probes = [(); 3].map(|()| {
                added += 1;
                let data = Data(&DROPS);
                other.add_closure(Arc::new(move || _ = &data)).unwrap()
            });
            emit!(other);
            drop(probes);
            if round % 64 == 0 {
                synchronize_probes().unwrap();
            }
        }
        timer(0);
        synchronize_probes().unwrap();
        assert_eq!((drops(), other.probes()), (added, 0));
        assert!(HANDLED.load(Ordering::SeqCst) > 0);
    });
}

/// The drop of a probe's data may panic. The panic reaches whoever frees the data. All other data are dropped, and no probe stays that nobody can
/// remove. Functions hear of the flip.
#[test]
fn drops_that_panic() {
    static HEARD: Mutex<Vec<bool>> = Mutex::new(Vec::new());
    passes(|| {
        struct Panics;
        impl Drop for Panics {
            fn drop(&mut self) {
                DROPS.fetch_add(1, Ordering::SeqCst);
                panic!("dropped");
            }
        }
        let panics = || {
            let data = Panics;
            other.add_closure(Arc::new(move || _ = &data)).unwrap()
        };
        let held = Mutex::new(vec![panics(), panics(), panics()]);
        // Nothing is freed while the thread is in a probe.
        let probe = point.add_closure(Arc::new(move || held.lock().unwrap().drain(..).for_each(drop))).unwrap();
        emit!(point);
        assert_eq!((drops(), other.probes()), (0, 0));
        jumplabel::on_change(&|changed, _| {
            let Changed::Key { on, .. } = changed else { unreachable!() };
            HEARD.lock().unwrap().push(*on);
        })
        .unwrap();
        let added = std::panic::catch_unwind(|| other.add_closure(Arc::new(|| ())).map(std::mem::forget));
        assert!(added.is_err());
        assert_eq!((drops(), other.probes()), (3, 0));
        assert_eq!(*HEARD.lock().unwrap(), [true, false]);
        drop(probe);
        synchronize_probes().unwrap();
    });
}
