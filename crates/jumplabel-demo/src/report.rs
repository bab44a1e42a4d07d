//! What the program prints: a progress line on a terminal, results on stdout.
//!
//! Results go to stdout as soon as they are there, as plain text. The progress line goes to stderr, and only where that
//! is a terminal; it is wiped before anything else is printed, so that the two never mix.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use iced_x86::{Code, Decoder, DecoderOptions, Formatter, IntelFormatter, MemorySizeOptions};
use jumplabel::{Site, for_each_mode_site, for_each_site};

use crate::flips::Flips;
use crate::hash::HASH;
use crate::hooks;
use crate::lookup;
use crate::tally::TALLY;

/// A line on the terminal that says how far things are.
pub struct Progress {
    terminal: bool,
    shown: Option<Instant>,
}

impl Progress {
    const EVERY: Duration = Duration::from_millis(100);
    const WIDTH: usize = 78;

    /// Nothing is shown where stderr is not a terminal.
    pub fn new() -> Progress {
        Progress { terminal: io::stderr().is_terminal(), shown: None }
    }

    /// Shows a line, not too often.
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

/// The value below which `part` of the values lie.
fn quantile<T: Copy + PartialOrd>(values: &[T], part: f64) -> Option<T> {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| a.partial_cmp(b).expect("times and rates are numbers"));
    sorted.get((sorted.len().saturating_sub(1) as f64 * part).round() as usize).copied()
}

/// The middle value, 0 of none.
pub fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5).unwrap_or_default()
}

/// `1234567` as `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join(",")
}

/// A size in kB or MB.
pub fn size(bytes: usize) -> String {
    match bytes {
        ..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// What was flipped, and how long it took.
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
    /// What was measured.
    pub name: &'static str,
    /// MB/s, round by round.
    pub rates: Vec<f64>,
}

/// The table. All rates are compared with those of the first row in the same round.
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

/// The site in the loop that checks the hook `trace`, the trampoline of the hash function, and a switch by the mode of
/// lookups, as they were at several times.
#[derive(Default)]
pub struct Listing {
    rows: Vec<(&'static str, Site)>,
    calls: Vec<(&'static str, Trampoline)>,
    switches: Vec<(&'static str, Switch)>,
    operations: Vec<(&'static str, Operation)>,
}

/// An instruction of eight bytes, or the nop of as many.
#[derive(Clone, Copy)]
struct Operation {
    address: usize,
    bytes: [u8; 8],
}

/// `endbr64`, and the jump, which an update changes.
#[derive(Clone, Copy)]
struct Trampoline {
    address: usize,
    bytes: [u8; 9],
}

/// A jump to the arm of the mode.
#[derive(Clone, Copy)]
struct Switch {
    address: usize,
    bytes: [u8; 5],
}

impl Listing {
    /// Notes what the site holds now.
    pub fn note(&mut self, when: &'static str) -> Result<(), jumplabel::Error> {
        let mut found = None;
        // The loop's site is laid out for "off", unlike that of `checked_keys`.
        for_each_site(&hooks::KEYS[hooks::TRACE], |site| {
            if !site.arm {
                found.get_or_insert(site);
            }
        })?;
        self.rows.extend(found.map(|site| (when, site)));
        Ok(())
    }

    /// Notes what the trampoline of the hash function holds now.
    pub fn note_call(&mut self, when: &'static str) {
        let address = *HASH as *const () as usize;
        // SAFETY: code of this program, which goes on for longer than that; nobody updates now.
        let bytes = unsafe { std::ptr::read_volatile(address as *const [u8; 9]) };
        self.calls.push((when, Trampoline { address, bytes }));
    }

    /// Notes what the switch in [`lookup::taken`] holds now: the first jump of five bytes.
    pub fn note_switch(&mut self, when: &'static str) {
        let entry = lookup::taken as *const () as usize;
        // SAFETY: code of this program, which goes on for longer than that; nobody sets the mode now.
        let code = unsafe { std::ptr::read_volatile(entry as *const [u8; 32]) };
        let mut instructions = Decoder::with_ip(64, &code, entry as u64, DecoderOptions::NONE).into_iter();
        let Some(jump) = instructions.find(|instruction| instruction.code() == Code::Jmp_rel32_64) else { return };
        let address = jump.ip() as usize;
        let Some(&bytes) = code[address - entry..].first_chunk() else { return };
        self.switches.push((when, Switch { address, bytes }));
    }

    /// Notes what the operation in [`tally::lines`](crate::tally::lines) holds now.
    pub fn note_operation(&mut self, when: &'static str) -> Result<(), jumplabel::Error> {
        let mut found = None;
        for_each_mode_site(TALLY.raw().mode(), |site| found = Some(site.address))?;
        self.operations.extend(found.map(|address| {
            // SAFETY: code of this program, which goes on for longer than that; nobody sets the table now.
            let bytes = unsafe { std::ptr::read_volatile(address as *const [u8; 8]) };
            (when, Operation { address, bytes })
        }));
        Ok(())
    }

    /// Prints bytes and instructions.
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        self.print_site(out)?;
        self.print_call(out)?;
        self.print_switch(out)?;
        self.print_operation(out)
    }

    /// Elsewhere than on x86-64 it is a static call.
    fn print_operation(&self, out: &mut impl Write) -> io::Result<()> {
        let Some((_, first)) = self.operations.first() else {
            return writeln!(out, "no operation in place to show: in this build it is a call");
        };
        writeln!(out, "the operation that counts lines, at {:#x}", first.address)?;
        for (when, Operation { address, bytes }) in &self.operations {
            writeln!(out, "  {when:<16} {}   {}", hexadecimal(bytes), disassemble(bytes, *address)[0])?;
        }
        Ok(())
    }

    /// Without trampolines, a call is a load and a call of what was loaded: then the address changes.
    fn print_call(&self, out: &mut impl Write) -> io::Result<()> {
        let Some(((_, first), rest)) = self.calls.split_first() else { return Ok(()) };
        if rest.iter().any(|(_, now)| now.address != first.address) {
            return writeln!(out, "no trampoline to show: this build has none, a call is by a pointer");
        }
        writeln!(out, "the trampoline of the loop's hash function, at {:#x}", first.address)?;
        for (when, Trampoline { address, bytes }) in &self.calls {
            writeln!(out, "  {when:<16} {}   {}", hexadecimal(bytes), disassemble(bytes, *address).join("; "))?;
        }
        Ok(())
    }

    /// Without switches, a choice is a load and its branches, which do not change.
    fn print_switch(&self, out: &mut impl Write) -> io::Result<()> {
        let first = self.switches.first().map(|(_, first)| *first);
        let Some(first) = first.filter(|first| self.switches.iter().any(|(_, now)| now.bytes != first.bytes)) else {
            return writeln!(out, "no switch to show: this build has none, a choice is a load and its branches");
        };
        writeln!(out, "a switch by the mode of the loop's lookups, at {:#x}", first.address)?;
        for (when, Switch { address, bytes }) in &self.switches {
            writeln!(out, "  {when:<16} {}   {}", hexadecimal(bytes), disassemble(bytes, *address).join("; "))?;
        }
        Ok(())
    }

    fn print_site(&self, out: &mut impl Write) -> io::Result<()> {
        let Some((_, first)) = self.rows.first() else {
            return writeln!(out, "no site to show: this build has none, a check is a load, a test and a jump");
        };
        writeln!(out, "the site that checks the hook \"trace\" in the loop, at {:#x}", first.address)?;
        for (when, site) in &self.rows {
            let way = match site.state {
                Some(state) if state.falls_through() => "falls through",
                Some(_) => "jumps",
                None => "not ours",
            };
            let instruction = disassemble(&site.bytes, site.address).join("; ");
            writeln!(out, "  {when:<16} {}   {instruction:<26} {way}", hexadecimal(&site.bytes))?;
        }
        Ok(())
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

/// The instructions.
fn disassemble(bytes: &[u8], address: usize) -> Vec<String> {
    let mut formatter = IntelFormatter::new();
    let options = formatter.options_mut();
    options.set_hex_prefix("0x");
    options.set_hex_suffix("");
    options.set_uppercase_hex(false);
    options.set_small_hex_numbers_in_decimal(false);
    options.set_branch_leading_zeros(false);
    options.set_space_after_operand_separator(true);
    options.set_show_branch_size(false);
    options.set_memory_size_options(MemorySizeOptions::Always);
    let mut format = |instruction| {
        let mut text = String::new();
        formatter.format(&instruction, &mut text);
        text
    };
    Decoder::with_ip(64, bytes, address as u64, DecoderOptions::NONE).into_iter().map(&mut format).collect()
}
