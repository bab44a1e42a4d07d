//! Calls by running threads, while the call is updated.

use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use jumplabel_testing::call_sites::code;
use jumplabel_testing::scenario::{fork, passes, rounds, wait_for};

use super::{Function, HOOK, sites, targets, trampoline};

/// The results that callers may get: `number << 16 | before << 8 | after`.
static PROMISE: AtomicU64 = AtomicU64::new(0x0101);

/// Calls through all sites until told to stop. Every result is one that was promised.
fn call_on(stop: &AtomicBool) -> u64 {
    let mut calls = 0;
    while !stop.load(Ordering::Relaxed) {
        for site in sites() {
            let before = PROMISE.load(Ordering::SeqCst);
            let result = (site.function)(0);
            let after = PROMISE.load(Ordering::SeqCst);
            let legal = [before & 0xff, before >> 8 & 0xff];
            assert!(before != after || legal.contains(&result), "{result} while {before:#x} was promised");
            calls += 1;
        }
    }
    calls
}

/// 10,000 updates, or JUMPLABEL_UPDATES, while two threads call, among targets whose displacements differ in one byte and in all four.
#[test]
fn many_updates_under_running_threads() {
    passes(|| {
        let updates =
            std::env::var("JUMPLABEL_UPDATES").map_or(rounds(10_000) as u64, |number| number.parse().unwrap());
        let near = targets();
        let add = |number| [0x48, 0x8d, 0x47, number, 0xc3];
        // Some 30 MiB off, and in the next line of the cache.
        let base = code(trampoline() - (30 << 20), 4096, |bytes| {
            bytes[..5].copy_from_slice(&add(4));
            bytes[64..69].copy_from_slice(&add(5));
        });
        // SAFETY: the code above.
        let [four, five] = [0, 64].map(|at| unsafe { std::mem::transmute::<usize, Function>(base + at) });
        let targets = [near[0], (4, four), (5, five), near[1], near[2]];
        sites();
        let stop = AtomicBool::new(false);
        let calls: u64 = std::thread::scope(|scope| {
            let callers: Vec<_> = (0..2).map(|_| scope.spawn(|| call_on(&stop))).collect();
            let mut now = targets[0];
            for number in 1..=updates {
                let next = targets[(number * 7 / 3 % 5) as usize];
                PROMISE.store(number << 16 | now.0 << 8 | next.0, Ordering::SeqCst);
                HOOK.update(next.1).unwrap();
                PROMISE.store(number << 16 | next.0 << 8 | next.0, Ordering::SeqCst);
                now = next;
            }
            stop.store(true, Ordering::Relaxed);
            callers.into_iter().map(|caller| caller.join().unwrap()).sum()
        });
        println!("{updates} updates, {calls} calls");
        assert!(calls > 0);
    });
}

/// Stores the displacements of two functions in turn into one instruction, by single stores, while another thread executes it, for this time.
/// Returns how the process ends: a displacement that is half the one and half the other leads to a trap.
fn store_at(offset_in_line: usize, time: Duration) -> std::process::ExitStatus {
    const BYTES: usize = 4096;
    let trap = |bytes: &mut [u8]| bytes.fill(0xcc);
    let function = |bytes: &mut [u8], at: usize| bytes[at] = 0xc3;
    let [first, second] = [(30 << 20, 0x11), (61 << 20, 0xe22)].map(|(distance, at)| {
        let page = code(trampoline() - distance, BYTES, |bytes| {
            trap(bytes);
            function(bytes, at);
        });
        page + at
    });
    let place = 64 + offset_in_line;
    let page = code(trampoline(), BYTES, |bytes| {
        trap(bytes);
        bytes[place - 1] = 0xe9;
        let distance = first as isize - (bytes.as_ptr() as isize + place as isize + 4);
        bytes[place..place + 4].copy_from_slice(&(distance as i32).to_le_bytes());
    });
    let site = page + place;
    let distances = [first, second].map(|target| (target as isize - (site + 4) as isize) as i32);
    wait_for(fork(|| {
        let start = Instant::now();
        // SAFETY: the code above, which is stored to while it runs: that is the question.
        unsafe {
            assert_eq!(libc::mprotect(page as *mut _, BYTES, libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC), 0);
            let function = std::mem::transmute::<usize, extern "C" fn()>(site - 1);
            std::thread::spawn(move || {
                loop {
                    function();
                }
            });
            while start.elapsed() < time {
                for distance in distances.into_iter().cycle().take(10_000) {
                    std::arch::asm!("mov dword ptr [{}], {:e}", in(reg) site, in(reg) distance, options(nostack));
                }
            }
        }
        true
    }))
}

/// In eight aligned bytes, each thread sees a displacement old or new, wherever in a line of the cache they are.
#[test]
fn one_store_in_eight_bytes() {
    passes(|| {
        for offset in [0, 4, 12, 17, 26, 28, 34, 43, 57, 60] {
            let status = store_at(offset, Duration::from_millis(200));
            assert!(status.signal().is_none(), "at {offset}: {status}");
        }
    });
}

/// A store across two cache lines is torn. One across two halves of a line depends on the processor. That is why such calls stay on the trampoline.
#[test]
fn broken_twin_stores_across_lines() {
    passes(|| {
        let (start, before) = (Instant::now(), time_of_children());
        let status = store_at(62, Duration::from_secs(30));
        // One store is torn only for a thread on another processor. Threads that had the time of one and a half processors ran at once.
        if status.success() && (time_of_children() - before).as_secs_f64() < 1.5 * start.elapsed().as_secs_f64() {
            return println!("not shown: the threads hardly ran at once");
        }
        println!("found out: {status}; across two halves: {}", store_at(30, Duration::from_secs(1)));
        assert!(status.signal().is_some(), "not found out: {status}");
    });
}

/// The processor time of children that have ended.
fn time_of_children() -> Duration {
    // SAFETY: plain numbers, which outlive the call.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage), 0);
        usage
    };
    let duration = |time: libc::timeval| Duration::new(time.tv_sec as u64, 1000 * time.tv_usec as u32);
    duration(usage.ru_utime) + duration(usage.ru_stime)
}
