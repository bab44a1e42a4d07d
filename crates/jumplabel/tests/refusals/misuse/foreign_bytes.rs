//! Flips that are refused because a site holds bytes that the library did not write: a breakpoint, another patcher's bytes.

use jumplabel::arch::Native;
use jumplabel::format;
use jumplabel::{Batch, Error, for_each_site, set_writer};
use jumplabel_format::layout::BRANCH;
use jumplabel_format::{Arch, Code, Kind, State};

use super::{WRITERS, sites};
use crate::scenario::passes;
use crate::seccomp::write_memory;
use crate::state::Watch;

#[cfg(any(target_arch = "x86_64", target_arch = "x86", target_arch = "s390x"))] // Sites of others are aligned.
crate::pages::pages! { crossing: 1 keys, 2 sites, every 2 pages, at 4094 }

/// The states of a site, and whether its key is on there.
const STATES: &[(State, bool)] = &[
    (State::NOP, false),
    (State::JUMP, true),
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    (State::TEST, false),
];

/// The bytes that a debugger's breakpoint, a uprobe or another patcher leaves, on each byte of a site, in each state.
#[test]
fn foreign_bytes() {
    passes(|| {
        let pages = sites();
        let watch = Watch::new(pages.raw());
        for writer in WRITERS {
            set_writer(writer);
            for &(state, on) in STATES {
                pages.set(on).unwrap();
                if state == State::NOP {
                    pages.restore_pristine();
                }
                for number in [0, 5, 7] {
                    let address = pages.site(number);
                    let mut target = 0;
                    for_each_site(&pages.keys[number % 4], |site| {
                        assert!(site.state == Some(state) || site.address != address);
                        target = if site.address == address { site.target } else { target };
                    })
                    .unwrap();
                    let displacement = Native::displacement(address as u64, target as u64).unwrap();
                    let old = state.encode::<Native>(displacement);
                    let expected = if on { old } else { State::NOP.encode::<Native>(displacement) };
                    for at in 0..old.len() {
                        let found = broken(old, BRANCH, at);
                        write_site(address, &found);
                        let error = watch.refused(|| pages.set(!on));
                        let Error::ForeignBytes { address: reported, expected: wanted, found: bytes } = error else {
                            panic!("{error:?}");
                        };
                        assert_eq!((reported, bytes), (address, found));
                        assert!(wanted == expected || wanted == old, "{wanted:02x?} was never there");
                        write_site(address, &old);
                    }
                }
                pages.set(!on).unwrap();
                assert!(pages.all(!on));
                pages.set(on).unwrap();
            }
        }
    });
}

/// The same bytes in a naked key's function. Neither kind of site may hold a state that only the other kind has.
#[test]
fn foreign_bytes_in_a_naked_function() {
    jumplabel::naked_key! { static NAKED: false; }
    passes(|| {
        let pages = sites();
        let watch = Watch::new(pages.raw());
        assert!(!NAKED.get());
        let (mut address, mut target) = (0, 0);
        for_each_site(&NAKED, |site| (address, target) = (site.address, site.target)).unwrap();
        let displacement = Native::displacement(address as u64, target as u64).unwrap();
        let both = |on| pages.keys[..4].iter().fold(Batch::new().set(&NAKED, on), |batch, key| batch.set(key, on));
        for (writer, on) in WRITERS.into_iter().flat_map(|writer| [(writer, false), (writer, true)]) {
            set_writer(writer);
            both(on).commit().unwrap();
            let state = Kind::of(format::NAKED).unwrap().emitted::<Native>(usize::from(on)).unwrap();
            let old = state.encode::<Native>(displacement);
            let others = STATES.iter().map(|&(state, _)| Code::new(format::NAKED, &state.encode::<Native>(-8)));
            let foreign =
                |code: &Code| Kind::of(format::NAKED).unwrap().decode::<Native>(*code, Some(displacement)).is_none();
            for found in others.filter(foreign).chain((0..old.len()).map(|at| broken(old, format::NAKED, at))) {
                write_site(address, &found);
                for_each_site(&NAKED, |site| assert_eq!((site.state, site.bytes), (None, found))).unwrap();
                let refusal = Error::ForeignBytes { address, expected: old, found };
                assert_eq!(watch.refused(|| both(!on).commit()), refusal);
                write_site(address, &old);
                assert_eq!((NAKED.get(), NAKED.count()), (on, i32::from(on)));
            }
            if Kind::of(BRANCH).unwrap().decode::<Native>(Code::new(BRANCH, &old), Some(displacement)).is_some() {
                continue; // The function has a site like a check's.
            }
            // A site that has become a function.
            let site = pages.site(3);
            // SAFETY: the bytes of a function of ours.
            let good = unsafe { *(site as *const [u8; Native::SIZE]) };
            write_site(site, &old);
            assert!(
                matches!(watch.refused(|| both(!on).commit()), Error::ForeignBytes { found, .. } if *found == *old)
            );
            write_site(site, &good);
        }
    });
}

fn write_site(address: usize, bytes: &[u8]) {
    assert_eq!(write_memory(address, bytes.as_ptr(), bytes.len()), bytes.len() as isize);
}

/// `code` with a breakpoint on one of its bytes.
fn broken(code: Code, kind: u8, at: usize) -> Code {
    let mut bytes = code.to_vec();
    bytes[at] = 0xcc;
    Code::new(kind, &bytes)
}

#[cfg(any(target_arch = "x86_64", target_arch = "x86", target_arch = "s390x"))]
#[test]
fn foreign_bytes_on_two_pages() {
    passes(|| {
        let pages = crossing();
        let watch = Watch::new(pages.raw());
        let page_size = jumplabel::platform::builtin().page_size();
        assert_eq!(pages.site(1) % page_size, page_size - 2);
        // SAFETY: the bytes of a function of ours.
        let good = unsafe { *(pages.site(1) as *const [u8; Native::SIZE]) };
        let mut bad = good;
        bad[4] = 0xcc;
        write_site(pages.site(1), &bad);
        assert!(matches!(watch.refused(|| pages.set(true)), Error::ForeignBytes { found, .. } if *found == bad));
        write_site(pages.site(1), &good);
        for writer in WRITERS {
            set_writer(writer);
            for on in [true, false] {
                pages.set(on).unwrap();
                assert!(pages.all(on));
            }
        }
    });
}
