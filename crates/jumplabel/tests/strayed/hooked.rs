//! Functions that are hooked: a jump replaces their first instructions, a copy of which runs elsewhere. If the jump ends with the prefix of a site,
//! the site's own bytes stay, and no thread runs them. A flip says so, and so does `verify`. A breakpoint on the prefix is no hook.
#![cfg(all(any(target_arch = "x86_64", target_arch = "x86"), not(jumplabel_no_site_prefix)))]

#[path = "../refusals/misuse/table.rs"]
mod table;

use std::fs::File;
use std::os::unix::fs::FileExt;

use jumplabel::{
    Error, Outcome, for_each_mode_site, for_each_site, modes, prepare, static_branch_likely, static_branch_unlikely,
    static_key, static_mode, static_switch, verify,
};
use jumplabel_format::layout::PREFIXED;
use jumplabel_testing::scenario::passes;

/// The last byte of a jump to a near place. (The bytes in front of it can be another function's, which runs.)
const HOOK: [u8; 1] = [0x01];

fn memory() -> File {
    File::options().read(true).write(true).open("/proc/self/mem").unwrap()
}

/// The meta word of the entry of the site at an address.
fn meta(site: usize) -> &'static mut i32 {
    let is_of_site = |entry: &&mut [i32]| (&raw const entry[0] as usize).wrapping_add_signed(entry[0] as isize) == site;
    &mut table::words().chunks_exact_mut(4).find(is_of_site).expect("the site has an entry")[3]
}

/// Asserts that `flips`, which look at each of these sites, are refused while one of the sites is hooked.
#[track_caller]
fn refused(sites: &[usize], flips: &[&dyn Fn() -> Result<Outcome, Error>]) {
    let memory = memory();
    assert!(!sites.is_empty());
    for &site in sites {
        let prefix = site as u64 - 1;
        let mut before = [0];
        memory.read_exact_at(&mut before, prefix).unwrap();

        memory.write_all_at(&HOOK, prefix).unwrap();
        for result in flips.iter().map(|flip| flip()).chain([verify()]) {
            let Err(Error::ForeignBytes { address, found, .. }) = result else { panic!("{site:#x}: {result:?}") };
            assert_eq!((address, &found[..]), (site - 1, &HOOK[..]));
        }
        // The twin: a table that does not say that there is a prefix. Then no flip notices the hook.
        let meta = meta(site);
        *meta &= !PREFIXED.cast_signed();
        flips.iter().for_each(|flip| assert!(flip().is_ok(), "the table does not decide"));
        *meta |= PREFIXED.cast_signed();

        // A breakpoint or a uprobe on the prefix.
        memory.write_all_at(&[0xcc], prefix).unwrap();
        flips.iter().for_each(|flip| assert!(flip().is_ok()));
        memory.write_all_at(&before, prefix).unwrap();
        flips.iter().for_each(|flip| assert!(flip().is_ok()));
    }
}

fn sites(key: &jumplabel::RawKey) -> Vec<usize> {
    let mut sites = Vec::new();
    for_each_site(key, |site| sites.push(site.address)).unwrap();
    sites
}

fn mode_sites(mode: &jumplabel::RawMode) -> Vec<usize> {
    let mut sites = Vec::new();
    for_each_mode_site(mode, |site| sites.push(site.address)).unwrap();
    sites
}

#[test]
fn checks() {
    static_key! { static KEY: false; static MANY: false; static LOADING: false, or_load; }
    passes(|| {
        let check = || [static_branch_unlikely!(KEY), static_branch_likely!(KEY)];
        let flips: [&dyn Fn() -> _; 4] =
            [&|| KEY.enable(), &|| KEY.disable(), &|| KEY.verify(), &|| jumplabel::Batch::new().enable(&KEY).commit()];
        refused(&sites(KEY.raw()), &flips);
        assert_eq!(check(), [true, true]);

        // Enough for a run of sites that change alike.
        macro_rules! eight {
            () => {
                [
                    static_branch_unlikely!(MANY),
                    static_branch_unlikely!(MANY),
                    static_branch_unlikely!(MANY),
                    static_branch_unlikely!(MANY),
                    static_branch_unlikely!(MANY),
                    static_branch_unlikely!(MANY),
                    static_branch_unlikely!(MANY),
                    static_branch_unlikely!(MANY),
                ]
            };
        }
        let many = || eight!();
        refused(&sites(MANY.raw()), &[&|| MANY.enable(), &|| MANY.disable()]);
        assert_eq!(many(), [false; 8]);

        let loading = || static_branch_unlikely!(LOADING);
        refused(&sites(LOADING.raw()), &[&|| LOADING.enable(), &|| LOADING.disable()]);
        prepare().unwrap();
        refused(&sites(LOADING.raw()), &[&|| LOADING.enable(), &|| LOADING.disable()]);
        assert!(!loading());
    });
}

/// Lists of sites say that a site is hooked.
#[test]
fn lists() {
    static_key! { static KEY: false; }
    passes(|| {
        let check = || static_branch_unlikely!(KEY);
        let site = sites(KEY.raw())[0];
        let state = || {
            let mut state = None;
            for_each_site(&KEY, |site| state = site.state).unwrap();
            state
        };
        let mut before = [0];
        memory().read_exact_at(&mut before, site as u64 - 1).unwrap();
        assert!(state().is_some());
        memory().write_all_at(&HOOK, site as u64 - 1).unwrap();
        assert!(state().is_none(), "nobody notices");
        memory().write_all_at(&before, site as u64 - 1).unwrap();
        assert!(state().is_some() && !check());
    });
}

#[test]
fn switches() {
    modes! { enum Mode { Fast, Checked, Traced } }
    static_mode! { static MODE: Mode = Checked; }
    passes(|| {
        let arm = || static_switch!(MODE, { Fast => 1, Checked => 2, Traced => 3 });
        refused(&mode_sites(MODE.raw()), &[&|| MODE.set(Mode::Traced), &|| MODE.set(Mode::Fast)]);
        assert_eq!(arm(), 1);
    });
}

#[cfg(all(target_arch = "x86_64", not(jumplabel_dylib)))]
#[test]
fn operations() {
    use super::kinds::adder::{ADDER, Adding, add};
    use jumplabel_testing::scenario::{fork, reap};

    passes(|| {
        reap(fork(|| {
            refused(&mode_sites(ADDER.raw().mode()), &[&|| ADDER.set(Adding::Twice), &|| ADDER.native()]);
            assert_eq!(add(0), 1);
            true
        }));
    });
}

#[cfg(target_arch = "x86_64")]
#[test]
fn alternatives() {
    use super::kinds::number;
    use jumplabel::alternatives;
    use jumplabel_testing::scenario::{fork, reap};

    passes(|| {
        reap(fork(|| {
            let is_alternative = |meta: i32| meta >> 2 & 0xf == 5 && meta >> 8 & 7 != 0 && meta & 2 == 0;
            let code = |entry: &[i32]| (&raw const entry[0] as usize).wrapping_add_signed(entry[0] as isize);
            let sites = table::words().chunks_exact(4).filter(|entry| is_alternative(entry[3])).map(code);
            refused(&sites.collect::<Vec<_>>(), &[&|| alternatives::apply()]);
            assert_eq!(number(), 2);
            true
        }));
    });
}
