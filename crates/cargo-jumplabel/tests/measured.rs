//! What an event of tracing, or a line of log, costs that nobody wants, with upstream's crates and with the patched ones; and an event that is on.
//! It measures, so it runs only if it is asked for:
//! `cargo test -p cargo-jumplabel --test measured -- --ignored --nocapture`.

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

#[test]
#[ignore = "measures"]
fn an_event_that_nobody_wants() {
    let upstream = build(&copy("traced", "measured-upstream"));
    let folder = copy("traced", "measured-patched");
    succeeds(&folder, &["tracing"]);
    succeeds(&folder, &["log"]);
    let patched = build(&folder);
    println!("ns of an event, more than none: median of 11 runs each, in turns");
    println!("{:40} {:>9} {:>9} {:>9}", "", "functions", "upstream", "patched");
    for (what, of, filter) in [
        ("tracing: no subscriber", "tracing", "none"),
        ("tracing: all off", "tracing", "off"),
        ("tracing: info, another module at trace", "tracing", "info,other=trace"),
        ("tracing: on, to a registry that drops it", "tracing", "trace"),
        ("log: all off", "log", "none"),
        ("log: another target at trace", "log", "other"),
        ("log: the same, and enabled_changed()", "log", "asked"),
    ] {
        for functions in ["10", "100", "1000"] {
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
    }
}
