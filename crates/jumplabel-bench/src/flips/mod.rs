//! `flips`: the time of a flip while another thread executes the sites. This time is compared with the bare system calls of the flip's writer, and
//! with the floor of the same number of sites.
//!
//! ```text
//!   before all    the very first flip of each group; then 10,000 flips of single sites, with the number of mappings before and after
//!   each round    for each group, one flip on and off again in each variant: floor, bare calls of each writer, automatic,
//!                 each writer, first flip of pristine sites; all in random order
//!   after all     quantiles of the samples during which the executing thread made calls; ratios of their p10 to the p10 of the
//!                 bare calls (these have targets) and of the floor (these show the limit of the machine)
//! ```

mod bare;
mod executor;
mod figures;
mod floor;
mod groups;
mod unchanged;

use std::time::{Duration, Instant};

use jumplabel::{RawKey, WriterKind, restore_pristine, set_writer};
use serde_json::json;

use crate::machine::mappings;
use crate::report::Report;
use crate::samples::Samples;
use crate::{Result, sites::Functions};
pub use executor::Executor;
pub use floor::{floor_of_one, open as open_floor, store_floor};
use groups::{Group, works};

/// For each group, the greatest allowed ratio of the p10 of an automatic flip to the p10 of the bare calls of its writer.
const LIMITS: [f64; 3] = [1.1, 1.1, 1.5];
/// The greatest allowed difference between the first flip of pristine sites and a flip of primed sites, in floors.
const FIRST_LIMIT: f64 = 3.0;
/// The greatest allowed ratio of the p10 of a flip of a naked key with 10,000 checks to that with a single check.
const NAKED_LIMIT: f64 = 1.25;
/// The number of flips of single sites after which the number of mappings must be the same as before.
const SINGLE_FLIPS: usize = 10_000;
/// `remap`, and `procmem` with thousands of sites, take milliseconds. So they run only in every eighth round.
const SELDOM: usize = 8;

/// A way to flip a group.
#[derive(Clone, Copy, PartialEq)]
enum Variant {
    Floor,
    /// Only the system calls and stores of a writer.
    Bare(WriterKind),
    Automatic,
    Forced(WriterKind),
    /// An automatic flip of sites that [`restore_pristine`] has made pristine.
    First,
}

impl Variant {
    fn name(self) -> &'static str {
        match self {
            Variant::Floor => "floor",
            Variant::Bare(WriterKind::Procmem) => "bare procmem",
            Variant::Bare(_) => "bare mprotect",
            Variant::Automatic => "automatic",
            Variant::Forced(kind) => kind.name(),
            Variant::First => "first flip",
        }
    }
}

/// The times of a group that is flipped in one way.
struct Cell {
    group: usize,
    variant: Variant,
    samples: Samples,
    tried: usize,
    writer: Option<WriterKind>,
}

impl Cell {
    fn new(group: usize, variant: Variant) -> Cell {
        Cell { group, variant, samples: Samples::default(), tried: 0, writer: None }
    }

    /// The fraction of the samples in which the executing thread made calls during the flip.
    fn overlap(&self) -> f64 {
        self.samples.len() as f64 / self.tried.max(1) as f64
    }

    fn microseconds(&self, part: f64) -> f64 {
        self.samples.quantile(part) / 1e3
    }
}

/// All measured groups. The groups with targets come first, then those around the crossover of the writers, then those of naked keys.
struct Bench {
    groups: Vec<Group>,
    executor: Executor,
    /// True if there are a floor and bare calls, which need `membarrier`.
    has_floor: bool,
}

pub fn run(quick: bool) -> Result<Report> {
    let mut groups = groups::groups()?;
    groups.extend(groups::steps()?);
    groups.extend(groups::naked()?);
    let floor = floor::open();
    let mut targets: Vec<Functions> = groups.iter().map(|group| group.sites).collect();
    targets.extend(groups.iter().map(|group| groups::floor(group.sites.count)));
    targets.push(groups::spread().1);
    targets.push(groups::many().1);
    let bench = Bench { executor: Executor::start(targets), groups, has_floor: floor.is_ok() };

    let mut report = Report::new("flips", quick);
    if let Err(error) = floor {
        report.note(format!("no floor and no bare calls here, so that nothing is compared with them: {error}"));
    }
    let before = mappings();
    let very_first = bench.very_first()?;
    let flips = bench.single_flips()?;
    let after = mappings();
    let cells = bench.rounds(quick)?;
    bench.report_latency(&mut report, &cells);
    bench.report_first(&mut report, &cells, &very_first);
    bench.report_crossover(&mut report, &cells);
    bench.report_unchanged(&mut report, quick)?;
    if crate::isa::IS_X86 {
        bench.report_naked(&mut report, &cells);
    } else {
        report.note("naked keys: not on this machine; their checks are written for x86-64");
    }
    report.note(format!("mappings: {before} before the first flip, {after} after {flips} flips of single sites"));
    report.fact("mappings", json!({ "flips": flips, "before": before, "after": after }));
    figures::report_memory(&mut report)?;
    // Without optimisation, the standard library makes one more system call for each file that it closes.
    let build = if cfg!(debug_assertions) { ", not optimised" } else { "" };
    let of_one = figures::system_calls(bench.groups[0].key);
    report.count(format!("system calls of a flip of one site, with one thread{build}"), of_one);
    Ok(report)
}

impl Bench {
    fn floor_target(&self, group: usize) -> usize {
        self.groups.len() + group
    }

    /// The microseconds of the first flip of each group in this process. Each flip copies the pages of its sites. The very first flip also builds the
    /// index and tries the writers.
    fn very_first(&self) -> Result<Vec<f64>> {
        let mut times = Vec::new();
        for (at, group) in self.groups.iter().enumerate() {
            let mut outcome = Ok(Default::default());
            let sample = self.executor.time(at, || outcome = group.key.enable());
            outcome?;
            group.key.disable()?;
            times.push(sample.nanoseconds / 1e3);
        }
        Ok(times)
    }

    /// Flips keys with one site each, on 200 pages, with both writers that the automatic choice can take.
    fn single_flips(&self) -> Result<usize> {
        let (keys, sites) = groups::spread();
        let target = 2 * self.groups.len();
        let writers: Vec<_> = [WriterKind::Mprotect, WriterKind::Procmem].into_iter().filter(works).collect();
        let mut flips = 0;
        while flips < SINGLE_FLIPS {
            set_writer(writers.get(flips / keys.len() / 2 % writers.len().max(1)).copied());
            for (at, key) in keys.iter().enumerate() {
                let on = !key.is_enabled();
                let mut result = Ok(());
                if flips % 100 == 0 {
                    self.executor.time(target, || result = set(key, on).map(|_| ()));
                } else {
                    result = set(key, on).map(|_| ());
                }
                result?;
                assert_eq!(sites.call(at), on, "a site is not in the state of its key");
                flips += 1;
            }
        }
        set_writer(None);
        Ok(flips)
    }

    fn rounds(&self, quick: bool) -> Result<Vec<Cell>> {
        let (rounds, budget) = if quick { (150, Duration::from_secs(6)) } else { (4000, Duration::from_secs(45)) };
        let mut cells = Vec::new();
        for (group, _) in self.groups.iter().enumerate() {
            let with_target = group < LIMITS.len();
            let forced = [WriterKind::Procmem, WriterKind::Mprotect].map(Variant::Forced);
            cells.extend(forced.map(|variant| Cell::new(group, variant)));
            if self.groups[group].naked {
                cells.push(Cell::new(group, Variant::Automatic));
            }
            if with_target {
                let more = [Variant::Floor, Variant::Automatic, Variant::Forced(WriterKind::Remap), Variant::First];
                cells.extend(more.map(|variant| Cell::new(group, variant)));
                let bare = [WriterKind::Procmem, WriterKind::Mprotect].map(Variant::Bare);
                cells.extend(bare.map(|variant| Cell::new(group, variant)));
            }
        }
        cells.retain(|cell| match cell.variant {
            Variant::Floor => self.has_floor,
            Variant::Bare(kind) => self.has_floor && works(&kind),
            _ => true,
        });
        // The first round warms up, and shows which writers the system refuses.
        let mut usable = Vec::new();
        for mut cell in cells {
            match self.sample(&mut cell) {
                Ok(()) => usable.push(Cell::new(cell.group, cell.variant)),
                Err(error) if matches!(cell.variant, Variant::Forced(_) | Variant::Bare(_)) => {
                    eprintln!("jumplabel-bench: {} is left out: {error}", cell.variant.name());
                }
                Err(error) => return Err(error),
            }
        }
        let mut cells = usable;
        let start = Instant::now();
        for round in 0..rounds {
            if start.elapsed() > budget {
                break;
            }
            fastrand::shuffle(&mut cells);
            for cell in &mut cells {
                if !self.is_seldom(cell) || round % SELDOM == 0 {
                    self.sample(cell)?;
                }
            }
        }
        set_writer(None);
        Ok(cells)
    }

    fn is_seldom(&self, cell: &Cell) -> bool {
        match cell.variant {
            Variant::Forced(WriterKind::Procmem) | Variant::Bare(WriterKind::Procmem) => {
                self.groups[cell.group].sites.count > 1000
            }
            Variant::Forced(WriterKind::Remap) => true,
            _ => false,
        }
    }

    /// Flips the group of the cell on and off again.
    fn sample(&self, cell: &mut Cell) -> Result<()> {
        let group = &self.groups[cell.group];
        set_writer(match cell.variant {
            Variant::Forced(kind) => Some(kind),
            _ => None,
        });
        if cell.variant == Variant::First {
            restore_pristine(group.key)?;
        }
        for on in [true, false] {
            let sites = match cell.variant {
                Variant::Floor => groups::floor(group.sites.count),
                _ => group.sites,
            };
            let sample = match cell.variant {
                Variant::Floor => self.executor.time(self.floor_target(cell.group), || floor::flip(&sites, on)),
                Variant::Bare(kind) => {
                    let mut result = Ok(());
                    let sample = self.executor.time(cell.group, || result = bare::flip(kind, &sites, on));
                    result?;
                    cell.writer = Some(kind);
                    sample
                }
                _ => {
                    let mut outcome = Ok(Default::default());
                    let sample = self.executor.time(cell.group, || outcome = set(group.key, on));
                    cell.writer = outcome?.writer;
                    sample
                }
            };
            for at in [0, sites.count / 2, sites.count - 1] {
                assert_eq!(sites.call(at), on, "a site is not in the state of its key");
            }
            // After a first flip, the flip back has primed sites, so it is not a sample.
            if on || cell.variant != Variant::First {
                cell.tried += 1;
                if sample.overlapped {
                    cell.samples.push(sample.nanoseconds);
                }
            }
        }
        Ok(())
    }
}

fn set(key: &RawKey, on: bool) -> std::result::Result<jumplabel::Outcome, jumplabel::Error> {
    if on { key.enable() } else { key.disable() }
}
