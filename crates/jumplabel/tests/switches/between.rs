//! Sites in between, where a thread goes through the stub: a process finds such sites that was copied while they changed.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "x86", target_arch = "s390x")))]

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use jumplabel::format::Entry;
use jumplabel::{RawMode, static_mode, static_switch};
use jumplabel_format::layout::SWITCH;

use super::Mode;

/// The addresses of the sites of `mode`, from this program's table.
fn sites(mode: &RawMode) -> Vec<usize> {
    unsafe extern "C" {
        #[link_name = "__start___jump_table"]
        static START: Entry;
        #[link_name = "__stop___jump_table"]
        static STOP: Entry;
    }
    let (start, stop) = (&raw const START, &raw const STOP);
    // SAFETY: the linker's bounds of the table.
    let table = unsafe { std::slice::from_raw_parts(start, (stop as usize - start as usize) / size_of::<Entry>()) };
    let own = table.iter().filter(|entry| entry.key() == mode.address());
    own.inspect(|entry| assert_eq!(entry.kind(), SWITCH)).map(Entry::code).collect()
}

/// Leaves the sites of `mode` in between.
fn interrupt(mode: &RawMode) {
    let (offset, pass) = if cfg!(target_arch = "s390x") { (1, 0x04) } else { (0, 0xa9) };
    // Not by /proc/self/mem, which an emulator does not see. One byte cannot tear; other threads may be on the pages.
    // SAFETY: a question.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    for byte in sites(mode).into_iter().map(|site| site + offset) {
        let protect = |flags| {
            let page = (byte / page * page) as *mut libc::c_void;
            // SAFETY: a page of code, which stays executable.
            assert_eq!(unsafe { libc::mprotect(page, 1, libc::PROT_READ | libc::PROT_EXEC | flags) }, 0);
        };
        let lock = jumplabel::Lock::take().unwrap();
        protect(libc::PROT_WRITE);
        // SAFETY: open until the next line, because nobody flips.
        unsafe { (byte as *mut u8).write_volatile(pass) };
        protect(0);
        drop(lock);
    }
}

/// The byte that the stubs load.
fn shown(mode: &RawMode) -> &AtomicU8 {
    // SAFETY: a mode begins with this byte.
    unsafe { &*std::ptr::from_ref(mode).cast() }
}

#[test]
fn goes_by_the_stub() {
    static_mode! { static MODE: Mode = Traced; }
    let arms = || {
        [
            static_switch!(MODE, { Fast => Mode::Fast, Checked => Mode::Checked, Traced => Mode::Traced }),
            static_switch!(MODE, { Traced => Mode::Traced, Fast => Mode::Fast, Checked => Mode::Checked }),
        ]
    };
    assert_eq!(sites(MODE.raw()).len(), 2);
    for mode in [Mode::Traced, Mode::Fast, Mode::Checked, Mode::Fast] {
        // Sites in between change as others do.
        MODE.set(mode).unwrap();
        assert_eq!(arms(), [mode; 2]);
        interrupt(MODE.raw());
        assert_eq!(arms(), [mode; 2]);
        for other in [Mode::Checked, Mode::Fast, Mode::Traced] {
            shown(MODE.raw()).store(other as u8, Ordering::SeqCst);
            assert_eq!(arms(), [other; 2]);
        }
        shown(MODE.raw()).store(mode as u8, Ordering::SeqCst);
        // The sites do what they should by a longer way: a change brings them back, and once more they are left in between.
        assert_eq!((MODE.set(mode).unwrap().sites, MODE.set(mode).unwrap().sites), (2, 0));
        interrupt(MODE.raw());
    }
    // A change writes all of the sites again.
    assert_eq!(MODE.set(Mode::Traced).unwrap().sites, 2);
    assert_eq!(arms(), [Mode::Traced; 2]);
}

/// The mode changes while a thread is in the stub: it never takes an arm that the mode was not at.
#[test]
fn never_a_third_arm() {
    static_mode! { static MODE: Mode = Fast; }
    static STOP: AtomicBool = AtomicBool::new(false);
    // Each of the three arms is the last in one of these switches.
    let arms = || {
        [
            static_switch!(MODE, { Fast => 0, Checked => 1, Traced => 2 }),
            static_switch!(MODE, { Traced => 2, Fast => 0, Checked => 1 }),
            static_switch!(MODE, { Checked => 1, Traced => 2, Fast => 0 }),
        ]
    };
    interrupt(MODE.raw());
    for third in 0..3 {
        let two = [(third + 1) % 3, (third + 2) % 3];
        shown(MODE.raw()).store(two[0], Ordering::SeqCst);
        STOP.store(false, Ordering::SeqCst);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for at in (0..2).cycle() {
                    // Each mode stays for a moment, so that a loop of a few instructions sees both.
                    shown(MODE.raw()).store(two[at], Ordering::SeqCst);
                    if STOP.load(Ordering::Relaxed) {
                        break;
                    }
                }
            });
            let mut seen = [0; 3];
            for _ in 0..300_000 {
                for arm in arms() {
                    seen[arm] += 1;
                }
            }
            STOP.store(true, Ordering::SeqCst);
            assert_eq!(seen[usize::from(third)], 0, "{seen:?}");
        });
    }
    shown(MODE.raw()).store(0, Ordering::SeqCst);
    MODE.set(Mode::Checked).unwrap();
    assert_eq!(arms(), [1; 3]);
}

/// A stub that finds none of its modes, because the mode changed between two comparisons, begins again.
#[test]
fn begins_again() {
    static_mode! { static MODE: Mode = Fast; }
    let arm = || static_switch!(MODE, { Checked => 1, Fast => 0, Traced => 2 });
    interrupt(MODE.raw());
    for mode in [2, 0, 1] {
        // The byte is none of the modes, for as long as a thread needs to come to the end of the stub.
        shown(MODE.raw()).store(3, Ordering::SeqCst);
        std::thread::scope(|scope| {
            let taker = scope.spawn(arm);
            std::thread::sleep(std::time::Duration::from_millis(30));
            shown(MODE.raw()).store(mode, Ordering::SeqCst);
            assert_eq!(taker.join().unwrap(), mode);
        });
    }
    shown(MODE.raw()).store(0, Ordering::SeqCst);
    MODE.set(Mode::Checked).unwrap();
    assert_eq!(arm(), 1);
}
