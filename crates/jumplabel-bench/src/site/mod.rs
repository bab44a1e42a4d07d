//! `site`: the cost of a check as a constant, a site, a naked key and a load of an atomic, in two warm loops and a cold one.
//!
//! ```text
//!   first         decode each loop; stop if a check has other instructions than expected, or if a site loads
//!   each round    run every variant of every loop once, in random order; the baseline's time of the round is subtracted
//!   after all     median of the differences: warm, of all placements, with the least and the greatest; cold, with its 95 % interval
//! ```

mod checks;
pub(crate) mod cold;
pub(crate) mod decode;
pub mod loops;
#[cfg(target_arch = "x86_64")]
mod prefix;
mod targets;

use std::hint::black_box;

use perf_event::events::Hardware;
use serde_json::{Value, json};

use crate::Result;
use crate::counters::Counters;
use crate::isa::IS_X86;
use crate::placed::{self, PLACEMENTS, Placed, Spread};
use crate::report::{Chart, Report, Table};
use crate::samples::time;
use checks::{CHECKS, Check};
use decode::Path;
use loops::{CHECKS_A_TURN, LOOPS};

/// The turns of a warm loop in one sample, which takes about 100 us.
const TURNS: u64 = 5_000;

/// The measurements of one variant in one loop.
struct Row {
    shape: usize,
    check: Check,
    samples: Placed,
    /// The numbers of instructions, of loads and of padding instructions, in one turn or in all cells.
    path: [f64; 3],
    /// The instructions and cycles that the processor counts.
    counted: Option<[f64; 2]>,
}

/// The number of the cold loop. The warm loops have the numbers before it.
const COLD: usize = LOOPS.len();

pub fn run(quick: bool) -> Result<Report> {
    checks::store(&checks::FLAGS, false);
    checks::store(&checks::FLAGS_ON, true);
    cold::store();
    let mut rows = rows()?;
    assert_code(&rows)?;
    let mut counters = Counters::open([Hardware::INSTRUCTIONS, Hardware::CPU_CYCLES]);
    if let Ok(counters) = &mut counters {
        for row in &mut rows {
            row.prepare()?;
            row.counted = row.count(counters).ok();
        }
    }
    measure(&mut rows, quick)?;
    let mut report = Report::new("site", quick);
    for shape in 0..=COLD {
        shape_report(&mut report, &rows, shape);
    }
    targets::targets(&mut report, &rows);
    #[cfg(target_arch = "x86_64")]
    prefix::measure(&mut report, quick)?;
    if rows.iter().any(|row| row.path[2] > 0.0) {
        report.note("instructions: with those of two bytes that align a site of four; the target is for the others");
    }
    report.note(format!(
        "ns, warm: more than the baseline of the same round; the median of {PLACEMENTS} placements, from the least to the most; `constant` is the noise"
    ));
    report.note("ns, cold: the median of the differences, and its 95 % interval; its 64 checks are 64 placements");
    report.note("a warm, predicted load costs about what a site costs; the gain is in cold caches and in code size");
    match counters {
        Ok(_) => report.fact("counters", json!(true)),
        Err(error) => {
            report.note(format!("n/a: no hardware counters here ({error})"));
            report.fact("counters", json!(false));
        }
    }
    report.fact("optimised", json!(!cfg!(debug_assertions)));
    Ok(report)
}

/// Rows for all variants in all loops, with their decoded code.
fn rows() -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for shape in 0..=COLD {
        for check in CHECKS {
            let mut row = Row { shape, check, samples: Placed::default(), path: [0.0; 3], counted: None };
            row.prepare()?;
            row.path = row.path()?;
            rows.push(row);
        }
    }
    Ok(rows)
}

impl Row {
    fn prepare(&self) -> Result<()> {
        match self.shape {
            COLD => self.check.prepare(cold::keys(self.check)),
            _ if self.check.is_or_load() => self.check.prepare([&*checks::OR_LOAD]),
            _ if self.check.is_naked() => self.check.prepare([&*checks::NAKED]),
            _ => self.check.prepare([&*checks::KEY]),
        }
    }

    fn path(&self) -> Result<[f64; 3]> {
        if self.shape == COLD {
            let paths = cold::cells_of(self.check).map(|cell| Path::of_call(cell as usize));
            let sum = |part: fn(&Path) -> usize| paths.iter().map(part).sum::<usize>() as f64;
            return Ok([sum(Path::len), sum(Path::loads), sum(Path::pads)]);
        }
        let loops = LOOPS[self.shape].1(self.check);
        let paths = loops.map(|run| Path::of_loop(run as usize).map(|path| [path.len(), path.loads(), path.pads()]));
        let mut all = paths.into_iter().collect::<Result<Vec<_>>>()?;
        all.dedup();
        match all[..] {
            [path] => Ok(path.map(|count| count as f64)),
            // Without optimisation, nobody looks at the code.
            _ if cfg!(debug_assertions) => Ok([f64::NAN; 3]),
            _ => Err(format!("{} is not the same code in all placements: {all:?}", self.check.name()).into()),
        }
    }

    /// The number of checks in one sample.
    fn checks(&self) -> f64 {
        if self.shape == COLD { cold::CELLS as f64 } else { TURNS as f64 * CHECKS_A_TURN as f64 }
    }

    /// The number of checks in the decoded path.
    fn checks_on_path(&self) -> f64 {
        if self.shape == COLD { cold::CELLS as f64 } else { CHECKS_A_TURN as f64 }
    }

    fn sample(&mut self, sweep: &mut cold::Sweep, placement: usize) {
        let nanoseconds = if self.shape == COLD {
            let cells = cold::cells_of(self.check);
            sweep.sweep();
            time(|| _ = black_box(cold::pass(black_box(&cells))))
        } else {
            placed::nanoseconds(&LOOPS[self.shape].1(self.check), placement, TURNS)
        };
        self.samples.push(placement, nanoseconds / self.checks());
    }

    fn count(&self, counters: &mut Counters<2>) -> std::io::Result<[f64; 2]> {
        if self.shape == COLD {
            let cells = cold::cells_of(self.check);
            counters.count(|| _ = black_box(cold::pass(black_box(&cells))))
        } else {
            let [run, ..] = LOOPS[self.shape].1(self.check);
            counters.count(|| _ = black_box(run(black_box(TURNS))))
        }
    }
}

fn find(rows: &[Row], shape: usize, check: Check) -> &Row {
    rows.iter().find(|row| row.shape == shape && row.check == check).expect("all variants are in the list")
}

/// The instructions of one check, its loads, and its padding instructions.
fn of_check(rows: &[Row], row: &Row) -> [f64; 3] {
    let baseline = find(rows, row.shape, Check::Baseline);
    [0, 1, 2].map(|at| (row.path[at] - baseline.path[at]) / row.checks_on_path())
}

/// Returns an error if the compiler made code that does not fit the variant's name. Only optimised code is checked.
fn assert_code(rows: &[Row]) -> Result<()> {
    if cfg!(debug_assertions) {
        return Ok(());
    }
    for row in rows {
        let [instructions, loads, pads] = of_check(rows, row);
        let right = match row.check {
            Check::Baseline | Check::Constant => instructions == 0.0 && loads == 0.0,
            // On other instruction sets, a function that calls in its arm also saves the return address.
            Check::SiteOff | Check::SitePrimed | Check::OrLoadOff if !IS_X86 && row.shape == COLD => {
                (1.0..8.0).contains(&instructions)
            }
            // A site is one instruction. Where sites must be aligned, at most one padding instruction may come before it.
            Check::SiteOff | Check::SitePrimed | Check::OrLoadOff => {
                instructions - pads == 1.0 && loads == 0.0 && (0.0..=1.0).contains(&pads)
            }
            Check::SiteOn | Check::OrLoadOn => instructions > 1.0 && loads == 0.0,
            // A jump, a test of the count, a branch, a jump back. On other instruction sets, the stub also saves a register.
            Check::OrLoadUnpatched if IS_X86 => instructions == 4.0 && loads == 1.0,
            Check::OrLoadUnpatched => instructions >= 4.0 && loads >= 1.0,
            // A call, the two instructions of the called function, a test, a branch. In the cold loop, the caller calls nothing else; with this call
            // it must also align the stack or save the return address.
            Check::NakedOff | Check::NakedOn if IS_X86 => (5.0..8.0).contains(&instructions) && loads == 0.0,
            Check::NakedOff | Check::NakedOn => (4.0..16.0).contains(&instructions),
            Check::Relaxed | Check::Acquire | Check::SeqCst | Check::RelaxedOn => instructions >= 2.0 && loads == 1.0,
        };
        if !right {
            let name = row.check.name();
            return Err(format!("{name} is {instructions} instructions and {loads} loads a check: not measured").into());
        }
    }
    Ok(())
}

fn measure(rows: &mut [Row], quick: bool) -> Result<()> {
    let mut sweep = cold::Sweep::new();
    placed::rounds(crate::samples::budget(if quick { 3 } else { 30 }), rows.len(), |placement, at| {
        rows[at].prepare()?;
        rows[at].sample(&mut sweep, placement);
        Ok(())
    })
}

/// The difference between a row and the baseline.
fn more(rows: &[Row], row: &Row) -> Spread {
    let baseline = find(rows, row.shape, Check::Baseline);
    if row.shape != COLD {
        return row.samples.minus(&baseline.samples);
    }
    let difference = row.samples.all().minus(&baseline.samples.all());
    Spread { median: difference.median(), range: difference.interval() }
}

fn shape_report(report: &mut Report, rows: &[Row], shape: usize) {
    let name = if shape == COLD { "cold" } else { LOOPS[shape].0 };
    let baseline = find(rows, shape, Check::Baseline);
    let (rounds, baseline_ns) = (baseline.samples.rounds(), baseline.samples.spread().median);
    let title = format!("{name}: {baseline_ns:.2} ns a check without the check, {rounds} rounds");
    let head = ["a check", "ns", "from", "to", "", "instructions", "target", "", "loads", "counted", "cycles"];
    let mut table = Table::new(title, &head);
    let unit =
        if shape == COLD { "ns more than none" } else { "ns more than none: median of the placements, least and most" };
    let mut chart = Chart::new(format!("a check, {name}"), unit);
    let mut facts = Vec::new();
    for row in rows.iter().filter(|row| row.shape == shape && row.check != Check::Baseline) {
        let difference = more(rows, row);
        let [from, to] = difference.range;
        let [instructions, loads, pads] = of_check(rows, row);
        chart.bar(row.check.name(), difference.median, [from, to]);
        if !cfg!(debug_assertions) {
            report.count(format!("instructions of a check, {name}: {}", row.check.name()), instructions);
        }
        let counted = row.counted.zip(baseline.counted);
        let counted = counted.map(|(row_counted, base)| [0, 1].map(|at| (row_counted[at] - base[at]) / row.checks()));
        let exact =
            matches!(row.check, Check::SiteOff | Check::SitePrimed | Check::OrLoadOff) && (IS_X86 || shape != COLD);
        let met = instructions - pads == 1.0 && loads == 0.0;
        let instructions = format!("{instructions:.2}");
        let [wanted, verdict] = match (exact, met) {
            (false, _) => [""; 2],
            (true, true) => ["1", "ok"],
            (true, false) => ["1", "MISSED"],
        };
        if exact {
            report.judged(
                format!("a check in the {name} loop, {}: instructions", row.check.name()),
                &instructions,
                wanted,
                verdict,
            );
        }
        let cell = |at: usize| counted.map_or("n/a".to_owned(), |counted| format!("{:.2}", counted[at]));
        table.row([
            row.check.name().to_owned(),
            format!("{:.3}", difference.median),
            format!("{from:.3}"),
            format!("{to:.3}"),
            difference.verdict(0.0).to_owned(),
            instructions,
            wanted.to_owned(),
            verdict.to_owned(),
            format!("{loads:.0}"),
            cell(0),
            cell(1),
        ]);
        facts.push(json!({
            "check": row.check.name(),
            "load": row.check.is_load(),
            "ns": difference.median,
            "ns_interval": [from, to],
            "instructions": of_check(rows, row)[0],
            "instructions_that_align": pads,
            "loads": loads,
            "instructions_counted": counted.map(|counted| counted[0]),
            "cycles_counted": counted.map(|counted| counted[1]),
        }));
    }
    report.table(table);
    report.chart(chart);
    report.fact(
        ["latency_bound", "alu_saturated", "cold"][shape],
        json!({ "rounds": rounds, "baseline_ns": baseline_ns, "checks": Value::Array(facts) }),
    );
}
