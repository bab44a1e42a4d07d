//! Measures jumplabel, beside what stands in its place: `flips` (latency), `scaling` (its growth), `peers` (that of other crates), `site` (the cost of a check), `cache` (that of a check while caches are filled), `calls`
//! (the cost of a call and of an update), `switch` (the cost of a choice among three arms), `ops` (that of tables of operations),
//! `pipe` and `sqlite` (that of a whole program's keys), `tracepoints` (that of those that nobody looks at, and of probes), `up` (`lock` prefixes), `startup` (what a
//! program with 10,000 sites pays before `main`), `compile` (what its compiler pays), `size` (the library's code). `report` has all of them
//! in one page; `compare` sets two reports beside each other.
//! docs/benchmarks.md says what each figure means.
//!
//! All that take time keep to one method: the variants take turns in one process, in an order that is random in each round; a
//! baseline is subtracted; the figure is a quantile of many samples; and what can be counted exactly (instructions, system
//! calls, relocations, bytes) is counted, not timed.

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
compile_error!("jumplabel-bench measures the x86-64 Linux engine; build it for x86_64-unknown-linux-*");

mod cache;
mod calls;
mod cargo;
mod compare;
mod compile;
mod counters;
mod flips;
mod layers;
mod listing;
mod machine;
mod ops;
mod peers;
mod programs;
mod report;
mod samples;
mod scaling;
mod site;
mod sites;
mod size;
mod startup;
mod step;
mod suite;
mod switch;
mod tracepoints;
mod up;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Measures jumplabel.
#[derive(Parser)]
#[command(name = "jumplabel-bench", version)]
struct Arguments {
    #[command(subcommand)]
    what: What,
    /// About ten seconds in place of a minute.
    #[arg(long, global = true)]
    quick: bool,
    /// One JSON object in place of tables.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum What {
    /// The latency of a flip, beside the bare system calls of its writer, and the floor: code left writable and one core sync.
    Flips,
    /// One function as Linux's document lists it: bytes and instructions with a key, and with a load.
    Listing,
    /// How the latency of a flip grows, with its sites and with threads.
    Scaling,
    /// Nanoseconds and instructions of a check, beside a constant and loads of an atomic.
    Site,
    /// What a check costs while caches are filled with other data: the benchmark of a published note, and what is wrong with it.
    Cache,
    /// Nanoseconds and instructions of a static call, beside other ways to call, and the latency of an update.
    Calls,
    /// What diagnostics cost that are switched off, guarded by a key, and by what programs guard them with today.
    Layers,
    /// What dormant tracepoints cost, by their number, beside nothing and loads of atomics; and an emission that probes see.
    Tracepoints,
    /// Nanoseconds and instructions of a choice among three arms, beside a constant, a match and a table of functions.
    Switch,
    /// What `lock` prefixes cost, put in and taken out, beside constants.
    Up,
    /// What a table of operations costs, by each way to do them: the rows of the commit that brought Linux's option, of two loads.
    Ops {
        /// Executes each loop for callgrind, which this command starts.
        #[arg(long, hide = true)]
        simulated: bool,
    },
    /// Flips beside those of the crates `static-keys` and `static-key`, and what these cannot do.
    Peers,
    /// A program with keys in its scheduler, beside the same with loads: the rows of the table in Linux's document.
    Pipe,
    /// A program with 8,000 assertions, each behind a key, beside the same with loads and with constants.
    Sqlite,
    /// What a program with 10,000 sites and no flip costs before `main`.
    Startup,
    /// What 10,000 checks cost the compiler, beside none and those of the crate `static-keys`.
    Compile,
    /// How much larger a program is for its first key, by section and by module.
    Size,
    /// All of these, and what they come to as pages: report.md, report.html, results.json.
    Report {
        /// These alone, with commas between them.
        #[arg(long, value_delimiter = ',', value_name = "NAMES")]
        only: Vec<String>,
        /// Measures nothing: pages of these results.
        #[arg(long, value_name = "RESULTS.JSON", conflicts_with = "only")]
        from: Option<PathBuf>,
        /// Where they go.
        #[arg(long, default_value = "target/report", value_name = "DIRECTORY")]
        to: PathBuf,
    },
    /// Two results beside each other. Fails if a count has risen: instructions, bytes, system calls.
    Compare { before: PathBuf, after: PathBuf },
}

/// What a measurement yields; its error is a message for the user.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    if let Some(code) = compile::stand_in_for_rustc() {
        return code;
    }
    let arguments = Arguments::parse();
    let result = match arguments.what {
        What::Flips => flips::run(arguments.quick),
        What::Listing => listing::run(arguments.quick),
        What::Scaling => scaling::run(arguments.quick),
        What::Site => site::run(arguments.quick),
        What::Cache => cache::run(arguments.quick),
        What::Calls => calls::run(arguments.quick),
        What::Layers => layers::run(arguments.quick),
        What::Tracepoints => tracepoints::run(arguments.quick),
        What::Switch => switch::run(arguments.quick),
        What::Up => up::run(arguments.quick),
        What::Ops { simulated: true } => return ops::simulated(),
        What::Ops { simulated: false } => ops::run(arguments.quick),
        What::Peers => peers::run(arguments.quick),
        What::Pipe => programs::pipe::run(arguments.quick),
        What::Sqlite => programs::sqlite::run(arguments.quick),
        What::Startup => startup::run(arguments.quick),
        What::Compile => compile::run(arguments.quick),
        What::Size => size::run(arguments.quick),
        What::Report { only, from, to } => {
            let page = suite::run(arguments.quick, &only, from.as_deref(), &to);
            return said(page.map(|page| (format!("{}\n", page.display()), true)));
        }
        What::Compare { before, after } => {
            let comparison = compare::run(&before, &after);
            return said(comparison.map(|comparison| (comparison.text(), comparison.risen.is_empty())));
        }
    };
    said(result.map(|report| (if arguments.json { report.json() } else { report.text() }, true)))
}

/// Prints what came of it, and whether all is well.
fn said(result: Result<(String, bool)>) -> ExitCode {
    match result {
        Ok((text, is_well)) => {
            print!("{text}");
            if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("jumplabel-bench: {error}");
            ExitCode::from(2)
        }
    }
}
