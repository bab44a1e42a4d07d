//! The flipper: visits cells, flips their keys as the cell says, checks what each flip reports, and counts.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use fastrand::Rng;
use jumplabel::arch::Native;
use jumplabel::{Error, Outcome, Visibility, WriterKind, for_each_site, restore_pristine};
use jumplabel_format::{Arch, Code, State};

use crate::cells::{CELLS, Kind};
use crate::change::{Change, batch};
use crate::readers::{Watch, chunk, seeded};
use crate::sites::Array;
use crate::tally::Tally;
use crate::{clock, promise, refusing, scenario, twins};

/// A visit goes on until readers ran during one of its flips, but not longer than this.
const PATIENCE: Duration = Duration::from_secs(20);

/// Visits a cell until the time is over. The calling thread makes its flips on the processor that it is on.
pub fn visit(watch: &Watch, cell: usize, writer: WriterKind, until: Instant) -> Tally {
    watch.cell.store(cell, Ordering::Relaxed);
    let random = seeded(100 + watch.executions(cell));
    let mut flipper = Flipper { watch, cell, writer, random, tally: Tally::default() };
    match CELLS[cell].kind {
        Kind::Single => flipper.until(until, Flipper::single),
        Kind::Batch => flipper.until(until, Flipper::batch),
        Kind::Refused => refusing::during(|| flipper.until(until, Flipper::refused)),
        #[cfg(target_arch = "x86_64")]
        Kind::Retarget => flipper.until(until, Flipper::retarget),
        #[cfg(target_arch = "x86_64")]
        Kind::RetargetRefused => refusing::during(|| flipper.until(until, Flipper::retarget)),
        Kind::Counted => return counted(watch, cell, writer, until),
    }
    flipper.tally
}

/// A thread that flips the keys of a cell.
pub struct Flipper<'a> {
    watch: &'a Watch,
    pub cell: usize,
    pub writer: WriterKind,
    pub random: Rng,
    pub tally: Tally,
}

impl Flipper<'_> {
    /// Works until sites were flipped, readers ran during a flip, and the time is over, or something failed.
    fn until(&mut self, until: Instant, mut work: impl FnMut(&mut Self)) {
        loop {
            work(self);
            let late = Instant::now().saturating_duration_since(until);
            if self.watch.failed() || (late > Duration::ZERO && self.tally.met > 0 && self.tally.site_flips > 0) {
                return;
            }
            if late > PATIENCE {
                return self.fail("no reader ran during any flip: a quiet run proves nothing".into());
            }
        }
    }

    /// Notes a failure.
    pub fn fail(&self, message: String) {
        if twins::is_for_readers() {
            return;
        }
        let cell = &CELLS[self.cell];
        self.watch.fail(self.cell, format!("flipper of {} {}: {message}", cell.name, cell.sites));
    }

    fn arrays(&self) -> &'static [&'static Array] {
        CELLS[self.cell].arrays
    }

    /// Each key there or back; before that, now and then, from the pristine state.
    fn single(&mut self) {
        for array in self.arrays() {
            for key in 0..array.keys.len() {
                if self.random.u8(..3) == 0 || (Native::STEPS > 1 && self.tally.restored == 0) {
                    self.restore_pristine(array, key);
                }
                let change = Change::toggle(array, key);
                self.flip(&[change], || change.carry_out());
            }
        }
    }

    /// Flips the first key of each array at once; now and then one of them alone, or restores pristine sites.
    fn batch(&mut self) {
        for array in self.arrays() {
            match self.random.u8(..12) {
                0 | 1 => self.restore_pristine(array, 0),
                2 => {
                    let change = Change::toggle(array, 0);
                    self.flip(&[change], || change.carry_out());
                }
                _ => {}
            }
        }
        let changes: Vec<Change> = self.arrays().iter().map(|array| Change::toggle(array, 0)).collect();
        self.flip(&changes, || batch(&changes).commit());
    }

    /// Makes one transaction over all keys, which is refused at some site and step. After the error, all sites must be old.
    fn refused(&mut self) {
        for array in self.arrays() {
            if self.random.u8(..3) == 0 {
                self.restore_pristine(array, 0);
            }
        }
        let changes: Vec<Change> = self.arrays().iter().map(|array| Change::toggle(array, 0)).collect();
        let before = self.bytes();
        let sites = self.arrays().len() * CELLS[self.cell].sites;
        refusing::after(match self.tally {
            Tally { refused: 0, .. } => self.random.usize(..sites) as i64, // each site has one piece at least
            Tally { site_flips: 0, .. } => i64::MAX,
            // On x86 at most three, of which the second is one of half of the sites.
            _ => self.random.usize(..sites * usize::from(Native::STEPS).max(2)) as i64,
        });
        changes.iter().for_each(|change| change.array.promises[change.key].withdraw());
        let result = self.timed(|| batch(&changes).commit());
        refusing::after(i64::MAX);
        let after = self.bytes();
        match result {
            Ok(outcome) => {
                self.tally.flips += changes.len() as u64;
                self.tally.site_flips += outcome.sites as u64;
            }
            Err(Error::Denied { .. }) => {
                self.tally.refused += 1;
                if before != after {
                    let wrong = before.iter().zip(&after).filter(|(before, after)| before != after).count();
                    self.fail(format!("{wrong} sites are not as before after a refusal"));
                }
            }
            Err(error) => self.fail(format!("{error:?}")),
        }
        changes.iter().for_each(|change| change.array.promises[change.key].give(change.on == result.is_ok()));
    }

    /// The bytes of all sites of the cell's first keys.
    fn bytes(&self) -> Vec<Code> {
        let mut bytes = Vec::new();
        for array in self.arrays() {
            if let Err(error) = for_each_site(&array.keys[0], |site| bytes.push(site.bytes)) {
                self.fail(format!("for_each_site: {error:?}"));
            }
        }
        bytes
    }

    /// Counts a transaction, and whether it met readers.
    pub fn timed<T>(&mut self, transaction: impl FnOnce() -> T) -> T {
        let seen = self.watch.executions(self.cell);
        let start = Instant::now();
        let result = transaction();
        let time = start.elapsed().as_nanos() as u64;
        self.tally.transactions += 1;
        self.tally.time += time;
        if self.watch.executions(self.cell) > seen {
            self.tally.met += 1;
            self.tally.met_time += time;
        }
        result
    }

    /// Makes `changes` by calling `flip`, and checks the outcome.
    fn flip(&mut self, changes: &[Change], flip: impl FnOnce() -> Result<Outcome, Error>) {
        changes.iter().for_each(|change| change.array.promises[change.key].withdraw());
        let result = self.timed(flip);
        let on = |change: &Change| change.on == result.is_ok();
        changes.iter().for_each(|change| change.array.promises[change.key].give(on(change)));
        self.judge(result, changes.iter().map(|change| change.array.sites_of_key()).sum());
        self.tally.flips += changes.len() as u64;
        if let Some(change) = changes.iter().find(|change| change.array.keys[change.key].is_enabled() != on(change)) {
            self.fail(format!("the key says {} after it was turned {}", !change.on, change.on));
        }
    }

    /// Checks that a flip succeeded, has written all sites with this writer, and is visible at once, if there is core sync. An emulator passes
    /// membarrier on to its host's kernel, which has it.
    fn judge(&mut self, result: Result<Outcome, Error>, sites: usize) {
        match result {
            Ok(outcome) => {
                self.tally.site_flips += outcome.sites as u64;
                let at_once = promise::CORE_SYNC || scenario::emulator().is_some();
                let visibility = if at_once { Visibility::Immediate } else { Visibility::Eventual };
                let expected = (sites, Some(self.writer), visibility, false);
                let found = (outcome.sites, outcome.writer, outcome.visibility, outcome.warnings.left_writable);
                if found != expected {
                    self.fail(format!("{outcome:?} instead of {expected:?}"));
                }
            }
            Err(error) => self.fail(format!("{error:?}")),
        }
    }

    /// Brings the sites that fall through back to the pristine nop, under running readers, whose promise stands.
    fn restore_pristine(&mut self, array: &'static Array, key: usize) {
        match restore_pristine(&array.keys[key]) {
            Ok(outcome) => self.tally.restored += outcome.sites as u64,
            Err(error) => return self.fail(format!("restore_pristine: {error:?}")),
        }
        let on = array.keys[key].is_enabled();
        let mut wrong = 0;
        let counted = for_each_site(&array.keys[key], |site| {
            let is_pristine = |state: State| {
                let action = usize::from(site.arm != on);
                Some(state) == state.kind().emitted::<Native>(action)
            };
            wrong += u64::from(!site.state.is_some_and(is_pristine) || !array.addresses().contains(&site.address));
        });
        if wrong > 0 || counted != Ok(array.sites_of_key()) {
            self.fail(format!("{wrong} sites are not pristine; {counted:?} sites"));
        }
    }

    /// A user of the shared key comes and goes; while it is there, the key is on.
    fn count(&mut self, own: usize) {
        let array = self.arrays()[0];
        let shared = &array.keys[0];
        let mut results = vec![self.timed(|| shared.inc())];
        self.on(array, "inc");
        if self.random.u8(..2) == 0 {
            results.push(self.timed(|| shared.inc()));
            self.on(array, "a second inc");
            results.push(self.timed(|| shared.dec()));
            self.on(array, "the dec of a second user");
        }
        let change = Change::toggle(array, own);
        self.flip(&[change], || change.carry_out());
        if self.random.u8(..4) == 0 {
            self.restore_pristine(array, own);
        }
        self.on(array, "a flip of another key");
        results.push(self.timed(|| shared.dec()));
        for result in results {
            match result {
                Ok(Outcome { sites: 0, .. }) => {}
                Ok(outcome) => {
                    self.tally.flips += 1;
                    self.judge(Ok(outcome), array.sites_of_key());
                }
                Err(error) => self.fail(format!("{error:?}")),
            }
        }
    }

    /// The shared key must be on.
    fn on(&mut self, array: &Array, after: &str) {
        promise::serialise();
        for _ in 0..16 {
            let site = self.random.usize(..array.sites_of_key()) * array.keys.len();
            let result = array.execute(site);
            if result != site as u32 * 2 + 1 || !array.keys[0].is_enabled() {
                self.fail(format!("site {site} returned {result} after {after}"));
            }
        }
    }
}

/// Three threads at once. Readers are promised nothing of the key that the threads share, because nobody knows when it is
/// off; the threads themselves know when it is on.
fn counted(watch: &Watch, cell: usize, writer: WriterKind, until: Instant) -> Tally {
    let array = CELLS[cell].arrays[0];
    array.promises[0].withdraw();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (1..array.keys.len())
            .map(|own| {
                scope.spawn(move || {
                    let random = seeded(200 + own as u64);
                    let mut flipper = Flipper { watch, cell, writer, random, tally: Tally::default() };
                    flipper.until(until, |flipper| {
                        flipper.count(own);
                        if let Err(message) = chunk(array, own, &mut flipper.random) {
                            flipper.fail(message);
                        }
                    });
                    watch.busy.fetch_add(clock::thread_nanos(), Ordering::Relaxed);
                    flipper.tally
                })
            })
            .collect();
        let mut tally = Tally::default();
        threads.into_iter().for_each(|thread| tally.add(thread.join().unwrap()));
        tally
    })
}
