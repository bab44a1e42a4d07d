//! Refusals that have nothing to do with the system: counts, seals, full batches, re-entry, foreign bytes, damaged tables.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use jumplabel::arch::{Arch, Code, Kind, Native, State};
use jumplabel::format::{self, BRANCH};
use jumplabel::text::{Write, Writer, builtin};
use jumplabel::{
    Batch, Errno, Error, RawKey, WriterKind, for_each_key, for_each_site, prepare, probe, set_writer, static_key,
    text_reserved,
};

use crate::scenario::{fork, passes, reap};
use crate::seccomp::write_memory;
use crate::state::Watch;
use crate::twin::{Twin, install};

crate::pages::pages! { sites: 4 keys, 8 sites, every 1 pages, at 0 }
#[cfg(any(target_arch = "x86_64", target_arch = "x86", target_arch = "s390x"))] // Sites of others are aligned.
crate::pages::pages! { crossing: 1 keys, 2 sites, every 2 pages, at 4094 }

const WRITERS: [Option<WriterKind>; 4] =
    [None, Some(WriterKind::Procmem), Some(WriterKind::Mprotect), Some(WriterKind::Swap)];

/// The word of a key: what 2^31 calls of `inc` would bring it to, in no time.
fn word(key: &'static RawKey) -> &'static AtomicI32 {
    // SAFETY: a RawKey begins with its word, and nobody else is there.
    unsafe { &*std::ptr::from_ref(key).cast() }
}

#[test]
fn counts_and_seals() {
    passes(|| {
        let [a, b, c, d] = [0, 1, 2, 3].map(|at| -> &'static RawKey { &sites().keys[at] });
        let watch = Watch::new(sites().raw());

        assert_eq!(watch.refused(|| a.dec()), Error::Underflow);
        a.inc().unwrap();
        word(a).store(i32::MAX, Ordering::SeqCst);
        assert_eq!(watch.refused(|| a.inc()), Error::Overflow);
        assert_eq!(a.seal(), Err(Error::Overflow));
        assert!(!a.fast_inc_not_disabled() && a.count() == i32::MAX);
        a.dec().unwrap();
        a.inc().unwrap();
        assert_eq!(watch.refused(|| a.disable()), Error::Counted { count: i32::MAX });
        // Nothing of a batch happens where one of its keys is refused, wherever in it that key stands.
        b.enable().unwrap();
        let batch = || Batch::new().disable(b).enable(c).disable(a).enable(d).commit();
        assert_eq!(watch.refused(batch), Error::Counted { count: i32::MAX });
        word(a).store(1, Ordering::SeqCst);
        batch().unwrap();
        assert!(!a.is_enabled() && !b.is_enabled() && c.is_enabled() && d.is_enabled() && sites().agree());

        d.seal().unwrap();
        assert_eq!(watch.refused(|| d.dec()), Error::Sealed);
        assert_eq!(watch.refused(|| Batch::new().disable(c).disable(d).commit()), Error::Sealed);
        assert_eq!(
            watch.refused(|| Batch::<1>::with_capacity().disable(c).enable(a).commit()),
            Error::BatchFull { capacity: 1 }
        );
        Batch::new().disable(c).enable(d).commit().unwrap();
        assert!(sites().agree());
    });
}

/// What this thread is refused while it is in the middle of a flip.
fn refused_in_mid_flip() {
    let keys = sites().keys;
    assert_eq!(keys[0].enable(), Err(Error::Reentrant));
    assert_eq!(sites().set(true), Err(Error::Reentrant));
    assert_eq!(keys[0].seal(), Err(Error::Reentrant));
    assert_eq!(jumplabel::settle(&keys[0]), Err(Error::Reentrant));
    assert_eq!(for_each_site(&keys[1], |_| ()), Err(Error::Reentrant));
    assert_eq!(jumplabel::text_reserved(0..1), Err(Error::Reentrant));
}

/// A platform whose writer flips.
struct Nested;

impl Twin for Nested {
    fn write(&self, writer: &mut dyn Writer, writes: &[Write]) -> Result<(), (usize, Errno)> {
        refused_in_mid_flip();
        // SAFETY: called as `Writer::write` is.
        unsafe { writer.write(writes) }
    }
}

#[test]
fn reentry() {
    passes(|| {
        install(Nested);
        for on in [true, false] {
            sites().set(on).unwrap();
            assert!(sites().all(on) && sites().agree());
        }
    });
}

/// Visitors of sites may flip, and may panic.
#[test]
fn visitors() {
    passes(|| {
        let keys = sites().keys;
        assert_eq!(for_each_site(&keys[0], |_| assert!(keys[0].inc().is_ok())), Ok(2));
        assert!(keys[0].count() == 2 && sites().agree());
        let panicked = std::panic::catch_unwind(|| for_each_site(&keys[0], |_| panic!("on purpose")));
        assert!(panicked.is_err());
        keys[0].dec().and_then(|_| keys[0].dec()).unwrap();
        assert!(sites().all(false));
    });
}

/// Handlers of `fork` that run while the patcher's own hold the lock: those that were registered before it. In the child
/// the lock is free from the start.
#[test]
fn handlers_of_fork() {
    passes(|| {
        sites().set(true).unwrap();
        IN_FORK.store(true, Ordering::SeqCst);
        let flips = || {
            sites().set(false).unwrap();
            sites().all(false)
        };
        reap(fork(flips));
        IN_FORK.store(false, Ordering::SeqCst);
        assert_eq!(REFUSED.load(Ordering::SeqCst), 2, "prepare, parent");
        assert!(sites().all(true) && flips());
    });
}

static IN_FORK: AtomicBool = AtomicBool::new(false);
static REFUSED: AtomicI32 = AtomicI32::new(0);

extern "C" fn flip_in_fork() {
    if IN_FORK.load(Ordering::SeqCst) {
        refused_in_mid_flip();
        REFUSED.fetch_add(1, Ordering::SeqCst);
    }
}

extern "C" fn register_before_all() {
    // SAFETY: handlers as long-lived as the program.
    unsafe { libc::pthread_atfork(Some(flip_in_fork), Some(flip_in_fork), None) };
}

#[used]
#[unsafe(link_section = ".preinit_array")]
static REGISTER: extern "C" fn() = register_before_all;

/// The states of a site, and whether its key is on there.
const STATES: &[(State, bool)] = &[
    (State::NOP, false),
    (State::JUMP, true),
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    (State::TEST, false),
];

/// What a debugger's breakpoint, a uprobe or another patcher leaves, on each byte of a site, in each state.
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
                    pages.settle();
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

/// The same in a naked key's function; and neither kind of site may hold what is only the other's.
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
                |code: &Code| Kind::of(format::NAKED).unwrap().decode::<Native>(*code, displacement).is_none();
            for found in others.filter(foreign).chain((0..old.len()).map(|at| broken(old, format::NAKED, at))) {
                write_site(address, &found);
                for_each_site(&NAKED, |site| assert_eq!((site.state, site.bytes), (None, found))).unwrap();
                let refusal = Error::ForeignBytes { address, expected: old, found };
                assert_eq!(watch.refused(|| both(!on).commit()), refusal);
                write_site(address, &old);
                assert_eq!((NAKED.get(), NAKED.count()), (on, i32::from(on)));
            }
            if Kind::of(BRANCH).unwrap().decode::<Native>(Code::new(BRANCH, &old), displacement).is_some() {
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
        assert_eq!(pages.site(1) % builtin().page_size(), builtin().page_size() - 2);
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

#[test]
fn writer_forced_by_an_unknown_name() {
    crate::scenario::Scenario::new().env("JUMPLABEL_WRITER", "bogus").passes(|| {
        let watch = Watch::new(sites().raw());
        assert_eq!(watch.refused(|| sites().set(true)), Error::UnknownWriter);
        assert_eq!(watch.refused(|| sites().keys[0].enable()), Error::UnknownWriter);
        assert_eq!(prepare(), Err(Error::UnknownWriter));
        assert_eq!(probe(), Err(Error::UnknownWriter));
        for name in ["bogus", "", "custom", "Swap", "swap "] {
            assert_eq!(WriterKind::named(name), Err(Error::UnknownWriter), "{name:?}");
        }
        for kind in WRITERS {
            assert_eq!(WriterKind::named(kind.map_or("auto", WriterKind::name)), Ok(kind));
        }
        // What needs no writer works.
        static_key! { static LONELY: false; }
        LONELY.enable().unwrap();
        set_writer(None);
        sites().set(true).unwrap();
        assert!(sites().all(true));
    });
}

unsafe extern "C" {
    #[link_name = "__start___jump_table"]
    static TABLE: [i32; 4];
    #[link_name = "__stop___jump_table"]
    static TABLE_END: [i32; 4];
    #[cfg(target_pointer_width = "64")]
    #[link_name = "__jumplabel_object"]
    static mut OBJECT: [usize; 7];
}

/// Makes this program's table writable, which is what no program does. Its words, four for each entry.
fn table() -> &'static mut [i32] {
    let (start, end) = (&raw const TABLE as usize, &raw const TABLE_END as usize);
    let page = start & !(builtin().page_size() - 1);
    // SAFETY: the pages of the table and what lies beside it, private to this process.
    unsafe {
        assert_eq!(libc::mprotect(page as *mut c_void, end - page, libc::PROT_READ | libc::PROT_WRITE), 0);
        std::slice::from_raw_parts_mut(start as *mut i32, (end - start) / 4)
    }
}

/// The address of this program's ELF header: where a linker takes an undefined weak symbol to be, in a program that can be
/// loaded anywhere.
fn header() -> usize {
    let record = std::fs::read_to_string("/proc/self/maps").unwrap();
    let program = std::env::current_exe().unwrap();
    let line = record.lines().find(|line| line.ends_with(program.to_str().unwrap())).unwrap();
    usize::from_str_radix(line.split('-').next().unwrap(), 16).unwrap()
}

/// Each word of an entry in turn leads out of the object, as a tool that moves code and forgets the table leaves it. Only the
/// flips are refused that may need its site; the rest works.
#[test]
fn damaged_tables() {
    #[derive(Clone, Copy, PartialEq, Debug)]
    enum Blocks {
        Nothing,
        ItsKey,
        TheObject,
    }
    use Blocks::{ItsKey, Nothing, TheObject};
    passes(|| {
        let words = table();
        let leads = |at: usize| (&raw const words[at] as usize).wrapping_add_signed(words[at] as isize);
        let entry = (0..words.len() / 4).find(|entry| leads(entry * 4) == sites().site(5)).unwrap();
        let [key, other] = [&sites().keys[1], &sites().keys[2]];
        assert_eq!(leads(entry * 4 + 2), key.address());
        let far = 0x7000_0000;
        let own = words[entry * 4 + 2];
        let key_word = &raw const words[entry * 4 + 2] as usize;
        let no_key = header().wrapping_sub(key_word) as i32;
        let cases = [
            (0, far, ItsKey),
            (0, -far, ItsKey),
            (0, own, ItsKey),
            (1, far, ItsKey),
            (2, far, TheObject),
            (2, own + 1, TheObject),
            (2, -8 - (key_word & 7) as i32, TheObject), // in the table
            (2, no_key, Nothing),
        ];
        for (word, bad, blocks) in cases {
            reap(fork(|| {
                let words = table();
                words[entry * 4 + word] = bad;
                // Without the slot for its key's address, it may be of any key.
                words[entry * 4 + 3] = if word == 2 && bad == far { 2 } else { 0 };
                let error = Error::DamagedTable { entry: &raw const words[entry * 4] as usize };
                let refused = |key: &'static RawKey| {
                    assert_eq!(key.enable(), Err(error), "{word} {bad:#x}");
                    assert_eq!(for_each_site(key, |_| ()), Err(error));
                    assert!(!key.is_enabled() && sites().all(false));
                };
                let works = |key: &'static RawKey, sites: usize| {
                    assert_eq!(key.enable().map(|outcome| outcome.sites), Ok(sites), "{word} {bad:#x}");
                    assert_eq!(for_each_site(key, |_| ()), Ok(sites));
                    key.disable().unwrap();
                };
                // Twice: without the index, and with it.
                for _ in 0..2 {
                    match blocks {
                        Nothing => works(key, 1),
                        ItsKey | TheObject => refused(key),
                    }
                    if blocks == TheObject {
                        refused(other)
                    } else {
                        works(other, 2)
                    }
                    let mut listed = 0;
                    for_each_key(|key| listed += usize::from(key.name.contains("::misuse::sites::"))).unwrap();
                    assert_eq!(listed, 4);
                    let site = sites().site(0);
                    assert!(text_reserved(site..site + 1).unwrap());
                }
                true
            }));
        }
        for on in [true, false] {
            sites().set(on).unwrap();
            assert!(sites().all(on));
        }
    });
}

/// A target beyond the reach of a jump lies outside of any real object and is refused as damage; so the object must have
/// no bounds to be checked against, as on a platform without program headers. With 32
/// bits, a jump reaches everything.
#[cfg(target_pointer_width = "64")]
#[test]
fn out_of_range() {
    passes(|| {
        let words = table();
        let find = |address: usize| {
            words
                .chunks(4)
                .position(|entry| (&raw const entry[0] as usize).wrapping_add_signed(entry[0] as isize) == address)
        };
        let at = find(sites().site(6)).unwrap() * 4 + 1;
        let good = words[at];
        let word = &raw const words[at] as usize;
        // The far end of what the word can say, on the other side of the entry than the site.
        words[at] = if sites().site(6) > word { i32::MIN } else { i32::MAX };
        // No bounds: the last three of the words that the library writes.
        let record = &raw mut OBJECT;
        // SAFETY: the beginning of this program's record; nobody else flips.
        let place = unsafe { &mut *record }.split_at_mut(4).1;
        assert!(place[1] != 0 && (2..32).contains(&place[2]), "not where program headers are, and how many");
        let known = place.to_vec();
        place.fill(0);
        let error = sites().set(true).expect_err("was not refused");
        assert_eq!(error, Error::OutOfRange { address: sites().site(6) });
        assert!(sites().all(false) && sites().agree());
        words[at] = good;
        place.copy_from_slice(&known);
        for on in [true, false] {
            sites().set(on).unwrap();
            assert!(sites().all(on));
        }
    });
}
