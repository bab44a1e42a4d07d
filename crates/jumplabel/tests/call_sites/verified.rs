//! Only `procmem` may write, which cannot change such calls: `verify` says so, and brings back all other sites that have strayed.

use std::os::unix::fs::FileExt;

use jumplabel::{Error, WriterKind, for_each_site, set_writer, static_branch_unlikely, verify};
use jumplabel_testing::scenario::passes;

use super::{HOOK, KEY, PR_SET_MDWE, Site, lead_to, sites_in_file, two};

#[test]
fn verified_without_a_writer_for_calls() {
    #[inline(never)]
    fn is_on() -> bool {
        static_branch_unlikely!(KEY)
    }
    passes(|| {
        let sites = sites_in_file(true);
        let memory = std::fs::File::options().read(true).write(true).open("/proc/self/mem").unwrap();
        let bytes = |site: &Site| {
            let mut bytes = [0; 4];
            memory.read_exact_at(&mut bytes, site.displacement as u64).unwrap();
            bytes
        };
        let in_file: Vec<[u8; 4]> = sites.iter().map(bytes).collect();
        let mut check = 0;
        for_each_site(&KEY, |site| check = site.address).unwrap();
        let mut off = [0; 5];
        memory.read_exact_at(&mut off, check as u64).unwrap();
        KEY.enable().unwrap();
        HOOK.update(two).unwrap();
        let straight = sites.iter().filter(|site| !site.is_torn()).count();
        let stray = |calls: &[Site]| {
            let places = calls.iter().zip(&in_file);
            places.for_each(|(site, bytes)| memory.write_all_at(bytes, site.displacement as u64).unwrap());
            memory.write_all_at(&off, check as u64).unwrap();
            assert!(!is_on());
        };
        stray(&sites);
        set_writer(Some(WriterKind::Procmem));
        assert_eq!(verify(), Err(Error::NoWriter));
        assert!(is_on() && sites.iter().filter(|site| (site.function)(0) == 1).count() == straight);
        // Only the calls remain to be repaired.
        assert_eq!(verify(), Err(Error::NoWriter));
        set_writer(None);
        assert_eq!(verify().map(|outcome| outcome.sites), Ok(straight));
        lead_to((2, two), &sites);
        // Without calls that have strayed, `procmem` is enough.
        set_writer(Some(WriterKind::Procmem));
        stray(&[]);
        assert_eq!(verify().map(|outcome| outcome.sites), Ok(1));
        assert!(is_on());
        // The system refuses the other writers.
        set_writer(None);
        stray(&sites);
        // SAFETY: forbids this process something.
        if unsafe { libc::prctl(PR_SET_MDWE, 1, 0, 0, 0) } == 0 {
            assert!(matches!(verify(), Err(Error::Denied { .. })));
            assert!(is_on() && sites.iter().filter(|site| (site.function)(0) == 1).count() == straight);
        }
    });
}
