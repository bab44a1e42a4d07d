//! Code that cannot be read. Flips have to read it, and fail with an error that says so; nothing is read or written, and other keys flip.

use std::ops::Range;
use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::{AtomicUsize, Ordering};

use jumplabel::platform::builtin;
use jumplabel::{
    Error, Lock, RawKey, WriterKind, for_each_mode_site, for_each_site, set_writer, static_branch_unlikely, static_key,
};
use jumplabel_testing::switch::{COLOUR, Colour, colour};

use crate::pages::{PAGE, Pages};
use crate::scenario::{emulator, fork, passes, wait_for};
use crate::seccomp::{Fault, Faults};
use crate::state::{Watch, is_open};
use crate::twin::{Twin, install};

// More pages than the library asks for one by one.
crate::pages::pages! { many: 2 keys, 24 sites, every 1 pages, at 0 }
crate::pages::pages! { few: 1 keys, 1 sites, every 1 pages, at 0 }
crate::pages::pages! { crossing: 2 keys, 4 sites, every 2 pages, at 4093 }

const WRITERS: [Option<WriterKind>; 4] =
    [None, Some(WriterKind::Procmem), Some(WriterKind::Mprotect), Some(WriterKind::Remap)];

const TEXT: i32 = libc::PROT_READ | libc::PROT_EXEC;

/// Calls `body` while the page of `address` has no protection at all.
fn hidden<T>(address: usize, body: impl FnOnce() -> T) -> T {
    let protect = |protection| {
        // SAFETY: code of this test, which nobody runs meanwhile.
        assert_eq!(unsafe { libc::mprotect((address & !(PAGE - 1)) as *mut _, PAGE, protection) }, 0);
    };
    protect(libc::PROT_NONE);
    let result = body();
    protect(TEXT);
    result
}

/// Every call that reads the sites of the first key is refused while one of them cannot be read, and the other key flips.
fn is_refused(pages: Pages, number: usize, page: usize) {
    let [key, other] = [&pages.keys[number % 2], &pages.keys[1 - number % 2]];
    let expected = Error::Unreadable { address: pages.site(number) };
    let on = key.is_enabled();
    let before = Watch::new(pages.raw()).state();
    hidden(page, || {
        assert_eq!(if on { key.disable() } else { key.enable() }, Err(expected));
        assert_eq!(pages.set(!on), Err(expected));
        assert_eq!(for_each_site(key, |_| ()), Err(expected));
        assert!(key.is_enabled() == on && expected.to_string().contains("cannot be read"));
        for to in [!on, on] {
            if to { other.enable() } else { other.disable() }.unwrap();
        }
    });
    let after = Watch::new(pages.raw()).state();
    assert!(after.behaviour() == before.behaviour() && pages.agree());
}

#[test]
fn sites_are_not_read() {
    passes(|| {
        for writer in WRITERS {
            set_writer(writer);
            for on in [true, false] {
                for number in 0..many().count {
                    is_refused(many(), number, many().site(number));
                }
                many().set(on).unwrap();
                assert!(many().all(on));
            }
        }
    });
}

/// The half of a site that lies on the second page.
#[cfg(target_arch = "x86_64")]
#[test]
fn halves_of_sites_are_not_read() {
    passes(|| {
        for on in [true, false] {
            for number in 0..crossing().count {
                is_refused(crossing(), number, crossing().site(number));
                is_refused(crossing(), number, crossing().site(number) + PAGE);
            }
            crossing().set(on).unwrap();
        }
    });
}

/// Sites are stuck in the middle, and then cannot be read: flips go on to say so, until they can.
#[test]
fn nobody_reads_what_is_stuck() {
    passes(|| {
        let (sites, faults) = (many(), Faults::new(&[libc::SYS_pwrite64]));
        set_writer(Some(WriterKind::Procmem));
        sites.set(true).unwrap();
        sites.set(false).unwrap();
        // The fault comes after one write to each page.
        faults.arm(libc::SYS_pwrite64, 24 + 3, u32::MAX, Fault::Errno(libc::EIO));
        let is_stuck = |result| matches!(result, Err(Error::RollbackFailed { .. }));
        assert!(is_stuck(sites.set(true)));
        faults.disarm();
        assert!(hidden(sites.site(0), || is_stuck(sites.set(true))));
        sites.set(true).unwrap();
        assert!(sites.all(true));
    });
}

/// A flip asks anew for the protection of a mapping, and restores the one that the program has set meanwhile.
#[test]
fn protections_are_asked_for_anew() {
    passes(|| {
        set_writer(Some(WriterKind::Mprotect));
        let watch = Watch::new(few().raw());
        let [large, small]: [&'static RawKey; 2] = [&many().keys[0], &few().keys[0]];
        for writable in [libc::PROT_WRITE, 0, libc::PROT_WRITE] {
            let mut on = false;
            // The first flip asks for the mapping. The second asks for a page, and its writer for the mapping.
            let mut flips = |set: &mut dyn FnMut(&'static RawKey, bool)| {
                on = !on;
                set(large, on);
                // SAFETY: a page of code of this test.
                assert_eq!(unsafe { libc::mprotect(few().code as *mut _, PAGE, TEXT | writable) }, 0);
                let before = watch.map();
                set(small, on);
                assert!(few().all(on) && watch.map() == before && is_open(&before) == (writable != 0));
                // SAFETY: as above.
                assert_eq!(unsafe { libc::mprotect(few().code as *mut _, PAGE, TEXT) }, 0);
            };
            flips(&mut |key, on| assert!(if on { key.enable() } else { key.disable() }.is_ok()));
            let mut lock = Lock::take().unwrap();
            flips(&mut |key, on| {
                let result = if on { key.enable_locked(&mut lock) } else { key.disable_locked(&mut lock) };
                result.map(drop).unwrap();
            });
        }
    });
}

/// The number of calls with which a flip of one site asks the system for protections: one, beside the two of the lock.
#[test]
fn one_call_for_one_site() {
    static_key! { static KEY: false; }
    #[inline(never)]
    fn check() -> bool {
        static_branch_unlikely!(KEY)
    }
    passes(|| {
        let faults = Faults::new(&[libc::SYS_rt_sigprocmask]);
        set_writer(Some(WriterKind::Procmem));
        KEY.enable().unwrap(); // proves the writer
        for on in [false, true, false] {
            faults.count(libc::SYS_rt_sigprocmask);
            if on { KEY.enable() } else { KEY.disable() }.unwrap();
            assert_eq!(faults.seen(), 3);
            faults.disarm();
            assert_eq!(check(), on);
        }
    });
}

/// The broken twin: a platform that says that all code can be read.
struct Careless;

impl Twin for Careless {
    fn readable(&self, _: Range<usize>) -> Range<usize> {
        0..usize::MAX
    }
}

#[test]
fn broken_twin_reads_all_the_same() {
    if emulator().is_some() {
        return; // An emulator reads through any protection, or dies in its own way.
    }
    passes(|| {
        install(Careless);
        let child = fork(|| hidden(many().site(0), || many().set(true).is_err()));
        assert_eq!(wait_for(child).signal(), Some(libc::SIGSEGV));
    });
}

/// A platform that says that one address cannot be read.
struct Hides;

static HIDDEN: AtomicUsize = AtomicUsize::new(0);

impl Twin for Hides {
    fn readable(&self, addresses: Range<usize>) -> Range<usize> {
        let address = addresses.start;
        let all = builtin().readable(addresses);
        match HIDDEN.load(Ordering::Relaxed) {
            hidden if hidden <= address && hidden != 0 => hidden + 1..all.end,
            0 => all,
            hidden => all.start..hidden,
        }
    }
}

/// The arms of a switch are in code, too, but neither the index nor a flip reads them.
#[test]
fn arms_are_not_read() {
    passes(|| {
        install(Hides);
        let mut arms = 0;
        for_each_mode_site(COLOUR.raw(), |site| arms = site.target).unwrap();
        for (anew, to) in [(false, Colour::Red), (true, Colour::Blue)] {
            HIDDEN.store(arms, Ordering::Relaxed);
            if anew {
                Lock::take().unwrap().read_tables_anew();
            }
            let before = colour();
            assert_eq!(COLOUR.set(to), Err(Error::Unreadable { address: arms }));
            assert!(COLOUR.get() == before && colour() == before);
            many().set(anew).unwrap();
            // The present protection counts, whatever the index noted when it was built.
            assert_eq!(jumplabel::verify(), Err(Error::Unreadable { address: arms }));
            HIDDEN.store(0, Ordering::Relaxed);
            jumplabel::verify().unwrap();
            COLOUR.set(to).unwrap();
            assert!(colour() == to && many().all(anew));
        }
    });
}

/// Execute-only code, and code with a protection key: threads run it and cannot read it.
#[cfg(target_arch = "x86_64")]
#[test]
fn protection_keys() {
    /// Lets this thread access all code, or not read any code that has a key.
    fn allow(all: bool) {
        // SAFETY: there are protection keys. Nothing else in this process has one.
        unsafe { std::arch::asm!("wrpkru", in("eax") if all { 0 } else { 0x5555_5554 }, in("ecx") 0, in("edx") 0) };
    }
    passes(|| {
        let (sites, size) = (many(), PAGE as libc::size_t);
        let page = sites.site(0);
        // SAFETY: asks for a key.
        let number = unsafe { libc::syscall(libc::SYS_pkey_alloc, 0, 0) };
        let expected = if number < 0 { Ok(()) } else { Err(Error::Unreadable { address: page }) };
        let protect = |protection: i32, number: Option<i64>| {
            // SAFETY: code of this test, which nobody runs meanwhile.
            let result = unsafe {
                match number {
                    Some(number) => libc::syscall(libc::SYS_pkey_mprotect, page, size, protection, number),
                    None => libc::mprotect(page as *mut _, size, protection).into(),
                }
            };
            assert_eq!(result, 0);
        };
        let flip = |on: bool| if on { sites.keys[0].enable() } else { sites.keys[0].disable() }.map(drop);
        for writer in WRITERS {
            set_writer(writer);
            protect(libc::PROT_EXEC, None);
            assert_eq!(flip(true), expected);
            assert!(sites.agree());
            protect(TEXT, None);
            if number >= 0 {
                protect(TEXT, Some(number));
                allow(false);
                assert_eq!(flip(true), expected);
                assert!(sites.agree());
                allow(true);
            }
            for on in [true, false] {
                flip(on).unwrap();
                assert!(sites.agree());
            }
            protect(TEXT, None);
        }
        if number < 0 {
            println!("not shown on a processor with protection keys");
        }
    });
}
