//! Probes that come and go while other threads emit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use jumplabel::{emit, synchronize_probes, tracepoint};

/// Threads add and remove closures while others emit: no probe finds its data dropped, and each datum is dropped once.
#[test]
fn under_running_threads() {
    const ALIVE: u64 = 0x5eed_a11e_c0de_cafe;
    const ROUNDS: usize = if cfg!(miri) { 30 } else { 3_000 };
    static STOP: AtomicBool = AtomicBool::new(false);
    static DROPS: AtomicUsize = AtomicUsize::new(0);
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    tracepoint! { test, point(argument: &u64); }
    struct Canary(Box<AtomicU64>);
    impl Drop for Canary {
        fn drop(&mut self) {
            assert_eq!(self.0.swap(0, Ordering::SeqCst), ALIVE);
            DROPS.fetch_add(1, Ordering::SeqCst);
        }
    }
    fn plain(argument: &u64) {
        assert_eq!(*argument, 7);
    }
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !STOP.load(Ordering::Relaxed) {
                    emit!(point, &7);
                }
            });
        }
        let changers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut held = Vec::new();
                    for round in 0..ROUNDS {
                        let canary = Canary(Box::new(AtomicU64::new(ALIVE)));
                        let closure = move |argument: &u64| {
                            for _ in 0..3 {
                                assert_eq!(canary.0.load(Ordering::SeqCst), ALIVE);
                                std::thread::yield_now();
                            }
                            plain(argument);
                            CALLS.fetch_add(1, Ordering::Relaxed);
                        };
                        held.push(point.add_closure(Arc::new(closure)).unwrap());
                        if round % 3 == 0 {
                            held.push(point.add(plain).unwrap());
                        }
                        match round % 7 {
                            0 => held.clear(),
                            1 if round % 5 == 0 => synchronize_probes().unwrap(),
                            _ => held.swap_remove(round % held.len()).remove().map(drop).unwrap(),
                        }
                    }
                })
            })
            .collect();
        let results: Vec<_> = changers.into_iter().map(|changer| changer.join()).collect();
        STOP.store(true, Ordering::Relaxed);
        results.into_iter().for_each(|result| result.unwrap());
    });
    synchronize_probes().unwrap();
    assert_eq!((DROPS.load(Ordering::SeqCst), point.probes()), (2 * ROUNDS, 0));
    println!("{} calls of closures", CALLS.load(Ordering::Relaxed));
}
