//! The three phases: each is a sequence of passes, with a check after every pass.
//!
//! ```text
//!  pass::<Gate>   all threads index all pieces      ─► compared with the plain result: words, counts, lines
//!                 each hook counts how often it ran ─► off: never; on: each time; being flipped: anything between
//!                 each arm of lookups counts, too   ─► only the arm of the mode; any arm while the mode is being set
//! ```
//!
//! Phase 3 runs the ways in rounds, in arbitrary order within a round. The table compares only rates of the same round, because whatever slows the
//! machine for a while slows all ways of that round.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::Failure;
use crate::flips::Flips;
use crate::hooks::{self, Gate};
use crate::index::{self, Piece};
use crate::lookup::{LOOKUP, Lookup, Lookups};
use crate::operator::Asked;
use crate::plain::{self, Plain};
use crate::report::{self, Progress, Row, grouped};
use crate::worker::Worker;

/// Whether hooks should have run in a pass: never, each time, or sometimes because another thread flips them.
#[derive(Clone, Copy, PartialEq)]
enum Expected {
    Off,
    On,
    Flipped,
}

/// The ways to run the loop: the rows of the table.
#[derive(Clone, Copy)]
enum Way {
    Out,
    KeysPristine,
    KeysOff,
    AtomicsOff,
    In,
    KeysOn,
    AtomicsOn,
}

impl Way {
    const ALL: [(Way, &str); 7] = [
        (Way::Out, "hooks compiled out"),
        (Way::KeysPristine, "behind keys, off (as compiled)"),
        (Way::KeysOff, "behind keys, off (flipped before)"),
        (Way::AtomicsOff, "behind relaxed atomics, off"),
        (Way::In, "hooks compiled in"),
        (Way::KeysOn, "behind keys, on"),
        (Way::AtomicsOn, "behind relaxed atomics, on"),
    ];
}

/// The input, the threads' indexes, and the wrong results so far.
pub struct Session<'a> {
    pieces: &'a [Piece<'a>],
    bytes: usize,
    plain: Plain,
    workers: Vec<Worker<'a>>,
    progress: Progress,
    passes: u64,
    wrong: u64,
    examples: Vec<String>,
    ran: [u64; hooks::COUNT],
    lookups: Lookups,
    asked: Asked,
    inject: bool,
}

impl<'a> Session<'a> {
    /// Makes a session. Also computes the right result.
    pub fn new(pieces: &'a [Piece<'a>], threads: usize) -> Self {
        Session {
            pieces,
            bytes: pieces.iter().map(|piece| piece.text.len()).sum(),
            plain: plain::plain(pieces),
            workers: (0..threads).map(|_| Worker::default()).collect(),
            progress: Progress::new(),
            passes: 0,
            wrong: 0,
            examples: Vec::new(),
            ran: [0; hooks::COUNT],
            lookups: Lookups::default(),
            asked: Asked::default(),
            inject: false,
        }
    }

    /// The number of different words.
    pub fn words(&self) -> usize {
        self.plain.words.len()
    }

    /// Makes one result of the next pass wrong.
    pub fn inject_wrong_result(&mut self) {
        self.inject = true;
    }

    /// Runs phase 1: hooks off, sites as the compiler emitted them.
    pub fn off(&mut self, time: Duration, out: &mut impl Write) -> Result<(), Failure> {
        let (start, mut rates) = (Instant::now(), Vec::new());
        self.pass::<hooks::Keys>(Expected::Off); // This pass warms up the caches, and the indexes get their full size.
        while rates.is_empty() || start.elapsed() < time {
            rates.push(self.pass::<hooks::Keys>(Expected::Off));
            self.show("phase 1: hooks off", start, time, "");
        }
        self.phase("phase 1: hooks off", start, out)?;
        writeln!(out, "  {:.1} MB/s a thread", report::median(&rates))?;
        Ok(())
    }

    /// Runs phase 2: another thread flips the hooks. Then runs a pass in each mode of lookups.
    pub fn flipped(&mut self, time: Duration, out: &mut impl Write) -> Result<(), Failure> {
        let (start, mut rates, done) = (Instant::now(), Vec::new(), AtomicU64::new(0));
        let flips = thread::scope(|scope| {
            let flipper = scope.spawn(|| Flips::until(start + time, &done));
            while rates.is_empty() || !flipper.is_finished() {
                rates.push(self.pass::<hooks::Keys>(Expected::Flipped));
                let done = format!(", {} transactions", grouped(done.load(Ordering::Relaxed)));
                self.show("phase 2: flipping", start, time, &done);
            }
            flipper.join().expect("the flipping thread panicked")
        });
        let elapsed = start.elapsed();
        self.phase("phase 2: hooks flipped while the threads run", start, out)?;
        writeln!(out, "  {:.1} MB/s a thread", report::median(&rates))?;
        let flips = flips?;
        flips.wrong.iter().for_each(|wrong| self.note(wrong.clone()));
        for mode in [Lookup::Counted, Lookup::Checked, Lookup::Plain] {
            LOOKUP.set(mode)?;
            self.pass::<hooks::Keys>(Expected::Off);
        }
        Ok(report::flips(out, &flips, elapsed)?)
    }

    /// Runs phase 3: the same loop in seven ways.
    pub fn compared(&mut self, time: Duration, out: &mut impl Write) -> Result<(), Failure> {
        let (start, mut arbitrary) = (Instant::now(), fastrand::Rng::with_seed(1));
        let mut rows = Way::ALL.map(|(_, name)| Row { name, rates: Vec::new() });
        let mut order = [0, 1, 2, 3, 4, 5, 6];
        while rows[0].rates.is_empty() || start.elapsed() < time {
            arbitrary.shuffle(&mut order);
            for at in order {
                let rate = self.measure(Way::ALL[at].0)?;
                rows[at].rates.push(rate);
                self.show("phase 3: comparing", start, time, "");
            }
        }
        let rounds = grouped(rows[0].rates.len() as u64);
        let title = format!("phase 3: the same loop in seven ways, in arbitrary order, rounds: {rounds}");
        self.phase(&title, start, out)?;
        Ok(report::table(out, &rows)?)
    }

    fn measure(&mut self, way: Way) -> Result<f64, Failure> {
        // All keys go on first. So each site of a key that goes off again has been flipped, and is not as the compiler emitted it.
        hooks::set_keys(u8::MAX)?;
        if !matches!(way, Way::KeysOn) {
            hooks::set_keys(0)?;
        }
        if matches!(way, Way::KeysPristine) {
            hooks::restore_keys()?;
        }
        hooks::set_atomics(matches!(way, Way::AtomicsOn));
        Ok(match way {
            Way::Out => self.pass::<hooks::Out>(Expected::Off),
            Way::KeysPristine | Way::KeysOff => self.pass::<hooks::Keys>(Expected::Off),
            Way::AtomicsOff => self.pass::<hooks::Atomics>(Expected::Off),
            Way::In => self.pass::<hooks::In>(Expected::On),
            Way::KeysOn => self.pass::<hooks::Keys>(Expected::On),
            Way::AtomicsOn => self.pass::<hooks::Atomics>(Expected::On),
        })
    }

    /// Runs one pass and checks its result. Returns the throughput of one thread in MB/s.
    fn pass<G: Gate>(&mut self, expected: Expected) -> f64 {
        let busy = index::pass::<G>(self.pieces, &mut self.workers);
        if std::mem::take(&mut self.inject) {
            index::corrupt(&mut self.workers);
        }
        self.passes += 1;
        for wrong in plain::check(&self.plain, &self.workers) {
            self.note(wrong);
        }
        self.check_hooks(expected);
        self.check_lookups(expected);
        self.check_asked();
        self.bytes as f64 / busy.as_secs_f64() / 1e6
    }

    /// Checks that no hook ran while it was off, and that each hook ran on each occasion while it was on.
    fn check_hooks(&mut self, expected: Expected) {
        for (hook, name) in hooks::NAMES.iter().enumerate() {
            let most = if hook == hooks::LINES { self.plain.line_count } else { self.plain.word_count };
            let ran: u64 = self.workers.iter().map(|worker| worker.hooks.ran[hook]).sum();
            let right = match expected {
                Expected::Off => ran == 0,
                Expected::On => ran == most,
                Expected::Flipped => ran <= most,
            };
            if !right {
                self.note(format!("hook {name}: ran {ran} times in a pass with {most} occasions"));
            }
            self.ran[hook] += ran;
        }
        let failures: u64 = self.workers.iter_mut().map(|worker| std::mem::take(&mut worker.hooks.failures)).sum();
        if failures > 0 {
            self.note(format!("hooks verify and case: {failures} failures"));
        }
    }

    /// Checks that each lookup took the arm of the mode. While another thread sets the mode, a lookup may take any arm.
    fn check_lookups(&mut self, expected: Expected) {
        let (mut did, words, mode) = (Lookups::default(), self.plain.word_count, LOOKUP.get());
        self.workers.iter().for_each(|worker| did.add(worker.lookups));
        let right = match expected {
            Expected::Flipped => did.counted + did.checked <= words && did.failures == 0,
            Expected::Off | Expected::On => did == Lookups::all(mode, words),
        };
        if !right {
            self.note(format!("{did:?} in a pass with {words} lookups, mode {mode:?}"));
        }
        self.lookups.add(did);
    }

    /// Checks the work that the threads did because an operator asked for it.
    fn check_asked(&mut self) {
        let mut did = Asked::default();
        self.workers.iter().for_each(|worker| did.add(worker.asked));
        if did.failures > 0 {
            self.note(format!("{} of {} words in the indexes of the threads", did.failures, did.verified));
        }
        self.asked.add(did);
    }

    pub fn note(&mut self, wrong: String) {
        self.wrong += 1;
        if self.examples.len() < 10 {
            self.examples.push(format!("pass {}: {wrong}", self.passes));
        }
    }

    fn show(&mut self, phase: &str, start: Instant, time: Duration, more: &str) {
        let (passes, wrong) = (grouped(self.passes), self.wrong);
        let [elapsed, time] = [start.elapsed(), time].map(|time| time.as_secs_f64());
        self.progress.show(|| format!("{phase}, {elapsed:.1} of {time:.1} s, {passes} passes, {wrong} wrong{more}"));
    }

    /// Prints the heading of a phase's results.
    fn phase(&mut self, title: &str, start: Instant, out: &mut impl Write) -> io::Result<()> {
        self.progress.wipe();
        writeln!(out, "\n{title} ({:.1} s)", start.elapsed().as_secs_f64())
    }

    /// Prints the counts and the wrong results. Returns the number of wrong results.
    pub fn verdict(&mut self, out: &mut impl Write) -> io::Result<u64> {
        let calls = grouped(self.ran.iter().sum());
        writeln!(out, "\npasses checked: {}; hooks ran {calls} times", grouped(self.passes))?;
        let [counted, checked] = [self.lookups.counted, self.lookups.checked].map(grouped);
        writeln!(out, "lookups counted: {counted}; lookups checked: {checked}")?;
        let Asked { lines, verified, dropped, .. } = self.asked;
        if lines + verified + dropped > 0 {
            let [lines, verified, dropped] = [lines, verified, dropped].map(grouped);
            writeln!(
                out,
                "by an operator: lines written: {lines}; words verified: {verified}; buffers dropped: {dropped}"
            )?;
        }
        writeln!(out, "wrong results: {}", grouped(self.wrong))?;
        for example in &self.examples {
            writeln!(out, "  {example}")?;
        }
        if self.wrong > self.examples.len() as u64 {
            writeln!(out, "  and {} more", grouped(self.wrong - self.examples.len() as u64))?;
        }
        out.flush()?;
        Ok(self.wrong)
    }
}
