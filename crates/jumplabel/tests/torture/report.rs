//! The lines that a run prints, and the table that its parent makes of them: one row for each cell.

use crate::cells::CELLS;
use crate::readers::Watch;
use crate::tally::Tally;

/// What was done in one cell with one writer.
#[derive(Clone)]
pub struct Row {
    pub writer: String,
    pub cell: usize,
    pub flips: u64,
    pub site_flips: u64,
    pub restored: u64,
    pub refused: u64,
    pub transactions: u64,
    pub met: u64,
    pub time: u64,
    pub met_time: u64,
    pub executions: u64,
    pub failures: u64,
}

impl Row {
    pub fn new(writer: &str, cell: usize, tally: &Tally, watch: &Watch) -> Row {
        Row {
            writer: writer.into(),
            cell,
            flips: tally.flips,
            site_flips: tally.site_flips,
            restored: tally.restored,
            refused: tally.refused,
            transactions: tally.transactions,
            met: tally.met,
            time: tally.time,
            met_time: tally.met_time,
            executions: watch.executions(cell),
            failures: watch.failures(cell),
        }
    }

    /// The line that [`Row::parse`] reads.
    pub fn print(&self) {
        let Row { writer, cell, flips, site_flips, restored, refused, .. } = self;
        let Row { transactions, met, time, met_time, executions, failures, .. } = self;
        print!("row\t{writer}\t{cell}\t{flips}\t{site_flips}\t{restored}\t{refused}");
        println!("\t{transactions}\t{met}\t{time}\t{met_time}\t{executions}\t{failures}");
    }

    pub fn parse(fields: &[&str]) -> Row {
        let number = |at: usize| fields[at].parse::<u64>().unwrap();
        Row {
            writer: fields[0].into(),
            cell: number(1) as usize,
            flips: number(2),
            site_flips: number(3),
            restored: number(4),
            refused: number(5),
            transactions: number(6),
            met: number(7),
            time: number(8),
            met_time: number(9),
            executions: number(10),
            failures: number(11),
        }
    }
}

/// Prints the rows.
pub fn print(rows: &[Row]) {
    println!();
    line(HEADER);
    for row in rows {
        let cell = &CELLS[row.cell];
        let numbers = [row.flips, row.site_flips, row.restored, row.refused, row.executions, row.met].map(grouped);
        let [flips, site_flips, restored, refused, executions, met] = &numbers;
        let failures = row.failures.to_string();
        let sites = grouped(cell.sites as u64);
        let name = cell.name;
        line([&row.writer, name, &sites, flips, site_flips, restored, refused, executions, met, &failures]);
    }
}

/// Prints the sums of some rows.
pub fn print_sums(of: &str, rows: &[Row]) {
    let sum = |field: fn(&Row) -> u64| rows.iter().map(field).sum::<u64>();
    let percent = |part: fn(&Row) -> u64, whole: fn(&Row) -> u64| 100.0 * sum(part) as f64 / sum(whole).max(1) as f64;
    println!(
        "{of}: {} key flips, {} site flips, {} sites restored, {} refusals undone, {} executions, {} failures; readers ran \
         during {:.1} % of the transactions, which took {:.0} % of the time of all",
        grouped(sum(|row| row.flips)),
        grouped(sum(|row| row.site_flips)),
        grouped(sum(|row| row.restored)),
        grouped(sum(|row| row.refused)),
        grouped(sum(|row| row.executions)),
        grouped(sum(|row| row.failures)),
        percent(|row| row.met, |row| row.transactions),
        percent(|row| row.met_time, |row| row.time),
    );
}

const HEADER: [&str; 10] = [
    "writer",
    "sites that",
    "sites",
    "key flips",
    "site flips",
    "restored",
    "refused",
    "executions",
    "met",
    "failures",
];

fn line(fields: [&str; 10]) {
    let [writer, name, sites, flips, site_flips, restored, refused, executions, met, failures] = fields;
    println!(
        "{writer:<9} {name:<13} {sites:>7} {flips:>13} {site_flips:>17} {restored:>15} {refused:>9} {executions:>18} \
         {met:>11} {failures:>8}"
    );
}

/// 1234567 as 1,234,567.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
