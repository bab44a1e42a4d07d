//! Shows static keys at work in a real program: a word and line indexer on all processors, with eight hooks in its hot
//! loop that are flipped while it runs.
//!
//! ```text
//!  phase 1   hooks off                                              a fifth of the time
//!  phase 2   hooks flipped by another thread, one by one and        half
//!            in batches, hundreds of times a second; the hash
//!            function led to another implementation, and the
//!            mode of lookups set
//!  phase 3   throughput of seven ways to run the same loop, in       the rest
//!            rounds, in arbitrary order within a round
//! ```
//!
//! Every pass of every phase is compared with a plain implementation: all words, all counts, all lines, and how often each hook ran. `index` has the
//! loop, and `plain` the plain implementation. `hash` and `lookup` have the call and the switch in the loop. `hooks` has the hooks and the ways to
//! switch them, and `flips` the flipping thread. `session` has the phases, `report` the output, and `operator` the keys that can be switched from
//! outside.
//!
//! Exit codes: 0 for success; 1 for a wrong result, a flip that was refused, or results that cannot be written; 2 for bad arguments or input.

mod flips;
mod hash;
mod hooks;
mod index;
mod input;
mod listing;
mod lookup;
mod operator;
mod plain;
mod report;
mod session;
mod tally;
mod word;
mod worker;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use clap::Parser;

use hash::{HASH, HASHES};
use input::{Input, Problem};
use listing::Listing;
use lookup::{LOOKUP, Lookup};
use report::{grouped, size};
use session::Session;
use tally::{TALLY, Tally};

/// A pass reads at least this number of bytes for each thread.
const PASS_BYTES: usize = 1_000_000;

/// Indexes text with all processors while the hooks in its hot loop are flipped, checks every result, and compares static
/// keys with relaxed atomics and with no hooks at all.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// Text files, and directories of them [default: the sources and documents of this project]
    paths: Vec<PathBuf>,
    /// How long to run
    #[arg(long, value_name = "N", default_value = "10", value_parser = seconds)]
    seconds: Duration,
    /// Makes one result of a pass wrong, to see that it is reported
    #[arg(long, hide = true)]
    inject_wrong_result: bool,
}

fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=86_400.0).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("not a number of seconds from 0 to 86400".into()),
    }
}

/// The reason why the program ends early.
enum Failure {
    Input(Problem),
    Flip(jumplabel::Error),
    Output(io::Error),
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Failure {
        Failure::Input(problem)
    }
}

impl From<jumplabel::Error> for Failure {
    fn from(error: jumplabel::Error) -> Failure {
        Failure::Flip(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Output(error)
    }
}

fn main() -> ExitCode {
    let (message, code) = match run(Options::parse()) {
        Ok(0) => return ExitCode::SUCCESS,
        Ok(1) => ("1 result is wrong".into(), 1),
        Ok(wrong) => (format!("{} results are wrong", grouped(wrong)), 1),
        Err(Failure::Flip(error)) => (format!("cannot flip: {error}"), 1),
        Err(Failure::Output(error)) => (format!("cannot write the results: {error}"), 1),
        Err(Failure::Input(problem)) => (problem.to_string(), 2),
    };
    // If stderr cannot be written either, the exit code alone reports the problem.
    let _ = writeln!(io::stderr(), "jumplabel-demo: {message}");
    ExitCode::from(code)
}

/// Reads the input and runs the demonstration. Returns the number of wrong results.
fn run(mut options: Options) -> Result<u64, Failure> {
    if options.paths.is_empty() {
        options.paths.push(concat!(env!("CARGO_MANIFEST_DIR"), "/../..").into());
    }
    let input = Input::read(&options.paths)?;
    let threads = thread::available_parallelism().map_or(2, |threads| threads.get().max(2));
    let (pieces, times) = input.pieces(PASS_BYTES * threads);
    let mut session = Session::new(&pieces, threads);
    if session.words() == 0 {
        return Err(Problem::Empty.into());
    }
    let out = &mut io::stdout();
    let [files, words] = [input.texts.len(), session.words()].map(|number| grouped(number as u64));
    let left_out = if input.cut { " (the rest is left out)" } else { "" };
    writeln!(out, "a word and line index of {files} files, {}{left_out}", size(input.bytes))?;
    writeln!(out, "{words} different words; {threads} threads; 8 hooks in the loop: {}", hooks::NAMES.join(", "))?;
    let reading = if times == 1 { "all of it".into() } else { format!("it {times} times") };
    writeln!(out, "each pass reads {reading} and is compared with a plain implementation, line by line")?;

    // Print wrong results even if a flip was refused later.
    let completed = phases(&mut session, &options, out);
    if let Err(Failure::Flip(_)) = completed {
        writeln!(out, "\nended early: a flip was refused")?;
    }
    let wrong = session.verdict(out)?;
    completed.map(|()| wrong)
}

/// Runs the phases. Then prints the code that flips change: a site, a trampoline, a switch and an operation.
fn phases(session: &mut Session<'_>, options: &Options, out: &mut impl Write) -> Result<(), Failure> {
    operator::own()?;
    let mut listing = Listing::default();
    listing.note_site("as compiled")?;
    listing.note_call("as compiled");
    listing.note_switch("as compiled");
    session.off(options.seconds.mul_f64(0.2), out)?;
    if options.inject_wrong_result {
        session.inject_wrong_result();
    }
    session.flipped(options.seconds.mul_f64(0.5), out)?;
    session.compared(options.seconds.mul_f64(0.3), out)?;
    hooks::set_keys(u8::MAX)?;
    listing.note_site("hook on")?;
    hooks::set_keys(0)?;
    listing.note_site("hook off again")?;
    for (target, when) in [(1, "by the table"), (2, "by eight bytes"), (0, "the first again")] {
        HASH.update(HASHES[target])?;
        listing.note_call(when);
    }
    for (mode, when) in [(Lookup::Counted, "counted"), (Lookup::Checked, "checked"), (Lookup::Plain, "plain again")] {
        LOOKUP.set(mode)?;
        listing.note_switch(when);
    }
    listing.note_operation("native")?;
    for (backend, when) in [(Tally::Off, "nothing"), (Tally::Counted, "native again")] {
        TALLY.set(backend)?;
        let before = tally::LINES.load(Ordering::Relaxed);
        tally::lines(1);
        let counted = tally::LINES.load(Ordering::Relaxed) - before;
        if counted != u64::from(backend == Tally::Counted) {
            session.note(format!("the backend {backend:?} has counted {counted} lines instead of one or none"));
        }
        listing.note_operation(when)?;
    }
    writeln!(out)?;
    Ok(listing.print(out)?)
}
