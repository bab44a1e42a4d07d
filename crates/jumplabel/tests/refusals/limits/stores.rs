//! Text to which a store faults although the page is writable. The fault would end the process, because a flip blocks its signal.

use jumplabel::set_writer;

use super::{MPROTECT, PROCMEM, denied, refuses, sites};
use crate::pages::PAGE;
use crate::scenario::passes;
use crate::seccomp::{Fault, Faults};
use crate::state::{Watch, is_open};

// There are so many sites in one span that the automatic choice begins with `mprotect`.
crate::pages::pages! { many: 1 keys, 40 sites, every 1 pages, at 0 }

/// The kernel says that a store would fault: at any point of the flip, and in the writer's self-test.
#[test]
fn stores_would_fault() {
    passes(|| {
        let faults = Faults::new(&[libc::SYS_madvise]);
        let begin = || faults.arm(libc::SYS_madvise, 1, u32::MAX, Fault::Errno(libc::EFAULT));
        let end = || _ = faults.disarm();
        refuses(&[(MPROTECT, libc::EFAULT)], PROCMEM, begin, Some(&end));
        // The writer has passed its self-test. Each of the spans is refused in turn, and those before it are closed.
        let watch = Watch::new(sites().raw());
        set_writer(MPROTECT);
        let mut refused = 0;
        for number in 1.. {
            faults.arm(libc::SYS_madvise, number, number, Fault::Errno(libc::EFAULT));
            let result = sites().set(true);
            assert!(!is_open(&watch.map()) && sites().all(result.is_ok()) && sites().agree());
            if faults.disarm() == 0 {
                break;
            }
            refused += usize::from(result.is_err());
            sites().set(false).unwrap();
        }
        assert!(refused >= sites().count && sites().all(true), "{refused}");
    });
}

/// A kernel older than 5.14 does not know the question whether a store would fault. The writer works there.
#[test]
fn nobody_says_whether_stores_would_fault() {
    passes(|| {
        let faults = Faults::new(&[libc::SYS_madvise]);
        faults.arm(libc::SYS_madvise, 1, u32::MAX, Fault::Errno(libc::EINVAL));
        let map = Watch::new(sites().raw()).map();
        set_writer(MPROTECT);
        for on in [true, false] {
            sites().set(on).unwrap();
            assert!(sites().all(on) && faults.fired() > 0);
        }
        assert_eq!(Watch::new(sites().raw()).map(), map);
    });
}

/// A protection key of the program's own forbids this thread to write to code.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_protection_key_forbids_stores() {
    const DISABLE_WRITE: i32 = 2;
    passes(|| {
        // SAFETY: asks for a key.
        let key = unsafe { libc::syscall(libc::SYS_pkey_alloc, 0, DISABLE_WRITE) };
        if key < 0 {
            println!("skipped: no protection keys here ({})", std::io::Error::last_os_error());
            crate::scenario::skip();
        }
        let protect = |start: usize, bytes: usize, key: i64| {
            let protection = libc::PROT_READ | libc::PROT_EXEC;
            // SAFETY: code of this test, which stays readable and executable.
            assert_eq!(unsafe { libc::syscall(libc::SYS_pkey_mprotect, start, bytes, protection, key) }, 0);
        };
        assert_eq!(many().set(true).unwrap().writer, MPROTECT);
        let pages = sites().site(0) & !(PAGE - 1);
        let bytes = sites().stride * sites().count;
        // The pages of the sites alone, and then all of the program: then the self-test does not pass either.
        refuses(
            &[(MPROTECT, libc::EFAULT)],
            PROCMEM,
            || protect(pages, bytes, key),
            Some(&|| protect(pages, bytes, 0)),
        );
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        for line in maps.lines().filter(|line| line.contains(" r-xp ") && !line.ends_with(']')) {
            let (start, end) = line.split(' ').next().unwrap().split_once('-').unwrap();
            let [start, end] = [start, end].map(|number| usize::from_str_radix(number, 16).unwrap());
            protect(start, end - start, key);
        }
        let watch = Watch::new(sites().raw());
        set_writer(MPROTECT);
        assert!(denied(MPROTECT, libc::EFAULT)(watch.refused(|| sites().set(true))));
        set_writer(None);
        for on in [false, true] {
            sites().set(on).unwrap();
            assert_eq!(many().set(on).unwrap().writer, PROCMEM);
            assert!(sites().all(on) && many().all(on) && !is_open(&watch.map()));
        }
    });
}
