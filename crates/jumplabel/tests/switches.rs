//! N-way switches: the arm that is taken, and when.

#[cfg(jumplabel_sites)]
#[path = "switches/between.rs"]
mod between;
#[path = "switches/listed.rs"]
mod listed;
#[path = "switches/many.rs"]
mod many;

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jumplabel::{Batch, Error, modes, static_branch_unlikely, static_call, static_key, static_mode, static_switch};

modes! {
    /// The mode of most tests.
    enum Mode { Fast, Checked, Traced }
}

/// The sites of a mode with one switch.
const SITE: usize = cfg!(jumplabel_sites) as usize;

#[test]
fn takes_the_arm_of_its_mode() {
    static_mode! { static MODE: Mode = Checked; }
    let arm = || static_switch!(MODE, { Fast => 1, Checked => 2, Traced => 3 });
    assert_eq!((arm(), MODE.get()), (2, Mode::Checked));
    for (mode, value) in [(Mode::Fast, 1), (Mode::Traced, 3), (Mode::Checked, 2), (Mode::Traced, 3), (Mode::Fast, 1)] {
        assert_eq!(MODE.set(mode).unwrap().sites, SITE);
        assert_eq!((arm(), MODE.get()), (value, mode));
        assert_eq!(MODE.set(mode).unwrap().sites, 0);
    }
    assert_eq!(
        (format!("{MODE:?}"), format!("{:?}", MODE.raw())),
        ("StaticMode(Fast)".into(), "StaticMode(0 of 3)".into())
    );
}

#[test]
fn sealed() {
    static_mode! { static MODE: Mode = Fast; }
    let arm = || static_switch!(MODE, { Fast => 1, Checked => 2, Traced => 3 });
    MODE.set_locked(Mode::Checked, &mut jumplabel::Lock::take().unwrap()).unwrap();
    assert!(!MODE.is_sealed());
    MODE.seal().unwrap();
    MODE.seal().unwrap();
    assert_eq!(MODE.set(Mode::Traced), Err(Error::Sealed));
    assert_eq!(MODE.set(Mode::Checked).unwrap().sites, 0);
    assert!(MODE.is_sealed() && arm() == 2);
}

/// Sets the mode by number, as from C.
#[test]
fn by_number() {
    static_mode! { static MODE: Mode = Fast; }
    let arm = || static_switch!(MODE, { Fast => 0, Checked => 1, Traced => 2 });
    for number in [2, 0, 1] {
        MODE.raw().set(number).unwrap();
        assert_eq!((arm(), usize::from(MODE.raw().get())), (number, number));
    }
    for number in [3, 255, 256, 257, usize::MAX] {
        assert_eq!(MODE.raw().set(number), Err(Error::NoSuchMode { count: 3 }));
        assert_eq!((arm(), MODE.get()), (1, Mode::Checked));
    }
}

/// Each order of the arms, from each default.
#[test]
fn orders() {
    macro_rules! orders {
        ($($default:ident)*) => {$({
            static_mode! { static MODE: Mode = $default; }
            let arms = || [
                static_switch!(MODE, { Fast => 0, Checked => 1, Traced => 2 }),
                static_switch!(MODE, { Fast => 0, Traced => 2, Checked => 1 }),
                static_switch!(MODE, { Checked => 1, Fast => 0, Traced => 2 }),
                static_switch!(MODE, { Checked => 1, Traced => 2, Fast => 0 }),
                static_switch!(MODE, { Traced => 2, Fast => 0, Checked => 1 }),
                static_switch!(MODE, { Traced => 2, Checked => 1, Fast => 0 }),
            ];
            assert_eq!(arms(), [Mode::$default as u8; 6]);
            for mode in [Mode::Fast, Mode::Checked, Mode::Traced, Mode::Fast, Mode::Traced, Mode::Checked, Mode::Fast] {
                MODE.set(mode).unwrap();
                assert_eq!(arms(), [mode as u8; 6]);
            }
        })*};
    }
    orders! { Fast Checked Traced }
}

/// Values that an arm drops, moves, borrows, or leaves.
#[test]
fn values_of_arms() {
    static_mode! { static MODE: Mode = Fast; }
    fn arm(owned: Rc<Cell<u32>>, list: &mut Vec<u32>) -> Option<u32> {
        for _ in 0..9 {
            let held = owned.clone();
            let length = static_switch!(MODE, {
                Fast => {
                    list.push(1);
                    list.len() as u32
                },
                Checked => {
                    drop(owned);
                    let first = list.first()?;
                    return Some(*first + held.get());
                },
                Traced => {
                    if list.len() > 3 {
                        break;
                    }
                    list.push(3);
                    continue;
                },
            });
            held.set(length);
        }
        None
    }
    let owned = Rc::new(Cell::new(0));
    let mut list = Vec::new();
    MODE.set(Mode::Checked).unwrap();
    assert_eq!(arm(owned.clone(), &mut list), None);
    MODE.set(Mode::Traced).unwrap();
    assert_eq!((arm(owned.clone(), &mut list), list.len()), (None, 4));
    MODE.set(Mode::Fast).unwrap();
    assert_eq!((arm(owned.clone(), &mut list), list.len()), (None, 13));
    MODE.set(Mode::Checked).unwrap();
    assert_eq!(arm(owned.clone(), &mut list), Some(3 + 13));
    assert_eq!(Rc::strong_count(&owned), 1);
}

/// Switches in switches, in closures, in generic and inlined functions: each is a site of its own.
#[test]
fn many_sites() {
    static_mode! {
        static OUTER: Mode = Fast;
        static INNER: Mode = Traced;
    }
    #[inline(always)]
    fn generic<T: From<u8> + std::ops::Add<Output = T>>(x: T) -> T {
        static_switch!(OUTER, {
            Fast => x + T::from(static_switch!(INNER, { Traced => 3, Fast => 1, Checked => 2 })),
            Traced => x + T::from(30),
            Checked => {
                let inner =
                    |y| static_switch!(INNER, { Fast => T::from(y), Checked => T::from(y + 1), Traced => T::from(y + 2) });
                x + inner(10)
            },
        })
    }
    let all = || (generic(1u8), generic(1u16), generic(1u32), generic(1u64), generic(1.0f64));
    assert_eq!(all(), (4, 4, 4, 4, 4.0));
    INNER.set(Mode::Checked).unwrap();
    assert_eq!(all(), (3, 3, 3, 3, 3.0));
    OUTER.set(Mode::Traced).unwrap();
    assert_eq!(all(), (31, 31, 31, 31, 31.0));
    OUTER.set(Mode::Checked).unwrap();
    assert_eq!(all(), (12, 12, 12, 12, 12.0));
    INNER.set(Mode::Fast).unwrap();
    assert_eq!(all(), (11, 11, 11, 11, 11.0));
}

/// A mode of another crate, and a switch in that crate.
#[test]
fn of_another_crate() {
    use jumplabel_testing::switch::{COLOUR, Colour, colour};
    let here = || static_switch!(jumplabel_testing::switch::COLOUR, { Blue => Colour::Blue, Red => Colour::Red, Green => Colour::Green });
    for &each in jumplabel::Modes::ALL {
        COLOUR.set(each).unwrap();
        assert_eq!([here(), colour()], [each; 2]);
    }
}

/// In constructors, before the library has done anything.
#[test]
#[cfg(all(target_os = "linux", not(miri)))]
fn in_constructors() {
    static_mode! { static MODE: Mode = Checked; }
    static SEEN: AtomicUsize = AtomicUsize::new(0);
    fn arm() -> usize {
        static_switch!(MODE, { Fast => 1, Checked => 2, Traced => 3 })
    }
    extern "C" fn early() {
        let before = arm();
        MODE.set(Mode::Traced).unwrap();
        SEEN.store(before * 10 + arm(), Ordering::Relaxed);
    }
    #[used]
    #[unsafe(link_section = ".init_array")]
    static EARLY: extern "C" fn() = early;
    assert_eq!((SEEN.load(Ordering::Relaxed), arm()), (23, 3));
}

/// While the mode changes, each switch takes the old arm or the new one; when `set` has returned, the new one.
#[test]
#[cfg(not(target_family = "wasm"))]
fn under_running_threads() {
    static_mode! { static MODE: Mode = Fast; }
    /// The arms that a switch may take now: two bits of three.
    static LEGAL: AtomicUsize = AtomicUsize::new(1);
    static STOP: AtomicUsize = AtomicUsize::new(0);
    let slow = cfg!(miri) || std::env::var_os("JUMPLABEL_EMULATOR").is_some();
    let changes = if slow { 50 } else { 5000 };
    let switches: u64 = std::thread::scope(|scope| {
        let takers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut switches = 0;
                    while STOP.load(Ordering::Relaxed) == 0 {
                        let before = LEGAL.load(Ordering::SeqCst);
                        let taken = [
                            static_switch!(MODE, { Fast => 1, Checked => 2, Traced => 4 }),
                            static_switch!(MODE, { Traced => 4, Checked => 2, Fast => 1 }),
                        ];
                        let after = LEGAL.load(Ordering::SeqCst);
                        // Nothing is known if the mode changed twice meanwhile.
                        if before >> 3 == after >> 3 {
                            let legal = before | after;
                            assert!(taken.iter().all(|taken| taken & legal != 0), "{taken:?} of {legal:#x}");
                            switches += 1;
                        }
                    }
                    switches
                })
            })
            .collect();
        let modes = [Mode::Fast, Mode::Checked, Mode::Traced];
        let mut now = 0;
        for number in 0..changes {
            let next = (now + 1 + number % 2) % 3;
            // The number of the change in the upper bits: what is read before and after is of one change or of none.
            LEGAL.store(number << 3 | 1 << now | 1 << next, Ordering::SeqCst);
            MODE.set(modes[next]).unwrap();
            LEGAL.store(number << 3 | 1 << next, Ordering::SeqCst);
            now = next;
        }
        STOP.store(1, Ordering::Relaxed);
        takers.into_iter().map(|taker| taker.join().unwrap()).sum()
    });
    println!("{switches} switches");
}

/// A batch of a mode, a key and a static call changes all of them or, if one is refused, none.
#[test]
fn in_a_batch() {
    static_key! { static KEY: false; }
    static_mode! { static MODE: Mode = Fast; }
    static_call! { static CALL: fn() -> u32 = one; }
    fn one() -> u32 {
        1
    }
    fn two() -> u32 {
        2
    }
    let seen = || {
        let arm = static_switch!(MODE, { Fast => "fast", Checked => "checked", Traced => "traced" });
        (static_branch_unlikely!(KEY), CALL(), arm)
    };
    assert_eq!(seen(), (false, 1, "fast"));
    Batch::new().enable(&KEY).set(&CALL, two).set(&MODE, Mode::Traced).commit().unwrap();
    assert_eq!(seen(), (true, 2, "traced"));
    CALL.seal().unwrap();
    assert_eq!(Batch::new().disable(&KEY).set(&MODE, Mode::Fast).set(&CALL, one).commit(), Err(Error::Sealed));
    assert_eq!(seen(), (true, 2, "traced"));
    Batch::new().set(&KEY, false).set(&MODE, Mode::Checked).commit().unwrap();
    assert_eq!(seen(), (false, 2, "checked"));
}
