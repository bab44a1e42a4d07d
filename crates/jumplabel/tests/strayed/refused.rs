//! Sites that cannot be brought back: the call says so, and nothing is half done.

use jumplabel::{Error, WriterKind, set_writer, static_branch_unlikely, static_key, verify};
use jumplabel_testing::scenario::passes;

use super::text::WAYS;
use super::{ON, back, checks};

/// The system refuses: no call says Ok while its sites are astray, and each says it once they can be written again.
#[test]
fn by_the_system() {
    static_key! { static KEY: false; }
    passes(|| {
        let on = || static_branch_unlikely!(KEY);
        KEY.enable().unwrap();
        WAYS[0].stray();
        assert!(!on(), "nothing has strayed");
        // No more pages that can be written and executed: for good, and for `mprotect`.
        // SAFETY: a restriction of this process.
        if unsafe { libc::prctl(65, 1, 0, 0, 0) } != 0 {
            return println!("not shown: before Linux 6.3");
        }
        set_writer(Some(WriterKind::Mprotect));
        for result in [KEY.enable(), KEY.verify(), verify(), jumplabel::Batch::new().enable(&KEY).commit()] {
            assert!(matches!(result, Err(Error::Denied { .. })), "{result:?}");
            assert!(!on() && KEY.is_enabled() && KEY.count() == 1);
        }
        set_writer(None);
        back(KEY.enable(), 1);
        assert!(on());
    });
}

/// Somebody else's bytes: they stay, and the call names the place. `verify` brings back all others.
#[test]
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
fn by_a_breakpoint() {
    use std::os::unix::fs::FileExt;
    static_key! { static KEY: false; }
    passes(|| {
        #[inline(never)]
        fn on() -> bool {
            static_branch_unlikely!(KEY)
        }
        KEY.enable().unwrap();
        ON.disable().unwrap();
        let mut site = 0;
        jumplabel::for_each_site(&KEY, |found| site = found.address).unwrap();
        WAYS[0].stray();
        assert!(!on() && checks()[2], "nothing has strayed");
        let memory = std::fs::OpenOptions::new().read(true).write(true).open("/proc/self/mem").unwrap();
        let mut before = [0; 4];
        memory.read_exact_at(&mut before, site as u64).unwrap();
        let breakpoint: &[u8] = match std::env::consts::ARCH {
            "aarch64" => &[0x00, 0x00, 0x20, 0xd4],
            "riscv64" => &[0x73, 0x00, 0x10, 0x00],
            _ => &[0xcc],
        };
        memory.write_all_at(breakpoint, site as u64).unwrap();
        for result in [KEY.enable(), KEY.verify(), KEY.disable(), verify()] {
            let Err(Error::ForeignBytes { address, found, .. }) = result else { panic!("{result:?}") };
            assert_eq!((address, &found[..breakpoint.len()]), (site, breakpoint));
        }
        // Only this site is still wrong: the other key's sites are back.
        assert_eq!(checks()[2..], [false, false]);
        back(ON.disable(), 0);
        memory.write_all_at(&before[..breakpoint.len()], site as u64).unwrap();
        back(verify(), 1);
        assert!(on());
    });
}

/// Code cannot be read: a call that looks at it says so, and reads nothing.
#[test]
fn by_protections() {
    jumplabel_testing::pages::pages! { sites: 2 keys, 2 sites, every 1 pages, at 0 }
    passes(|| {
        let page = sites().site(1) / jumplabel_testing::pages::PAGE * jumplabel_testing::pages::PAGE;
        // SAFETY: nobody runs what is on that page meanwhile.
        let protect =
            |flags| unsafe { libc::mprotect(page as *mut libc::c_void, jumplabel_testing::pages::PAGE, flags) };
        sites().set(true).unwrap();
        WAYS[0].stray();
        assert!(sites().all(false), "nothing has strayed");
        assert_eq!(protect(libc::PROT_NONE), 0);
        for result in [sites().keys[1].enable(), sites().keys[1].verify(), verify(), sites().set(true)] {
            assert!(matches!(result, Err(Error::Unreadable { .. })), "{result:?}");
        }
        assert!(sites().check(0), "others come back all the same");
        assert_eq!(protect(libc::PROT_READ | libc::PROT_EXEC), 0);
        back(verify(), 1);
        assert!(sites().all(true));
    });
}
