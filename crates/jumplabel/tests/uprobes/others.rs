//! Patch points that are no checks.

use jumplabel::{Error, for_each_site, modes, naked_key, static_mode, static_switch};
use jumplabel_testing::scenario::passes;

use super::PREFIX;
use super::probe::{self, Probe, bytes};

modes! { enum Way { Walk, Ride, Fly } }
static_mode! { static WAY: Way = Ride; }

fn way() -> Way {
    static_switch!(WAY, { Walk => Way::Walk, Ride => Way::Ride, Fly => Way::Fly })
}

/// A switch has the prefix, too.
#[test]
fn on_a_switch() {
    passes(|| {
        let mut site = 0;
        jumplabel::for_each_mode_site(WAY.raw(), |found| site = found.address).unwrap();
        for (&by, case) in probe::all().iter().flat_map(|by| (0..4).map(move |case| (by, case))) {
            let [hit, changes] = [1, 2].map(|bit| case & bit != 0);
            WAY.set(Way::Fly).unwrap();
            let probe = Probe::set(by, site - 1).unwrap();
            if changes {
                WAY.set(Way::Walk).unwrap();
            }
            // The jump of the file.
            assert!(!hit || probe.hit(way).iter().all(|&way| way == Way::Ride));
            drop(probe);
            assert_eq!(
                (bytes(site - 1), way()),
                ([PREFIX], if changes { Way::Walk } else { Way::Fly }),
                "{by:?} {case:02b}"
            );
        }
    });
}

naked_key! { static NAKED: false; }

/// The function of a naked key begins with a byte that no flip changes. A flip is refused while the probe is there.
#[test]
fn on_a_naked_function() {
    passes(|| {
        let mut site = 0;
        for_each_site(&NAKED, |found| site = found.address).unwrap();
        for (&by, case) in probe::all().iter().flat_map(|by| (0..4).map(move |case| (by, case))) {
            let [on, hit] = [1, 2].map(|bit| case & bit != 0);
            if on {
                NAKED.enable().unwrap()
            } else {
                NAKED.disable().unwrap()
            };
            let probe = Probe::set(by, site).unwrap();
            assert!(!hit || probe.hit(|| NAKED.get()).iter().all(|&on| !on));
            let refused = if on { NAKED.disable() } else { NAKED.enable() };
            assert!(matches!(refused, Err(Error::ForeignBytes { address, .. }) if address == site), "{refused:?}");
            drop(probe);
            assert_eq!(NAKED.get(), on, "{by:?} {case:02b}");
        }
    });
}

#[cfg(jumplabel_trampolines)]
mod calls {
    use super::*;

    jumplabel::static_call! { static CALL: extern "C" fn(u32) -> u32 = first; }

    extern "C" fn first(x: u32) -> u32 {
        x
    }
    extern "C" fn second(x: u32) -> u32 {
        x + 1
    }

    /// A trampoline begins with an instruction that no update changes; on i686 with a jump, whatever its target.
    #[test]
    fn on_a_trampoline() {
        passes(|| {
            let trampoline = *CALL as *const () as usize;
            for (&by, hit) in probe::all().iter().flat_map(|by| [false, true].map(|hit| (by, hit))) {
                CALL.update(first).unwrap();
                let probe = Probe::set(by, trampoline).unwrap();
                let updated = CALL.update(second);
                let leads_to = if cfg!(target_arch = "x86") {
                    assert!(matches!(updated, Err(Error::ForeignBytes { .. })), "{updated:?}");
                    0
                } else {
                    updated.unwrap();
                    1
                };
                assert!(!hit || probe.hit(|| CALL(1)).iter().all(|&found| found == 1 + leads_to));
                drop(probe);
                assert_eq!(CALL(1), 1 + leads_to, "{by:?} {hit}");
            }
        });
    }
}

#[cfg(target_arch = "x86_64")]
mod in_place {
    use jumplabel::{Refusal, alternative, alternatives, for_each_mode_site, ops};
    use jumplabel_testing::scenario::{fork, reap};

    use super::super::moving::succeeds;
    use super::super::probe::By;
    use super::*;

    ops! {
        static NUMBERS: Numbers = { Add, Less };

        fn change(inout number: u64, by: u64) -> u64 {
            Add => add, x86_64 unsafe { "{{disp32}} lea {number}, [{number} + {by} + 0]" };
            Less => less, x86_64 unsafe { "sub {number}, {by}" };
        }
    }

    extern "C" fn add(number: u64, by: u64) -> u64 {
        number + by
    }
    extern "C" fn less(number: u64, by: u64) -> u64 {
        number - by
    }

    fn changed() -> u64 {
        change(9, 2)
    }

    /// The kernel refuses a probe on an operation in place, because of the operation's prefix. Another's breakpoint leaves the prefix as it was;
    /// while it is there, the page cannot be moved beside threads, because the kernel might be removing the breakpoint.
    #[test]
    fn on_an_operation() {
        passes(|| {
            let mut site = 0;
            for_each_mode_site(NUMBERS.raw().mode(), |found| site = found.address).unwrap();
            assert_eq!(bytes(site - 1), [0x2e]);
            for &by in probe::all() {
                succeeds(|| NUMBERS.set(Numbers::Add));
                let probe = Probe::set(by, site - 1);
                assert_eq!(probe.is_err(), by == By::Kernel);
                match by {
                    By::Kernel => succeeds(|| NUMBERS.set(Numbers::Less)),
                    By::Writes => {
                        let result = NUMBERS.set(Numbers::Less);
                        let busy = |remap| remap == Refusal::errno(libc::EBUSY);
                        assert!(matches!(result, Err(Error::MultiThreaded { remap, .. }) if busy(remap)), "{result:?}");
                    }
                }
                drop(probe);
                succeeds(|| NUMBERS.set(Numbers::Less));
                assert_eq!((bytes(site - 1), changed()), ([0x2e], 7), "{by:?}");
            }
        });
    }

    /// Without the prefix, the probe is on the site's own bytes: the site holds none of its states any more.
    #[test]
    fn twin_behind_the_prefix() {
        passes(|| {
            let mut site = 0;
            for_each_mode_site(NUMBERS.raw().mode(), |found| site = found.address).unwrap();
            for &by in probe::all() {
                NUMBERS.set(Numbers::Less).unwrap();
                let jump = bytes::<5>(site);
                drop(Probe::set(by, site).unwrap());
                for_each_mode_site(NUMBERS.raw().mode(), |site| assert_eq!(site.state, None, "went unnoticed"))
                    .unwrap();
                let memory = std::fs::File::options().write(true).open("/proc/self/mem").unwrap();
                std::os::unix::fs::FileExt::write_all_at(&memory, &jump, site as u64).unwrap();
            }
        });
    }

    fn ones(number: u32) -> u32 {
        let ones;
        // SAFETY: both count bits, or say 77.
        unsafe {
            std::arch::asm!(
                alternative!("mov {o:e}, 77", popcnt => "popcnt {o:e}, {n:e}"),
                n = in(reg) number, o = out(reg) ones, options(pure, nomem, nostack),
            );
        }
        ones
    }

    /// An alternative has the same prefix.
    #[test]
    fn on_an_alternative() {
        // A process of one thread, which may apply them.
        passes(|| {
            reap(fork(|| {
                assert_eq!(ones(7), 77);
                alternatives::apply().unwrap();
                if ones(7) == 77 {
                    println!("skipped: no popcnt");
                    return true;
                }
                let site = (ones as *const () as usize..).find(|&at| bytes(at) == [0x2e, 0xf3, 0x0f, 0xb8]).unwrap();
                for &by in probe::all() {
                    let probe = Probe::set(by, site);
                    assert_eq!(probe.is_err(), by == By::Kernel);
                    drop(probe);
                    assert_eq!((bytes(site), ones(7)), ([0x2e], 3));
                }
                true
            }));
        });
    }
}
