//! A platform that refuses to write code, on command: the results of flips of keys declared `or_load`, alone and beside others.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use jumplabel::arch::State;
use jumplabel::platform::{Body, Extent, Failure, Held, Write, WriteReport, Writer, builtin};
use jumplabel::{
    Batch, Error, Outcome, RawKey, Refusal, Visibility, WriterKind, for_each_site, prepare, restore_pristine,
    static_branch_likely, static_branch_unlikely, static_key,
};
use jumplabel_testing::scenario::passes;
use jumplabel_testing::twin::{Twin, install};

static_key! {
    pub(super) static KEY: false, or_load;
    pub(super) static ON: true, or_load;
    pub(super) static ORDINARY: false;
    static UNCHECKED: false;
}

/// The number of writes that the platform still allows.
static WRITES: AtomicI64 = AtomicI64::new(0);
pub(super) const ALL: i64 = i64::MAX;

pub(super) fn allow(writes: i64) {
    WRITES.store(writes, Ordering::SeqCst);
}

/// The number of core syncs that the platform still allows.
static SYNCS: AtomicI64 = AtomicI64::new(ALL);

pub(super) fn allow_syncs(syncs: i64) {
    SYNCS.store(syncs, Ordering::SeqCst);
}

/// A page of text stays writable.
static LEFT: AtomicBool = AtomicBool::new(false);

/// A platform that writes as long as it is allowed to; otherwise it refuses to undo, too.
struct Refusing;

const EACCES: Refusal = Refusal::errno(libc::EACCES);

impl Twin for Refusing {
    fn open(
        &self,
        kind: WriterKind,
        extents: &[Extent],
        held: &mut Held,
        body: &mut Body<'_>,
    ) -> Result<WriteReport, Failure> {
        if WRITES.load(Ordering::SeqCst) == 0 {
            return Err(Failure::Refused(EACCES));
        }
        // SAFETY: called as `Platform::open` is.
        unsafe { builtin().open(kind, extents, held, &mut |writer| body(&mut Counting(writer))) }
    }

    fn left_writable(&self, _held: &mut Held) -> bool {
        LEFT.load(Ordering::SeqCst)
    }
}

struct Counting<'a>(&'a mut dyn Writer);

impl Writer for Counting<'_> {
    unsafe fn write(&mut self, writes: &[Write]) -> Result<(), (usize, Refusal)> {
        for (at, write) in writes.chunks(1).enumerate() {
            if WRITES.load(Ordering::SeqCst) <= 0 {
                return Err((at, EACCES));
            }
            WRITES.fetch_sub(1, Ordering::SeqCst);
            // SAFETY: a part of what the writer was opened for.
            unsafe { self.0.write(write) }.map_err(|(_, refusal)| (at, refusal))?;
        }
        Ok(())
    }
    fn sync(&mut self) -> Result<(), Refusal> {
        if SYNCS.fetch_sub(1, Ordering::SeqCst) <= 0 {
            return Err(EACCES);
        }
        self.0.sync()
    }
}

#[inline(never)]
fn key() -> [bool; 3] {
    [static_branch_likely!(KEY), static_branch_unlikely!(KEY), static_branch_unlikely!(KEY)]
}

#[inline(never)]
fn on() -> [bool; 2] {
    [static_branch_likely!(ON), static_branch_unlikely!(ON)]
}

#[inline(never)]
fn ordinary() -> [bool; 2] {
    [static_branch_likely!(ORDINARY), static_branch_unlikely!(ORDINARY)]
}

/// Asserts that all checks do what the counts say, and that the keys have the expected states.
#[track_caller]
pub(super) fn is(key_is: bool, on_is: bool, ordinary_is: bool) {
    assert_eq!((key(), on(), ordinary()), ([key_is; 3], [on_is; 2], [ordinary_is; 2]));
    assert_eq!((KEY.is_enabled(), ON.is_enabled(), ORDINARY.is_enabled()), (key_is, on_is, ordinary_is));
}

/// The number of sites of `key` that load.
pub(super) fn loading(key: &RawKey) -> usize {
    let mut loading = 0;
    for_each_site(key, |site| {
        let listed = format!("{site}");
        assert_eq!(listed.contains(" load -> "), site.loads, "{listed}");
        assert_eq!(site.state == Some(State::LOADS), site.loads, "{listed}");
        loading += usize::from(site.loads);
    })
    .unwrap();
    loading
}

#[track_caller]
pub(super) fn denied(result: Result<Outcome, Error>) {
    let Err(Error::Denied { refused }) = result else { panic!("{result:?}") };
    assert!(refused.iter().count() > 0 && refused.iter().all(|(_, refusal)| refusal == EACCES), "{refused:?}");
}

pub(super) fn begin() {
    install(Refusing);
    is(false, true, false);
    assert_eq!((loading(&KEY), loading(&ON), loading(&ORDINARY)), (3, 2, 0), "as compiled");
}

/// Every change works and is seen, nothing is written, and the outcome says so. Ordinary keys are refused as ever.
#[test]
fn from_the_start() {
    passes(|| {
        begin();
        assert!(matches!(prepare(), Err(Error::Denied { .. })));
        let done = |result: Result<Outcome, Error>, loading| {
            let outcome = result.unwrap();
            assert_eq!((outcome.loading, outcome.sites, outcome.primed, outcome.writer), (loading, 0, 0, None));
            assert_eq!(outcome.visibility, Visibility::Immediate);
        };
        for _ in 0..3 {
            done(KEY.enable(), 3);
            is(true, true, false);
            done(KEY.enable(), 0);
            done(ON.disable(), 2);
            is(true, false, false);
            done(KEY.inc(), 0);
            done(KEY.dec(), 0);
            is(true, false, false);
            done(KEY.dec(), 3);
            is(false, false, false);
            done(Batch::new().enable(&KEY).enable(&ON).commit(), 5);
            is(true, true, false);
            done(KEY.disable(), 3);
            is(false, true, false);
            denied(ORDINARY.enable());
            // A key without sites does not keep others from flipping.
            done(Batch::new().enable(&KEY).enable(&UNCHECKED).commit(), 3);
            done(Batch::new().disable(&KEY).disable(&UNCHECKED).commit(), 3);
            denied(restore_pristine(&KEY));
            is(false, true, false);
        }
        assert_eq!((loading(&KEY), loading(&ON)), (3, 2));
    });
}

/// A batch beside an ordinary key changes all or nothing, whichever comes first, in both directions.
#[test]
fn beside_an_ordinary_key() {
    passes(|| {
        begin();
        denied(Batch::new().enable(&KEY).enable(&ORDINARY).commit());
        denied(Batch::new().enable(&ORDINARY).disable(&ON).commit());
        denied(Batch::new().enable(&ORDINARY).enable(&KEY).disable(&ON).commit());
        is(false, true, false);
        KEY.enable().unwrap();
        denied(Batch::new().disable(&KEY).enable(&ORDINARY).commit());
        is(true, true, false);
        allow(ALL);
        Batch::new().disable(&KEY).disable(&ON).enable(&ORDINARY).commit().unwrap();
        is(false, false, true);
        allow(0);
        denied(Batch::new().disable(&ORDINARY).enable(&KEY).commit());
        is(false, false, true);
    });
}

/// Sites that were patched cannot be made to load again: the flip returns an error, and everything is as it was. Sites that load still follow.
#[test]
fn later() {
    passes(|| {
        begin();
        allow(ALL);
        let outcome = KEY.enable().unwrap();
        assert_eq!((outcome.sites, outcome.loading), (3, 0));
        assert_eq!(loading(&KEY), 0);
        KEY.disable().unwrap();
        assert_eq!(loading(&KEY), 0);
        allow(0);
        for _ in 0..2 {
            denied(KEY.enable());
            denied(KEY.inc());
            denied(Batch::new().enable(&KEY).disable(&ON).commit());
            is(false, true, false);
            assert_eq!(KEY.count(), 0);
        }
        let message = KEY.enable().unwrap_err().to_string();
        assert!(message.contains("or_load") && message.contains("patched before"), "{message}");
        assert_eq!(ON.disable().unwrap().loading, 2);
        is(false, false, false);
        allow(ALL);
        KEY.enable().unwrap();
        is(true, false, false);
        allow(0);
        for _ in 0..2 {
            denied(KEY.disable());
            denied(KEY.dec());
            denied(Batch::new().disable(&KEY).enable(&ON).commit());
            is(true, false, false);
            assert_eq!(KEY.count(), 1);
        }
        allow(ALL);
        KEY.disable().unwrap();
        is(false, false, false);
    });
}

/// A refusal ends: the next flip patches all sites.
#[test]
fn not_any_more() {
    passes(|| {
        begin();
        assert_eq!(ON.disable().unwrap().loading, 2);
        assert_eq!(ON.enable().unwrap().loading, 2);
        assert_eq!(loading(&ON), 2);
        allow(ALL);
        for _ in 0..2 {
            let outcome = ON.disable().unwrap();
            assert_eq!((outcome.sites, outcome.loading), (2, 0));
            is(false, false, false);
            let outcome = ON.enable().unwrap();
            assert_eq!((outcome.sites, outcome.loading), (2, 0));
            is(false, true, false);
        }
        assert_eq!(loading(&ON), 0);
    });
}

/// A page that a refused writer leaves writable is reported, though the flip succeeded.
#[test]
fn a_page_that_stays_writable() {
    passes(|| {
        begin();
        allow(0);
        // Sites that fall through need no load: they would be patched.
        for left in [false, true] {
            LEFT.store(left, Ordering::SeqCst);
            let outcome = if left { ON.disable() } else { KEY.enable() }.unwrap();
            assert!(outcome.loading > 0 && outcome.warnings.left_writable == left, "{outcome:?}");
        }
    });
}
