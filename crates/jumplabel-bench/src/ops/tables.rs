//! Makes the report of `ops`.

use object::{Object, ObjectSymbol};
use serde_json::{Value, json};

use super::columns::{BY_TABLE, CLOSED, COLUMNS, IN_PLACE, LOADS, Load, MAIN, OPEN, PARTS, UP};
use super::events::Counter;
use super::load::LAYOUTS;
use super::sites::Listing;
use super::{Cell, find};
use crate::Result;
use crate::callgrind::Events;
use crate::placed::Spread;
use crate::report::{Chart, Report, Table, Target, figure};
use crate::samples::Samples;

/// The addresses in memory and the sizes of this program's functions.
pub fn symbols() -> Result<Vec<(u64, u64)>> {
    let file = std::fs::read("/proc/self/exe")?;
    let object = object::File::parse(&*file)?;
    let is_here = |symbol: &object::Symbol<'_, '_>| symbol.address() != 0 && symbol.kind() == object::SymbolKind::Text;
    let functions = object.symbols().filter(is_here);
    let mut functions: Vec<_> = functions.map(|symbol| (symbol.address(), symbol.size())).collect();
    functions.sort_unstable();
    let here = super::simulated::counted_address();
    let name = "jumplabel_bench_counted";
    let of_file =
        object.symbols().find(|symbol| symbol.name() == Ok(name)).ok_or("no symbols: the program is stripped")?;
    let distance = here - of_file.address();
    Ok(functions.into_iter().map(|(at, size)| (at + distance, size)).collect())
}

/// The bytes of the function at an address, and the bytes from its end to the next function, which are stubs and alignment.
pub fn bytes(symbols: &[(u64, u64)], function: usize) -> [usize; 2] {
    let Some(at) = symbols.iter().position(|symbol| symbol.0 == function as u64) else { return [0; 2] };
    let (start, size) = symbols[at];
    let next = symbols[at..].iter().find(|symbol| symbol.0 > start).map_or(start + size, |symbol| symbol.0);
    [size as usize, (next - start - size) as usize]
}

/// The rows of the commit's table.
const ROWS: [&str; 10] = [
    "cycles",
    "instructions",
    "CPI",
    "cache references",
    "cache misses",
    "cache miss rate %",
    "branches",
    "branch misses",
    "branch miss rate %",
    "wallclock",
];
/// The rows that are rates. They are not shown relative to the plain column.
const RATES: [usize; 3] = [2, 5, 8];
/// The rows that need only the clock.
const TIMED: [usize; 2] = [0, 9];

/// Figures of the commit's own table, where "no table" is 100: one column for all operations except the lock operations, and one for direct calls.
const PUBLISHED: [(usize, [f64; 2]); 5] =
    [(0, [99.89, 102.18]), (1, [100.10, 100.15]), (2, [f64::NAN, 102.0]), (7, [f64::NAN, 107.7]), (9, [99.90, 102.20])];

/// The figure of a row for one turn of a column.
fn value(cell: &Cell, plain: &Cell, row: usize, seconds_a_tick: f64) -> f64 {
    let cycles = plain.median() * cell.over(plain)[0];
    let none = Events {
        instructions: f64::NAN,
        references: f64::NAN,
        misses: f64::NAN,
        branches: f64::NAN,
        mispredicted: f64::NAN,
    };
    let events = cell.events.unwrap_or(none);
    // If there are no references, the rate of misses is 0.
    let rate = |missed: f64, of: f64| if of == 0.0 { 0.0 } else { 100.0 * missed / of };
    let instructions = if events.instructions.is_nan() { cell.instructions } else { events.instructions };
    match row {
        0 => cycles,
        1 => instructions,
        2 => cycles / instructions,
        3 => events.references,
        4 => events.misses,
        5 => rate(events.misses, events.references),
        6 => events.branches,
        7 => events.mispredicted,
        8 => rate(events.mispredicted, events.branches),
        _ => cycles * seconds_a_tick * 1e9,
    }
}

pub fn all(report: &mut Report, cells: &[Cell], listing: &Listing, seconds_a_tick: f64, counter: Option<Counter>) {
    let mut facts = Vec::new();
    for load in LOADS {
        facts.extend(ten_rows(report, cells, load, seconds_a_tick, counter));
    }
    let mut table =
        Table::new("the commit's own table, 2009: of 100", &["", "no table", "all but lock ops", "direct calls"]);
    for (row, of) in PUBLISHED {
        table.row([ROWS[row].to_owned(), "100".to_owned(), figure(of[0], 2), figure(of[1], 2)]);
    }
    report.table(table);
    for load in [Load::Dense, Load::Inlined] {
        let mut table = Table::new(
            format!("backends, and lock ops in part: {}; cycles of 100", load.name()),
            &["", "cycles", "least layout", "most", "instructions", "of the table's"],
        );
        let Some(plain) = find(cells, 0, load) else { continue };
        let mut chart = Chart::new(format!("{}: cycles", load.name()), "% of no table: median, least and most layout");
        // The column of open arms is in the table but not in the chart: its bar would be much longer than all others.
        let is_drawn = |cell: &&Cell| cell.column < PARTS && cell.column != OPEN;
        for cell in cells.iter().filter(|cell| cell.load == load).filter(is_drawn) {
            let [middle, least, most] = cell.over(plain).map(|part| 100.0 * part);
            let backend = if cell.column >= MAIN { "backend: " } else { "" };
            chart.bar(format!("{backend}{}", COLUMNS[cell.column].name), middle, [least, most]);
        }
        report.chart(chart);
        for cell in cells.iter().filter(|cell| cell.load == load && cell.column >= MAIN) {
            let [middle, least, most] = cell.over(plain).map(|part| figure(100.0 * part, 1));
            let is_backend = cell.column < PARTS;
            let table_of = find(cells, BY_TABLE, load).filter(|_| is_backend);
            let of_table = table_of.map_or(f64::NAN, |of| 100.0 * cell.over(of)[0]);
            let name = COLUMNS[cell.column].name.to_owned();
            let name = if is_backend { format!("backend: {name}") } else { name };
            table.row([name, middle, least, most, figure(cell.instructions, 2), figure(of_table, 1)]);
            facts.push(json!({
                "load": load.name(), "column": COLUMNS[cell.column].name, "backend": format!("{:?}", COLUMNS[cell.column].backend),
                "cycles": 100.0 * cell.over(plain)[0], "stepped": cell.instructions, "of_table": of_table,
            }));
        }
        report.table(table);
    }
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
    let mut table = Table::new(format!("one of {} call sites that were patched", listing.sites), &["", "bytes", ""]);
    table.row(["the commit, before", "7 bytes", "callq *0x..."].map(str::to_owned));
    table.row(["the commit, after", "5 and 2 bytes", "callq <...>; a nop"].map(str::to_owned));
    table.row(["here, before".to_owned(), hex(&listing.before), "call *...(%rip)".to_owned()]);
    table.row(["here, after".to_owned(), hex(&listing.after), "call <...>; nop".to_owned()]);
    report.table(table);
    report.fact("columns", Value::Array(facts));
    report.fact("call_sites", json!({ "before": listing.before, "after": listing.after, "number": listing.sites }));
}

fn ten_rows(
    report: &mut Report,
    cells: &[Cell],
    load: Load,
    seconds_a_tick: f64,
    counter: Option<Counter>,
) -> Vec<Value> {
    let Some(plain) = find(cells, 0, load) else { return Vec::new() };
    let columns: Vec<&Cell> = (0..MAIN).filter_map(|column| find(cells, column, load)).collect();
    let head: Vec<&str> =
        ["", "a turn"].into_iter().chain(columns.iter().map(|cell| COLUMNS[cell.column].name)).collect();
    let mut table = Table::new(format!("{}: of 100", load.name()), &head);
    for (row, name) in ROWS.into_iter().enumerate() {
        let base = value(plain, plain, row, seconds_a_tick);
        let cell = |cell: &&Cell| {
            let value = value(cell, plain, row, seconds_a_tick);
            let shown = if RATES.contains(&row) {
                value
            } else if base == value {
                100.0
            } else {
                100.0 * value / base
            };
            if shown.is_finite() { figure(shown, 2) } else { "n/a".to_owned() }
        };
        let turn = if base.is_nan() { "n/a".to_owned() } else { figure(base, 2) };
        let unit = if row == 9 { format!("{turn} ns") } else { turn };
        let label = counter.filter(|_| !TIMED.contains(&row)).map_or("", Counter::label);
        table.row([format!("{name}{label}"), unit].into_iter().chain(columns.iter().map(cell)));
    }
    let spread = |cell: &&Cell| {
        let [_, least, most] = cell.over(plain);
        format!("{:.1}-{:.1}", 100.0 * least, 100.0 * most)
    };
    let row = |name: &str, of: &dyn Fn(&&Cell) -> String| {
        let head = [name.to_owned(), String::new()];
        head.into_iter().chain(columns.iter().map(of)).collect::<Vec<_>>()
    };
    // Marks columns that do not differ from "no table" by more than the layouts differ.
    let verdict = |cell: &&Cell| {
        let [middle, least, most] = cell.over(plain);
        let is_plain = cell.column == plain.column;
        if is_plain { "" } else { Spread { median: middle, range: [least, most] }.verdict(1.0) }.to_owned()
    };
    table.row(row("cycles, by layout", &spread));
    table.row(row("", &verdict));
    table.row(row("bytes of the loop", &|cell| cell.text[0].to_string()));
    table.row(row("bytes behind it", &|cell| cell.text[1].to_string()));
    report.table(table);
    let fact = |cell: &Cell| {
        let rows: Vec<f64> = (0..ROWS.len()).map(|row| value(cell, plain, row, seconds_a_tick)).collect();
        json!({
            "load": load.name(), "column": COLUMNS[cell.column].name, "backend": "Native", "rows": rows, "text": cell.text,
            "cycles": 100.0 * cell.over(plain)[0], "stepped": cell.instructions,
        })
    };
    columns.into_iter().map(fact).collect()
}

pub fn targets(report: &mut Report, cells: &[Cell], (switches, sites): (Samples, usize)) {
    let mut rows = Vec::new();
    for load in LOADS {
        let (Some(plain), Some(in_place)) = (find(cells, 0, load), find(cells, IN_PLACE, load)) else { continue };
        let instructions = |cell: &Cell| match cell.events {
            Some(events) if load == Load::Sparse => events.instructions,
            _ => cell.instructions,
        };
        let more = 100.0 * (instructions(in_place) / instructions(plain) - 1.0);
        rows.push((format!("native in place, instructions more, %: {}", load.name()), more, 0.05));
        // If the two are equally fast, 13 or more of 16 layouts are slower in 1 of 94 runs.
        let slower = in_place.by_layout(plain).filter(|&ratio| ratio > 1.0).count();
        rows.push((format!("native in place, of {LAYOUTS} layouts, slower: {}", load.name()), slower as f64, 12.0));
        if load == Load::Sparse {
            let direct = find(cells, 2, load).map_or(f64::NAN, instructions);
            rows.push((
                "density: direct calls, instructions more, %".into(),
                100.0 * (direct / instructions(plain) - 1.0),
                0.2,
            ));
        }
        let Some(table) = find(cells, BY_TABLE, load) else { continue };
        for (column, limit) in [(CLOSED, 110.0), (OPEN, f64::INFINITY)] {
            let of = find(cells, column, load).map_or(f64::NAN, |cell| 100.0 * cell.over(table)[0]);
            rows.push((format!("{}, % of table indirect: {}", COLUMNS[column].name, load.name()), of, limit));
        }
    }
    for load in [Load::Dense, Load::Inlined] {
        let (Some(native), Some(up)) = (find(cells, IN_PLACE, load), find(cells, UP, load)) else { continue };
        rows.push((format!("UP mode, % of native in place: {}", load.name()), 100.0 * up.over(native)[0], 60.0));
    }
    rows.push((format!("switch of a lock's {sites} sites, us, median"), switches.median(), 30.0));
    let mut table = Table::new("targets", &["", "figure", "target", ""]);
    let mut facts = Vec::new();
    for (what, figure, limit) in rows {
        let target = Target { figure, limit };
        let [shown, wanted, verdict] = target.cells();
        let [wanted, verdict] = if limit.is_finite() { [wanted, verdict] } else { [String::new(), "no target".into()] };
        facts.push(json!({ "what": what, "target": if limit.is_finite() { target.json() } else { json!({ "figure": figure }) } }));
        if limit.is_finite() {
            report.judged(format!("a table of operations: {what}"), &shown, &wanted, &verdict);
        }
        table.row([what, shown, wanted, verdict]);
    }
    report.table(table);
    report.fact("targets", json!(facts));
    report.fact("switch_us", json!({ "sites": sites, "p10": switches.quantile(0.1), "p50": switches.median() }));
}
