//! The stack that functions take that flip.

use std::process::Command;

use jumplabel_testing::cargo::{self, Build};

/// No row takes more than it may, and all rows are there. The twin of the measurement: a row that takes 2 KiB more is found out.
#[test]
fn flips_take_little_of_the_stack() {
    let results = Build::of("stack").results(&["stack"]);
    let printed = cargo::run(&mut Command::new(&results[0]));
    cargo::discard(&results);
    let rows: Vec<(&str, Vec<usize>)> = printed
        .lines()
        .map(|line| (line[..24].trim(), line[24..].split_whitespace().map(|word| word.parse().unwrap()).collect()))
        .collect();
    assert!(rows.len() == 13 && rows[0].0 == "enable, disable", "{printed}");
    let taken = |name| rows.iter().find(|row| row.0 == name).map(|(_, numbers)| numbers[0]).expect("a row");
    // A flip is a transaction: nobody does one with less. The list of a batch for 32 is on the stack.
    assert!(taken("enable, disable") > 600 && taken("a batch of one") > taken("a batch for four") + 600, "{printed}");
    let (twin, rows) = rows.split_last().expect("rows");
    assert!(rows.iter().all(|(_, numbers)| numbers[0] <= numbers[1]), "{printed}");
    assert!(twin.0 == "a twin" && twin.1[0] > twin.1[1], "{printed}");
}
