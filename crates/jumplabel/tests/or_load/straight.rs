//! From its first flip on, a site does what any site does: it falls through or jumps straight to its arm, and loads nothing.

use std::sync::atomic::{AtomicI32, Ordering};

use jumplabel::arch::{Native, State};
use jumplabel::platform::{Body, Extent, Failure, Held, WriteReport};
use jumplabel::{
    Batch, RawKey, Refusal, WriterKind, for_each_site, prepare, restore_pristine, set_writer, static_branch_likely,
    static_branch_unlikely, static_key, verify,
};
use jumplabel_format::Arch;
use jumplabel_testing::scenario::{fork, passes, reap};
use jumplabel_testing::twin::{Twin, install};
use jumplabel_testing::writers;

static_key! {
    static OFF: false, or_load;
    static ON: true, or_load;
}

/// A likely and an unlikely check of each key. The stubs are far away, so a displacement to a stub and one to an arm differ in several bytes.
#[inline(never)]
fn checks() -> [[bool; 2]; 2] {
    let checks = [
        [static_branch_likely!(OFF), static_branch_unlikely!(OFF)],
        [static_branch_likely!(ON), static_branch_unlikely!(ON)],
    ];
    if std::hint::black_box(false) {
        // SAFETY: never executed.
        unsafe { std::arch::asm!(".skip 20000") };
    }
    checks
}

fn keys() -> [&'static RawKey; 2] {
    [OFF.raw(), ON.raw()]
}

/// Which of the checks load: only a check that loads follows the key's word if nobody but this function knows that the word has changed.
fn load() -> [[bool; 2]; 2] {
    let before = checks();
    for number in [0, 1] {
        assert_eq!(before[number], [keys()[number].is_enabled(); 2]);
    }
    let words = keys().map(|key| {
        // SAFETY: a key begins with its count (docs/table-format.md), an atomic. Nobody else uses it now.
        unsafe { AtomicI32::from_ptr(core::ptr::from_ref(key).cast_mut().cast()) }
    });
    let counts = words.map(|word| word.load(Ordering::SeqCst));
    words.iter().zip(counts).for_each(|(word, count)| word.store(i32::from(count == 0), Ordering::SeqCst));
    let after = checks();
    words.iter().zip(counts).for_each(|(word, count)| word.store(count, Ordering::SeqCst));
    [0, 1].map(|key| [0, 1].map(|check| before[key][check] != after[key][check]))
}

/// Whether each site that loads is listed as such, and each other one holds the instruction that its state says.
fn listed() -> usize {
    let mut loading = 0;
    for key in keys() {
        let visit = |site: jumplabel::Site| {
            loading += usize::from(site.loads);
            let straight = Native::displacement(site.address as u64, site.target as u64).unwrap();
            let jump = State::LOADING_JUMP.encode::<Native>(straight);
            let state = site.state.unwrap();
            assert_eq!(site.bytes == jump, state == State::LOADING_JUMP, "{site}");
            assert!(site.loads || state.falls_through() == (site.arm == key.is_enabled()), "{site}");
            assert_eq!(site.loads, state == State::LOADS, "{site}");
        };
        assert_eq!(for_each_site(key, visit).unwrap(), 2);
    }
    loading
}

const NONE: [[bool; 2]; 2] = [[false; 2]; 2];
const ALL: [[bool; 2]; 2] = [[true; 2]; 2];

fn flip(on: bool) {
    let outcome = Batch::new().set(&OFF, on).set(&ON, !on).commit().unwrap();
    assert_eq!((outcome.sites, outcome.loading), (4, 0));
    assert_eq!((load(), listed()), (NONE, 0));
}

/// Likely and unlikely checks, from either default, with each writer.
#[test]
fn after_a_flip() {
    let all = [None, Some(WriterKind::Procmem), Some(WriterKind::Mprotect), Some(WriterKind::Remap)];
    for writer in all.into_iter().filter(|writer| writers::works(*writer)) {
        passes(|| {
            reap(fork(|| {
                set_writer(writer);
                assert_eq!((load(), listed()), (ALL, 4));
                [true, false, true, false].into_iter().for_each(flip);
                true
            }));
        });
    }
}

/// A site that is to jump goes on loading until a flip of its key, because it would fall through for a moment.
#[test]
fn without_a_flip() {
    passes(|| {
        // A change to the present state changes nothing, and no site that is right is repaired.
        assert_eq!(OFF.disable().unwrap().sites, 0);
        assert_eq!(ON.enable().unwrap().sites, 0);
        assert_eq!(verify().unwrap().sites, 0);
        assert_eq!((load(), listed()), (ALL, 4));
        prepare().unwrap();
        let jumping = [[true, false], [false, true]];
        for _ in 0..2 {
            assert_eq!((load(), listed()), (jumping, 2));
            OFF.disable().unwrap();
            ON.enable().unwrap();
            assert_eq!(verify().unwrap().sites, 0);
            prepare().unwrap();
            restore_pristine(&OFF).unwrap();
            restore_pristine(&ON).unwrap();
        }
        flip(true);
        prepare().unwrap();
        verify().unwrap();
        restore_pristine(&OFF).unwrap();
        assert_eq!((load(), listed()), (NONE, 0));
        flip(false);
    });
}

/// A child patches what its parent did not, and the parent what the child has patched.
#[test]
fn in_parent_and_child() {
    passes(|| {
        reap(fork(|| {
            [true, false].into_iter().for_each(flip);
            true
        }));
        assert_eq!((load(), listed()), (ALL, 4));
        [true, false].into_iter().for_each(flip);
        reap(fork(|| {
            [true, false].into_iter().for_each(flip);
            true
        }));
    });
}

/// The twin: a platform that refuses. There all checks load, and `load` sees that.
#[test]
fn broken_twin_goes_on_loading() {
    struct Refusing;
    impl Twin for Refusing {
        fn open(&self, _: WriterKind, _: &[Extent], _: &mut Held, _: &mut Body<'_>) -> Result<WriteReport, Failure> {
            Err(Failure::Refused(Refusal::errno(libc::EACCES)))
        }
    }
    passes(|| {
        install(Refusing);
        for on in [true, false] {
            assert_eq!(Batch::new().set(&OFF, on).set(&ON, !on).commit().unwrap().loading, 4);
            assert_eq!((load(), listed()), (ALL, 4));
        }
    });
}
