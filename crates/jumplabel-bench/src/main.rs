//! Measures jumplabel, beside other ways to do the same. Flips: `flips` measures their latency, `scaling` how it grows, `peers` that of other crates.
//! Checks: `site` measures the cost of a check, `cache` that of a check while caches are filled. `calls` measures the cost of a call and of an
//! update, and `switch` that of a choice among three arms. `micro` has twelve small cases. `ops` measures tables of operations, and `up` the `lock`
//! prefixes. `pipe` and `sqlite` measure the keys of a whole program, and `tracepoints` tracepoints without and with probes. `startup` measures the
//! cost before `main` in a program with 10,000 sites, `compile` the cost for its compiler, and `size` the library's code. `report` puts all of them
//! on one page. `compare` sets two reports side by side.
//!
//! ```text
//!   compare machines                         reports beside each other
//!   suite                                    all measurements, as one page
//!   calls compile layers listing micro ops peers scaling size switch tracepoints up
//!                                            measurements
//!   cache programs                           measurements, parts of which others take
//!   flips site startup                       the same, and these take such parts
//!   placed                                   loops at chosen distances from a line of the cache
//!   report                                   tables and JSON
//!   step                                     a thread that executes each instruction alone, and counts
//!   callgrind cargo counters isa machine membarrier samples sites
//!                                            tools
//! ```
//!
//! A module uses modules of lower lines only. `make lint` reads this figure, and fails if a module does not keep to it.
//! docs/benchmarks.md says what each figure means.
//!
//! All measurements of time use one method. The variants take turns in one process, in an order that is random in each round. A baseline is
//! subtracted. The figure is a quantile of many samples. Whatever can be counted exactly (instructions, system calls, relocations, bytes) is counted,
//! not timed.
//!
//! Some measurements are written for x86-64. On other machines they say so, and measure nothing.

// Code that only the measurements for x86-64 use exists for all instruction sets.
#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code, unused_imports, unused_macros))]

#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"), target_os = "linux")))]
compile_error!("jumplabel-bench measures on Linux: build it for x86_64-, aarch64- or riscv64gc-unknown-linux-gnu");

#[cfg(target_arch = "x86_64")]
mod cache;
mod callgrind;
mod calls;
mod cargo;
mod compare;
mod compile;
mod counters;
mod flips;
mod isa;
mod layers;
#[cfg(target_arch = "x86_64")]
mod listing;
mod machine;
mod machines;
mod membarrier;
#[cfg(target_arch = "x86_64")]
mod micro;
#[cfg(target_arch = "x86_64")]
mod ops;
mod peers;
mod placed;
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
#[cfg(target_arch = "x86_64")]
mod tracepoints;
#[cfg(target_arch = "x86_64")]
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
    /// Twelve small cases beside each other: a nop, a jump, branches, loads, misses, sites, a static call, a switch.
    Micro,
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
    /// The runs that are kept, a line for each machine: the table of docs/benchmarks.md.
    Machines {
        /// Keeps this run, too, and writes the table into the document.
        #[arg(long, value_name = "RESULTS.JSON", requires = "name")]
        keep: Option<PathBuf>,
        /// What it is called: runs/NAME.json.
        #[arg(long, default_value = "")]
        name: String,
    },
    /// Two results beside each other. Fails if a count has risen: instructions, bytes, system calls.
    Compare { before: PathBuf, after: PathBuf },
}

/// The result of a measurement. Its error is a message for the user.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Runs a measurement that is written for x86-64. On another machine, makes a report that says so.
macro_rules! on_x86_64 {
    ($module:ident, $quick:expr) => {{
        #[cfg(target_arch = "x86_64")]
        {
            $module::run($quick)
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            Ok(report::Report::not_here(stringify!($module), $quick))
        }
    }};
}

fn main() -> ExitCode {
    if let Some(code) = compile::stand_in_for_rustc() {
        return code;
    }
    let arguments = Arguments::parse();
    let result = match arguments.what {
        What::Flips => flips::run(arguments.quick),
        What::Listing => on_x86_64!(listing, arguments.quick),
        What::Scaling => scaling::run(arguments.quick),
        What::Site => site::run(arguments.quick),
        What::Cache => on_x86_64!(cache, arguments.quick),
        What::Calls => calls::run(arguments.quick),
        What::Layers => layers::run(arguments.quick),
        What::Tracepoints => on_x86_64!(tracepoints, arguments.quick),
        What::Switch => switch::run(arguments.quick),
        What::Micro => on_x86_64!(micro, arguments.quick),
        What::Up => on_x86_64!(up, arguments.quick),
        #[cfg(target_arch = "x86_64")]
        What::Ops { simulated: true } => return ops::simulated(),
        What::Ops { .. } => on_x86_64!(ops, arguments.quick),
        What::Peers => peers::run(arguments.quick),
        What::Pipe => programs::pipe::run(arguments.quick),
        What::Sqlite => programs::sqlite::run(arguments.quick),
        What::Startup => startup::run(arguments.quick),
        What::Compile => compile::run(arguments.quick),
        What::Size => size::run(arguments.quick),
        What::Report { only, from, to } => {
            let screen = suite::run(arguments.quick, &only, from.as_deref(), &to);
            return said(screen.map(|screen| (screen, true)));
        }
        What::Machines { keep, name } => {
            return said(machines::run(keep.as_deref(), &name).map(|table| (table, true)));
        }
        What::Compare { before, after } => {
            let comparison = compare::run(&before, &after);
            return said(comparison.map(|comparison| (comparison.text(), comparison.risen.is_empty())));
        }
    };
    said(result.map(|report| (if arguments.json { report.json() } else { report.text() }, true)))
}

/// Prints the result. The exit code says whether all is well.
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
