//! Measures the cost of raft-engine's fail points for a write: upstream's fail points, those with keys, and none.

#[path = "../engine/built.rs"]
mod built;

use std::path::Path;
use std::process::Command;

use built::{built, data};
use jumplabel_testing::cargo::run;

use super::{callgrind, collected, median};

/// The number of instructions of a run that makes this number of writes.
fn instructions(program: &Path, number: &str) -> f64 {
    collected(callgrind().arg(program).arg(data(program)).arg(number))
}

#[test]
#[ignore = "measures"]
fn a_write() {
    let programs = [
        ("without fail points", built(false, "", "engine-without")),
        ("fail's", built(false, "failpoints", "engine-upstream")),
        ("with keys", built(true, "failpoints", "engine")),
    ];
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..21 {
        for ((_, program), times) in programs.iter().zip(&mut times) {
            let printed = run(Command::new(program).arg(data(program)).arg("20000"));
            times.push(printed.trim().parse::<f64>().unwrap());
        }
    }
    println!(
        "a write to raft-engine that nobody waits for: ns (median of 21 runs in turns), instructions, bytes of text"
    );
    for ((what, program), times) in programs.iter().zip(times) {
        let [few, many] = ["1000", "5000"].map(|number| instructions(program, number));
        let size = run(Command::new("size").arg(program));
        let text = size.lines().nth(1).unwrap().split_whitespace().next().unwrap();
        println!("{what:20} {:8.0} {:8.0} {text}", median(times), (many - few) / 4000.0);
    }
}
