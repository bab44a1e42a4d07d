//! The stack that functions take that flip.

use std::process::Command;

use jumplabel_testing::cargo::{self, Build};

/// No row takes more than it may, and all rows are there. The twins of the measurement: rows that take 2 KiB more are found out, one of them by the
/// frame of a function that flips nothing.
#[test]
fn flips_take_little_of_the_stack() {
    let results = Build::of("stack").results(&["stack"]);
    let printed = cargo::run(&mut Command::new(&results[0]));
    cargo::discard(&results);
    let rows: Vec<(&str, Vec<usize>)> = printed
        .lines()
        .map(|line| (line[..24].trim(), line[24..].split_whitespace().map(|word| word.parse().unwrap()).collect()))
        .collect();
    assert!(rows.len() == 19 && rows[0].0 == "enable, disable", "{printed}");
    let taken = |name| rows.iter().find(|row| row.0 == name).map(|(_, numbers)| numbers[0]).expect("a row");
    // A flip is a transaction: nobody does one with less. The list of a batch for 32 is on the stack.
    assert!(taken("enable, disable") > 600 && taken("a batch of one") > taken("a batch for four") + 600, "{printed}");
    let (rows, twins) = rows.split_at(rows.len() - 2);
    assert!(rows.iter().all(|(_, numbers)| numbers[0] <= numbers[1]), "{printed}");
    assert!(twins.iter().all(|(name, numbers)| name.ends_with("twin") && numbers[0] > numbers[1]), "{printed}");
}
