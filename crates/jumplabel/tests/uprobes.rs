//! A uprobe or a breakpoint on a patch point, set and removed, hit or not, while the key is on or off and while it changes: no thread dies, and
//! each check is right as soon as the probe is gone. With the kernel's own probes where tracefs can be had, and everywhere with the bytes that
//! these write. (How a debugger does it: tools.rs.)
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "x86"), jumplabel_sites))]

#[path = "uprobes/moving.rs"]
mod moving;
#[path = "uprobes/others.rs"]
mod others;
#[path = "uprobes/probe.rs"]
mod probe;

use std::os::unix::process::ExitStatusExt;

use jumplabel::{RawKey, for_each_site, static_branch_likely, static_branch_unlikely, static_key};
use jumplabel_testing::pages;
use jumplabel_testing::scenario::{fork, passes, wait_for};
use probe::{By, Probe, bytes};

// Sites without the prefix.
pages::pages! { bare: 1 keys, 2 sites, every 1 pages, at 0 }
// A site for another test alone, because a probe is in all processes that have mapped the file.
pages::pages! { broken: 1 keys, 1 sites, every 1 pages, at 0 }

/// The byte in front of a site.
const PREFIX: u8 = if cfg!(target_arch = "x86_64") { 0x40 } else { 0x65 };

/// A function, and the key that it asks.
struct Check {
    key: &'static RawKey,
    run: fn() -> bool,
    /// The result of the file's instruction, which a probe carries out. `None` if the function asks the key.
    first: Option<bool>,
}

static_key! {
    static NOP: false;
    static JUMP: true;
    static LIKELY: true;
    static LIKELY_OFF: false;
    static LOADS: false, or_load;
}

fn checks() -> [Check; 5] {
    [
        Check { key: &NOP, run: || static_branch_unlikely!(NOP), first: Some(false) },
        Check { key: &JUMP, run: || static_branch_unlikely!(JUMP), first: Some(true) },
        Check { key: &LIKELY, run: || static_branch_likely!(LIKELY), first: Some(true) },
        Check { key: &LIKELY_OFF, run: || static_branch_likely!(LIKELY_OFF), first: Some(false) },
        Check { key: &LOADS, run: || static_branch_unlikely!(LOADS), first: None },
    ]
}

impl Check {
    /// The address of the function's site.
    fn site(&self) -> usize {
        let mut sites = Vec::new();
        for_each_site(self.key, |site| sites.push(site.address)).unwrap();
        assert_eq!(sites.len(), 1);
        sites[0]
    }

    /// Whether the function, the site and the count say the same.
    fn is(&self, on: bool) -> bool {
        let mut agrees = true;
        for_each_site(self.key, |site| agrees &= site.state.is_some()).unwrap();
        agrees && self.key.is_enabled() == on && (self.run)() == on
    }

    fn set(&self, on: bool) {
        if on {
            self.key.enable().unwrap()
        } else {
            self.key.disable().unwrap()
        };
    }
}

/// A probe is set, hit or not, while the key stays or changes, and removed: in each state that the site can have.
#[test]
fn on_a_check() {
    passes(|| {
        for (check, &by) in checks().iter().flat_map(|check| probe::all().iter().map(move |by| (check, by))) {
            let front = check.site() - 1;
            for case in 0..16 {
                let [on, hit, changes, pristine] = [1, 2, 4, 8].map(|bit| case & bit != 0);
                check.set(on);
                if pristine {
                    jumplabel::restore_pristine(check.key).unwrap();
                }
                assert!(bytes(front) == [PREFIX] && check.is(on));
                let probe = Probe::set(by, front).unwrap();
                assert_eq!(bytes(front), [0xcc]);
                if changes {
                    check.set(!on);
                }
                if hit {
                    let first = check.first.unwrap_or(check.key.is_enabled());
                    assert!(probe.hit(check.run).iter().all(|&found| found == first), "{by:?} {case:04b}");
                }
                drop(probe);
                assert!(bytes(front) == [PREFIX] && check.is(on != changes), "{by:?} {case:04b}");
                check.set(on);
                assert!(check.is(on));
            }
        }
    });
}

/// Like the test above, without the prefix: a thread that meets such a site dies or, if the probe was hit, takes the wrong arm.
#[test]
fn twin_without_the_prefix() {
    passes(|| {
        let site = broken().site(0);
        for (hit, &by) in [false, true].iter().flat_map(|hit| probe::all().iter().map(move |by| (hit, by))) {
            // A process for each, because the site is broken then.
            let child = fork(|| {
                broken().set(true).unwrap();
                let probe = Probe::set(by, site).unwrap();
                assert_eq!(bytes(site), [0xcc]);
                if *hit {
                    // While the probe is set, the check takes the arm of the file.
                    assert!(probe.hit(|| broken().check(0)).iter().all(|&on| !on));
                }
                drop(probe);
                broken().check(0)
            });
            let status = wait_for(child);
            let died = matches!(status.signal(), Some(libc::SIGILL | libc::SIGSEGV | libc::SIGBUS | libc::SIGTRAP));
            // Before 6.18 the first byte alone is written, hit or not.
            let is_wrong = *hit && status.code() == Some(1);
            assert!(died || is_wrong, "{by:?}, hit {hit}: went unnoticed: {status}");
        }
        // Once the key is off again, the process does not die if the probe was hit, and the check is right.
        broken().set(true).unwrap();
        broken().set(false).unwrap();
        let probe = Probe::set(By::Writes, site).unwrap();
        probe.hit(|| ());
        drop(probe);
        assert!(!broken().check(0));
    });
}

/// A flip of a site that has a probe on its own bytes changes nothing, and says what is there.
#[test]
fn a_flip_names_the_probe() {
    passes(|| {
        for &by in probe::all() {
            for number in 0..2 {
                let site = bare().site(number);
                let probe = Probe::set(by, site).unwrap();
                let mut found = vec![0xcc];
                if number == 1 {
                    probe.hit(|| bare().check(number));
                    found.push(0xe8);
                }
                let error = bare().set(true).unwrap_err();
                let text = error.to_string();
                assert!(matches!(error, jumplabel::Error::ForeignBytes { address, .. } if address == site), "{text}");
                assert!(found.contains(&bytes::<1>(site)[0]), "{text}");
                assert!(text.starts_with(&format!("there is a uprobe or a breakpoint at {site:#x}")), "{text}");
                drop(probe);
                assert!(bare().all(false) && bare().agree());
            }
            bare().set(true).unwrap();
            assert!(bare().all(true));
            bare().set(false).unwrap();
            bare().restore_pristine();
        }
    });
}
