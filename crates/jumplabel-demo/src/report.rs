//! The output of the program: a progress line on a terminal, results on stdout.
//!
//! Results go to stdout as soon as they are known, as plain text. The progress line goes to stderr, and only if stderr is a terminal. It is wiped
//! before anything else is printed, so that the two never mix.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use crate::flips::Flips;

/// A line on the terminal that shows the progress.
pub struct Progress {
    terminal: bool,
    shown: Option<Instant>,
}

impl Progress {
    const EVERY: Duration = Duration::from_millis(100);
    const WIDTH: usize = 78;

    /// A progress line. If stderr is not a terminal, it shows nothing.
    pub fn new() -> Progress {
        Progress { terminal: io::stderr().is_terminal(), shown: None }
    }

    /// Shows a line, unless less than [`Self::EVERY`] has passed since the last line was shown.
    pub fn show(&mut self, line: impl FnOnce() -> String) {
        if self.terminal && self.shown.is_none_or(|shown| shown.elapsed() >= Self::EVERY) {
            self.shown = Some(Instant::now());
            let _ = write!(io::stderr(), "\r{:1$.1$}", line(), Self::WIDTH);
        }
    }

    /// Wipes the line.
    pub fn wipe(&mut self) {
        if self.shown.take().is_some() {
            let _ = write!(io::stderr(), "\r{:1$}\r", "", Self::WIDTH);
        }
    }
}

/// The value below which the fraction `part` of the values lies.
fn quantile<T: Copy + PartialOrd>(values: &[T], part: f64) -> Option<T> {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| a.partial_cmp(b).expect("times and rates are numbers"));
    sorted.get((sorted.len().saturating_sub(1) as f64 * part).round() as usize).copied()
}

/// The middle value, or 0 if there are no values.
pub fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5).unwrap_or_default()
}

/// Writes `1234567` as `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join(",")
}

/// Writes a size in kB or MB.
pub fn size(bytes: usize) -> String {
    match bytes {
        ..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// Prints the numbers of flips, and their times.
pub fn flips(out: &mut impl Write, flips: &Flips, elapsed: Duration) -> io::Result<()> {
    let transactions = flips.single.len() + flips.batches.len() + flips.calls.len() + flips.modes.len();
    let rate = transactions as f64 / elapsed.as_secs_f64();
    let writers: Vec<_> = flips.writers.iter().map(|(name, times)| format!("{name} {}", grouped(*times))).collect();
    let writers = if writers.is_empty() { "none: this build has no sites".into() } else { writers.join(", ") };
    writeln!(out, "  flips: {} keys, {} sites rewritten", grouped(flips.keys), grouped(flips.sites))?;
    writeln!(out, "  transactions: {} ({rate:.0}/s); writers: {writers}", grouped(transactions as u64))?;
    writeln!(out, "  flip latency in us, waiting for a processor included")?;
    writeln!(out, "    {:<34} {:>8}  {:>8}  {:>8}", "", "p50", "p99", "max")?;
    let kinds = [
        ("one key", &flips.single),
        ("a batch of several keys", &flips.batches),
        ("the hash function", &flips.calls),
        ("the mode of lookups", &flips.modes),
    ];
    for (name, times) in kinds {
        let us = |part| quantile(times, part).unwrap_or_default().as_secs_f64() * 1e6;
        let name = format!("{name} ({} times)", grouped(times.len() as u64));
        writeln!(out, "    {name:<34} {:>8.1}  {:>8.1}  {:>8.1}", us(0.5), us(0.99), us(1.0))?;
    }
    if flips.eventual {
        writeln!(out, "  core sync was refused by the system: other threads saw the flips late")?;
    }
    Ok(())
}

/// A row of the table of throughputs: a name, and a rate in MB/s for each round.
pub struct Row {
    /// The way of running the loop that was measured.
    pub name: &'static str,
    /// MB/s, round by round.
    pub rates: Vec<f64>,
}

/// Prints the table. Each ratio compares a row's rate with the first row's rate in the same round.
pub fn table(out: &mut impl Write, rows: &[Row]) -> io::Result<()> {
    writeln!(out, "  MB of input in a second of processor time, and its ratio to the first row in the same round")?;
    writeln!(out, "  {:<34} {:>8}  {:>8}  {:>16}", "medians", "MB/s", "ratio", "half lie in")?;
    for row in rows {
        let ratios: Vec<_> = row.rates.iter().zip(&rows[0].rates).map(|(rate, first)| rate / first).collect();
        let [low, middle, high] = [0.25, 0.5, 0.75].map(|part| quantile(&ratios, part).unwrap_or_default());
        let spread = format!("{low:.3} .. {high:.3}");
        writeln!(out, "  {:<34} {:>8.1}  {middle:>8.3}  {spread:>16}", row.name, median(&row.rates))?;
    }
    Ok(())
}
