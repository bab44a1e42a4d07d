//! Measures jumplabel, and compares it with other ways to do the same. Flips: `flips` measures their latency, `scaling` how the latency grows, and
//! `peers` the latency with other crates. Checks: `site` measures the cost of a check, and `cache` the cost while caches are filled. `calls` measures
//! a call and an update, and `switch` a choice among three arms. `micro` has twelve small cases. `ops` measures tables of operations, and `up` `lock`
//! prefixes. `pipe` and `sqlite` measure the keys of a whole program, and `tracepoints` tracepoints without and with probes. `startup` measures the
//! time before `main` in a program with 10,000 sites, `compile` the cost for its compiler, and `size` the library's code. `report` puts all results
//! on one page. `compare` compares two reports.
//!
//! ```text
//!   compare machines                         comparison and table of stored results
//!   suite                                    all measurements, on one page
//!   calls compile layers listing micro ops peers scaling size switch tracepoints up
//!                                            measurements
//!   cache programs                           measurements with parts that other measurements use
//!   flips site startup                       the same; also `cache` and `programs` use parts of these
//!   placed                                   copies of a loop at several addresses
//!   report                                   tables and JSON
//!   step                                     counts instructions in a child process that executes one at a time
//!   callgrind cargo counters isa machine membarrier samples sites
//!                                            tools
//! ```
//!
//! A module uses only modules of lower lines. `make lint` reads this figure, and fails if a module uses another one.
//! docs/benchmarks.md says what each figure means.
//!
//! All measurements of time use one method. The variants take turns in one process, in an order that is random in each round. The time of a baseline
//! is subtracted. The reported figure is a quantile of many samples. Instructions, system calls, relocations and bytes are counted exactly, not
//! timed.
//!
//! Some measurements exist only for x86-64. On other machines they report this and measure nothing.

// Some code is used only by the measurements for x86-64, but is compiled for all instruction sets.
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
    /// Shorter measurements: about ten seconds instead of a minute.
    #[arg(long, global = true)]
    quick: bool,
    /// Prints one JSON object instead of tables.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum What {
    /// Latency of a flip, compared with the bare system calls of its writer and with the floor (writable code and one core sync).
    Flips,
    /// Listing of one function as in Linux's document: bytes and instructions with a key, and with a load.
    Listing,
    /// Latency of a flip by its number of sites and by the number of threads.
    Scaling,
    /// Nanoseconds and instructions of a check, compared with a constant and with loads of an atomic.
    Site,
    /// Cost of a check while caches are filled with other data: the benchmark of a published note, and its errors.
    Cache,
    /// Nanoseconds and instructions of a static call, compared with other ways to call, and the latency of an update.
    Calls,
    /// Cost of diagnostics that are off, guarded by a key or by the guards that programs use today.
    Layers,
    /// Cost of tracepoints without probes by their number, compared with none and with loads of atomics; cost of an emission with probes.
    Tracepoints,
    /// Nanoseconds and instructions of a choice among three arms, compared with a constant, a match and a table of functions.
    Switch,
    /// Twelve small cases: a nop, a jump, branches, loads, misses, sites, a static call, a switch.
    Micro,
    /// Cost of `lock` prefixes that are put in and taken out, compared with constants.
    Up,
    /// Cost of a table of operations in several ways, under two loads: the rows of the commit that made Linux's lock operations an option.
    Ops {
        /// Executes each loop. `ops` starts itself with this option under callgrind.
        #[arg(long, hide = true)]
        simulated: bool,
    },
    /// Flips compared with those of the crates `static-keys` and `static-key`, and the limits of these crates.
    Peers,
    /// A program with keys in its scheduler, compared with the same program with loads: the rows of the table in Linux's document.
    Pipe,
    /// A program with 8,000 assertions, each guarded by a key, compared with loads and with constants.
    Sqlite,
    /// Cost before `main` of a program with 10,000 sites and no flip.
    Startup,
    /// Cost of 10,000 checks for the compiler, compared with no checks and with the crate `static-keys`.
    Compile,
    /// Growth of a program by its first key, by section and by module.
    Size,
    /// All measurements, with their results as pages: report.md, report.html, results.json.
    Report {
        /// Runs only these measurements (names with commas between them).
        #[arg(long, value_delimiter = ',', value_name = "NAMES")]
        only: Vec<String>,
        /// Measures nothing, and makes the pages of these results.
        #[arg(long, value_name = "RESULTS.JSON", conflicts_with = "only")]
        from: Option<PathBuf>,
        /// Directory for the pages.
        #[arg(long, default_value = "target/report", value_name = "DIRECTORY")]
        to: PathBuf,
    },
    /// Table of the stored runs, one line for each machine: the table of docs/benchmarks.md.
    Machines {
        /// Also stores this run, and writes the table into the document.
        #[arg(long, value_name = "RESULTS.JSON", requires = "name")]
        keep: Option<PathBuf>,
        /// Name of the stored run: runs/NAME.json.
        #[arg(long, default_value = "")]
        name: String,
    },
    /// Compares two results. Fails if a count (instructions, bytes, system calls) has risen.
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

/// Prints the result. The exit code says whether the command succeeded.
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
