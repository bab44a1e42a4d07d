//! Flips and rendezvous. Threads stand for CPUs.

mod alias_writer;
mod cpus;
mod threads;

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use core::time::Duration;
use std::thread::{scope, yield_now};
use std::vec::Vec;

use jumplabel::platform::Platform;
use jumplabel::{Error, Refusal};

use crate::lock::Lock;
use crate::rendezvous::Rendezvous;
use crate::{Bounds, Kernel, TIMED_OUT};
use threads::{CPU, OFF, Threads};

/// While one CPU has stopped the others, the others do nothing. Each of them serialises when it stops, after each step, and when it goes on.
#[test]
fn all_stand_still() {
    let machine = &Threads::new(Duration::from_secs(60));
    let rendezvous = &Rendezvous::<3>::new();
    let (work, done) = (&AtomicU32::new(0), &AtomicBool::new(false));
    (0..3).for_each(|cpu| rendezvous.set_online(cpu, true));
    scope(|scope| {
        for cpu in [1, 2] {
            scope.spawn(move || {
                CPU.set(cpu);
                while !done.load(SeqCst) {
                    rendezvous.answer(machine);
                    work.fetch_add(1, SeqCst);
                }
            });
        }
        for round in 1..=20 {
            rendezvous.stop(machine).unwrap();
            assert_eq!(machine.counts(), [round - 1, 3 * round - 2, 3 * round - 2]);
            let before = work.load(SeqCst);
            (0..5).for_each(|_| yield_now());
            rendezvous.serialise(machine).unwrap();
            assert_eq!(machine.counts(), [round, 3 * round - 1, 3 * round - 1]);
            (0..5).for_each(|_| yield_now());
            assert_eq!(work.load(SeqCst), before);
            rendezvous.go(machine).unwrap();
            assert_eq!(machine.counts(), [round, 3 * round, 3 * round]);
        }
        done.store(true, SeqCst);
    });
    assert_eq!(machine.interrupts.load(SeqCst), 20 * 3 * 2);
    assert_eq!(rendezvous.late(), None);
}

/// The CPU that flips relaxes in each turn of its wait for the other one. A CPU that waits for the lock relaxes, too.
#[test]
fn who_waits_relaxes() {
    let machine = &Threads::new(Duration::from_secs(60));
    let (rendezvous, lock) = (&Rendezvous::<2>::new(), &Lock::new());
    (0..2).for_each(|cpu| rendezvous.set_online(cpu, true));
    scope(|scope| {
        scope.spawn(|| {
            CPU.set(1);
            while machine.relaxed.load(SeqCst) < 10 && rendezvous.late().is_none() {
                yield_now();
            }
            rendezvous.answer(machine);
        });
        let stopped = rendezvous.stop(machine);
        assert_eq!(stopped.and_then(|()| rendezvous.go(machine)), Ok(()));
    });
    let (turns, before) = (AtomicU32::new(0), machine.relaxed.load(SeqCst));
    let token = lock.take(machine, 3, || unreachable!()).unwrap();
    scope(|scope| {
        scope.spawn(|| {
            CPU.set(1);
            let token = lock.take(machine, 3, || _ = turns.fetch_add(1, SeqCst)).unwrap();
            lock.release(token, machine);
        });
        while turns.load(SeqCst) < 10 {
            yield_now();
        }
        lock.release(token, machine);
    });
    assert_eq!(machine.relaxed.load(SeqCst) - before, turns.load(SeqCst));
}

/// If a CPU does not answer in time, `late` names it, and the others go on. If that CPU answers later, the answer has no effect.
#[test]
fn one_is_late() {
    let machine = &Threads::new(Duration::from_millis(20));
    let rendezvous = &Rendezvous::<3>::new();
    rendezvous.set_online(0, true);
    rendezvous.set_online(2, true);
    assert_eq!(rendezvous.stop(machine), Err(Refusal::errno(TIMED_OUT)));
    assert_eq!(rendezvous.late(), Some(2));
    CPU.set(2);
    rendezvous.answer(machine); // This comes late, and does not stop the CPU.
    assert_eq!(machine.counts(), [0; 3]);
    CPU.set(0);
    assert_eq!(rendezvous.stop(machine), Err(Refusal::errno(TIMED_OUT)));
    rendezvous.set_online(2, false);
    assert_eq!(rendezvous.stop(machine), Ok(()));
    CPU.set(2);
    rendezvous.answer(machine); // This CPU is offline, so nobody waits for its answer.
    assert_eq!(machine.counts(), [0; 3]);
    CPU.set(0);
    assert_eq!(rendezvous.go(machine), Ok(()));
}

/// One CPU at a time has the lock. If that CPU asks for the lock again, it gets an error. The other CPUs wait, and call `answer` meanwhile.
#[test]
fn lock() {
    let machine = &Threads::new(Duration::ZERO);
    let (lock, answers, inside) = (&Lock::new(), &AtomicU32::new(0), &AtomicU32::new(0));
    let token = lock.take(machine, 3, || unreachable!()).unwrap();
    assert_eq!(token, [7, 0]);
    assert_eq!(lock.take(machine, 3, || unreachable!()), Err(Error::Reentrant));
    assert!(OFF.get() == 1 && lock.is_of(0) && !lock.is_of(1));
    scope(|scope| {
        let others: Vec<_> = [1, 2]
            .map(|cpu| {
                scope.spawn(move || {
                    CPU.set(cpu);
                    let token = lock.take(machine, 3, || _ = answers.fetch_add(1, SeqCst)).unwrap();
                    assert!(inside.fetch_add(1, SeqCst) == 1 && OFF.get() == 1);
                    yield_now();
                    inside.fetch_sub(1, SeqCst);
                    lock.release(token, machine);
                })
            })
            .into_iter()
            .collect();
        inside.fetch_add(1, SeqCst);
        while answers.load(SeqCst) < 100 {
            yield_now();
        }
        lock.release(token, machine);
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}

/// If `end` is called when a flip already has its writer, the flip still stops the other CPUs before it writes.
#[test]
fn the_end_in_the_middle() {
    static KERNEL: Kernel<Threads, 3, 1> = Kernel::new(Threads {
        patience: Duration::from_millis(20),
        serialised: [const { AtomicU32::new(0) }; 3],
        interrupts: AtomicU32::new(0),
        relaxed: AtomicU32::new(0),
        // This machine calls `answer` on the CPU that flips, while that CPU interrupts another one. There, `answer` must do nothing.
        while_interrupting: || KERNEL.answer(),
        refused: 0,
        wrong: None,
        mapped: AtomicU32::new(0),
    });
    for cpu in [1, 0] {
        CPU.set(cpu);
        KERNEL.come(cpu);
    }
    assert_eq!(KERNEL.machine().counts(), [1, 1, 0]);
    let token = KERNEL.lock().unwrap();
    for is_ended in [false, true] {
        if is_ended {
            KERNEL.end();
        }
        let mut has_written = false;
        assert_eq!(KERNEL.stopped(|| has_written = true), Err(Refusal::errno(TIMED_OUT)), "the end: {is_ended}");
        assert!(!has_written && KERNEL.late() == Some(1));
    }
    // SAFETY: the token comes from `lock` above.
    unsafe { KERNEL.unlock(token) };
}

/// A module is known from `load` to `unload`. An object without bounds blocks all flips until it is unloaded.
#[test]
fn modules() {
    static KERNEL: Kernel<Threads, 3, 1> = Kernel::new(Threads {
        patience: Duration::ZERO,
        refused: 0,
        wrong: None,
        serialised: [const { AtomicU32::new(0) }; 3],
        interrupts: AtomicU32::new(0),
        relaxed: AtomicU32::new(0),
        while_interrupting: || (),
        mapped: AtomicU32::new(0),
    });
    // These records have empty sections: both bounds of a section lead to the same address.
    let bounds = 8 | 4 << 32;
    let records = [[0, 0, 0, 0, 0, 0, 0, bounds, bounds, bounds, 0_u64]; 3];
    let [module, second, stranger] = records.each_ref().map(|record| record.as_ptr() as usize);
    let bounds = |record: usize| Bounds { code: record..record + 8, all: record..record + size_of_val(&records[0]) };
    // SAFETY: no site is in these modules, and only this thread loads and unloads.
    unsafe { assert!(KERNEL.load(&bounds(module)) && KERNEL.load(&bounds(second))) };
    let places = [module, second].map(|record| KERNEL.place(record));
    assert_eq!(places.map(|place| (place.words, place.in_program)), [([0, 2, 0], false), ([0, 3, 0], false)]);
    // SAFETY: `place` has returned these words, or they are those of no place at all.
    let image = |words| unsafe { KERNEL.image(words) }.map(|image| image.bounds());
    assert_eq!(image(places[1].words), Some(bounds(second).all));
    assert_eq!(image([0; 3]), None);

    let token = KERNEL.lock().unwrap();
    // SAFETY: the token comes from `lock` above.
    unsafe { KERNEL.unlock(token) };
    assert_eq!(image(KERNEL.place(stranger).words), None);
    assert_eq!(KERNEL.lock(), Err(Error::NoBounds { object: stranger }));
    // SAFETY: no site is in that module, and only this thread loads and unloads.
    unsafe { KERNEL.unload(&bounds(module)) };
    assert_eq!(KERNEL.lock(), Err(Error::NoBounds { object: stranger }));
    // A second object without bounds is unloaded while the first one is still there.
    let other = [0_u64; 11];
    let other = other.as_ptr() as usize;
    KERNEL.place(other);
    // SAFETY: no site is in that module, and only this thread loads and unloads.
    unsafe { KERNEL.unload(&bounds(other)) };
    assert_eq!(KERNEL.lock(), Err(Error::NoBounds { object: stranger }));
    // The slot of the first module is used again, a second `load` at the same address is refused, and the object without bounds is unloaded.
    // SAFETY: no site is in that module, and only this thread loads and unloads.
    unsafe {
        assert!(KERNEL.load(&bounds(stranger)) && !KERNEL.load(&bounds(stranger)));
        assert_eq!(KERNEL.place(stranger).words, [0, 2, 0]);
        KERNEL.unload(&bounds(stranger));
    }
    let token = KERNEL.lock().unwrap();
    // SAFETY: the token comes from `lock` above.
    unsafe { KERNEL.unlock(token) };
    // SAFETY: no site is in these modules, and only this thread loads and unloads.
    unsafe { KERNEL.load(&bounds(module)) };
    // A linker gives such bounds, all 0, to sections that do not exist.
    let lost = [0_u64; 11];
    // SAFETY: no site is in that module, and only this thread loads and unloads.
    unsafe { KERNEL.load(&bounds(lost.as_ptr() as usize)) };
    KERNEL.place(lost.as_ptr() as usize);
    assert_eq!(KERNEL.lock(), Err(Error::NoBounds { object: lost.as_ptr() as usize }));
    // SAFETY: only this thread loads and unloads, and nobody reads memory at these addresses.
    let loaded = (0..).take_while(|at| unsafe { KERNEL.load(&bounds(0x1000 * (at + 1))) }).count();
    assert_eq!(loaded, 13);
    // There are more objects without bounds than are remembered, so no flip is possible any more, even after all of them are unloaded.
    let strangers = [[0_u64; 11]; 5];
    let strangers = strangers.each_ref().map(|record| record.as_ptr() as usize);
    strangers.iter().for_each(|&record| _ = KERNEL.place(record));
    // SAFETY: no site is in that module, and only this thread loads and unloads.
    unsafe { strangers.iter().chain([&(lost.as_ptr() as usize)]).for_each(|&record| KERNEL.unload(&bounds(record))) };
    assert_eq!(KERNEL.lock(), Err(Error::NoBounds { object: usize::MAX }));

    // The boot CPU is alone until other CPUs come. After the end, the CPUs that came before are still there.
    assert!(KERNEL.is_early());
    KERNEL.end();
    assert!(!KERNEL.is_early());
}
