//! Measures the cost of an event of tracing, and of a line of log, that nobody wants, with upstream's crates and with the patched ones; and that of
//! an event that is on. Runs only on request: `cargo test -p cargo-jumplabel --test measured -- --ignored --nocapture`.

#[path = "measured/engine.rs"]
mod engine;
mod project;
#[path = "measured/requests.rs"]
mod requests;

use std::path::{Path, PathBuf};
use std::process::Command;

use jumplabel_testing::cargo::{Build, run};
use project::{copy, succeeds};

fn build(folder: &Path) -> PathBuf {
    let mut command = Build::of("traced").args(&["--release", "--bin", "spread"]).command("build");
    let to = folder.join("target");
    run(command.current_dir(folder).env("CARGO_TARGET_DIR", &to).env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "3"));
    to.join("release/spread")
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// Callgrind without a program, which the caller adds with its arguments.
fn callgrind() -> Command {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--smc-check=all", "--callgrind-out-file=/dev/null"]);
    command
}

/// The number of instructions that callgrind has counted.
fn collected(command: &mut Command) -> f64 {
    let output = command.output().unwrap();
    let says = String::from_utf8_lossy(&output.stderr);
    let (_, count) = says.split_once("Collected : ").unwrap_or_else(|| panic!("{says}"));
    count.split_whitespace().next().unwrap().parse().unwrap()
}

/// The instructions that each function executes more with an event than without one, counted by callgrind. There are a hundred functions; their
/// number makes no difference.
fn instructions(program: &Path, of: &str, filter: &str) -> f64 {
    let count =
        |of: &str, filter: &str, times: &str| collected(callgrind().arg(program).args([of, "100", filter, times]));
    let each = |of: &str, filter: &str| (count(of, filter, "110") - count(of, filter, "10")) / 10_000.0;
    each(of, filter) - each("nothing", "off")
}

/// A symbol without the hash that the compiler adds to its name, which some versions of nm show.
fn plain(symbol: &str) -> &str {
    match symbol.rsplit_once("::h") {
        Some((plain, hash)) if hash.len() == 16 => plain,
        _ => symbol,
    }
}

/// Prints the average size in bytes of each part of a callsite: of the symbols whose names have the same end.
fn bytes(program: &Path) {
    let symbols = run(Command::new("nm").args(["-SC"]).arg(program));
    let symbols: Vec<Vec<&str>> = symbols.lines().map(|line| line.split_whitespace().collect()).collect();
    for what in ["::with", "::without", "::with::__CALLSITE", "::with::__CALLSITE::META", "::with::__CALLSITE::__note"]
    {
        let is_it = |words: &&Vec<&str>| words.len() > 3 && plain(words[3]).ends_with(what);
        let sizes: Vec<u64> =
            symbols.iter().filter(is_it).map(|words| u64::from_str_radix(words[1], 16).unwrap()).collect();
        if let Some(average) = sizes.iter().sum::<u64>().checked_div(sizes.len() as u64) {
            println!("{what:40} {:>9} {average:>9} bytes", sizes.len());
        }
    }
}

#[test]
#[ignore = "measures"]
fn an_event_that_nobody_wants() {
    let upstream = build(&copy("traced", "measured-upstream"));
    let folder = copy("traced", "measured-patched");
    succeeds(&folder, &["tracing"]);
    succeeds(&folder, &["log"]);
    let patched = build(&folder);
    for (what, program) in [("upstream", &upstream), ("patched", &patched)] {
        println!("{what}: {}", run(Command::new("size").arg(program)));
        bytes(program);
    }
    println!("ns of an event, more than none: median of 11 runs each, in turns; and instructions");
    println!("{:40} {:>9} {:>9} {:>9}", "", "functions", "upstream", "patched");
    for (what, of, filter) in [
        ("tracing: no subscriber", "tracing", "none"),
        ("tracing: all off", "tracing", "off"),
        ("tracing: info, another module at trace", "tracing", "info,other=trace"),
        ("tracing: a span at trace", "tracing", "info,[request]=trace"),
        ("tracing: on, to a registry that drops it", "tracing", "trace"),
        ("log: all off", "log", "none"),
        ("log: another target at trace", "log", "other"),
        ("log: the same, and enabled_changed()", "log", "asked"),
    ] {
        for functions in ["1", "10", "100", "1000", "3000"] {
            let (mut of_upstream, mut of_patched) = (Vec::new(), Vec::new());
            for _ in 0..11 {
                for (program, times) in [(&upstream, &mut of_upstream), (&patched, &mut of_patched)] {
                    let printed = run(Command::new(program).args([of, functions, filter]));
                    times.push(printed.trim().parse::<f64>().unwrap());
                }
            }
            let [upstream, patched] = [of_upstream, of_patched].map(median);
            println!("{what:40} {functions:>9} {upstream:>9.2} {patched:>9.2}");
        }
        let [upstream, patched] = [&upstream, &patched].map(|program| instructions(program, of, filter));
        println!("{what:40} {:>9} {upstream:>9.2} {patched:>9.2}", "instr.");
    }
}
