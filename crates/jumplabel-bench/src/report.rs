//! The output of a command: aligned tables for people, or one JSON object for programs. Both begin with the machine.
//!
//! The object has members of the command, and members that all commands have. `tables` and `notes` are the printed ones, and `charts` has the charts.
//! `judged` has the targets. `counts` has the figures that do not depend on the machine and must not rise.

use serde_json::{Map, Value, json};

use crate::machine::Machine;

/// The result of one command.
pub struct Report {
    name: &'static str,
    quick: bool,
    machine: Machine,
    tables: Vec<Table>,
    charts: Vec<Chart>,
    counts: Map<String, Value>,
    judged: Vec<Value>,
    notes: Vec<String>,
    facts: Vec<(&'static str, Value)>,
}

impl Report {
    pub fn new(name: &'static str, quick: bool) -> Report {
        let (tables, charts, notes, facts) = Default::default();
        Report {
            name,
            quick,
            machine: Machine::here(),
            tables,
            charts,
            counts: Map::new(),
            judged: Vec::new(),
            notes,
            facts,
        }
    }

    /// A report that only says that this command exists for another instruction set. This is not a failure.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn not_here(name: &'static str, quick: bool) -> Report {
        let mut report = Report::new(name, quick);
        report.note(format!(
            "not on this machine: `{name}` is written for x86-64, and this is {}",
            std::env::consts::ARCH
        ));
        report.fact("not_here", json!(true));
        report
    }

    pub fn table(&mut self, table: Table) {
        self.tables.push(table);
    }

    pub fn chart(&mut self, chart: Chart) {
        self.charts.push(chart);
    }

    /// Adds a count, such as instructions, bytes or system calls. A count of NaN is left out, because it was not measured.
    pub fn count(&mut self, what: impl Into<String>, count: f64) {
        if !count.is_nan() {
            self.counts.insert(what.into(), count.into());
        }
    }

    /// Adds a figure with a limit to the list of all targets. `what` names the figure for a reader who does not see its table. Each verdict in a
    /// table or a note must also be added here.
    pub fn judged(&mut self, what: impl Into<String>, figure: &str, limit: &str, verdict: &str) {
        self.judged.push(json!({ "what": what.into(), "figure": figure, "limit": limit, "verdict": verdict }));
    }

    /// Adds a line that is printed after the tables.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Adds a member to the JSON object.
    pub fn fact(&mut self, name: &'static str, value: Value) {
        self.facts.push((name, value));
    }

    pub fn text(&self) -> String {
        let quick = if self.quick { ", --quick" } else { "" };
        let mut text = format!("{}; {}{quick}\n", self.machine.line(), self.name);
        for table in &self.tables {
            text += "\n";
            text += &table.text();
        }
        if !self.notes.is_empty() {
            text += "\n";
        }
        for note in &self.notes {
            text += &format!("{note}\n");
        }
        text
    }

    pub fn json(&self) -> String {
        let mut object = json!({
            "benchmark": self.name,
            "quick": self.quick,
            "machine": self.machine.json(),
            "tables": self.tables.iter().map(Table::json).collect::<Vec<_>>(),
            "charts": self.charts.iter().map(Chart::json).collect::<Vec<_>>(),
            "counts": self.counts,
            "judged": self.judged,
            "notes": self.notes,
        });
        for (name, value) in &self.facts {
            object[*name] = value.clone();
        }
        format!("{object}\n")
    }
}

/// A table with aligned columns. The first column is aligned to the left, and the others to the right.
pub struct Table {
    title: String,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(title: impl Into<String>, head: &[&str]) -> Table {
        Table { title: title.into(), rows: vec![head.iter().map(|&cell| cell.to_owned()).collect()] }
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The table as JSON. The first row is the head.
    fn json(&self) -> Value {
        json!({ "title": self.title, "rows": self.rows })
    }

    fn text(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let cells = |column: usize| self.rows.iter().filter_map(move |row| row.get(column));
        let width = |column| cells(column).map(|cell| cell.chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = format!("{}\n", self.title);
        for row in &self.rows {
            let mut line = String::new();
            for (at, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                line += &if at == 0 { format!("  {cell:<width$}") } else { format!("  {cell:>width$}") };
            }
            text += line.trim_end();
            text += "\n";
        }
        text
    }
}

/// A chart of bars. Each bar has the interval of its figure.
pub struct Chart {
    title: String,
    unit: &'static str,
    is_logarithmic: bool,
    bars: Vec<Value>,
}

impl Chart {
    pub fn new(title: impl Into<String>, unit: &'static str) -> Chart {
        Chart { title: title.into(), unit, is_logarithmic: false, bars: Vec::new() }
    }

    /// A chart with a logarithmic scale, for figures that differ by orders of magnitude.
    pub fn logarithmic(title: impl Into<String>, unit: &'static str) -> Chart {
        Chart { is_logarithmic: true, ..Chart::new(title, unit) }
    }

    /// Adds a bar. A figure of NaN is left out, because it was not measured.
    pub fn bar(&mut self, name: impl Into<String>, figure: f64, interval: [f64; 2]) {
        if !figure.is_nan() {
            self.bars.push(json!({ "name": name.into(), "figure": figure, "interval": interval }));
        }
    }

    fn json(&self) -> Value {
        json!({ "title": self.title, "unit": self.unit, "logarithmic": self.is_logarithmic, "bars": self.bars })
    }
}

/// A figure and its limit. A figure that was not measured is NaN; it neither meets nor misses the target.
#[derive(Clone, Copy)]
pub struct Target {
    pub figure: f64,
    pub limit: f64,
}

impl Target {
    /// Whether the figure keeps its limit. `None` if it was not measured.
    pub fn met(self) -> Option<bool> {
        (!self.figure.is_nan()).then_some(self.figure <= self.limit)
    }

    /// The cells `figure`, `<= limit` and verdict.
    pub fn cells(self) -> [String; 3] {
        let verdict = match self.met() {
            Some(true) => "ok",
            Some(false) => "MISSED",
            None => "not measured",
        };
        [figure(self.figure, 2), format!("<= {}", self.limit), verdict.to_owned()]
    }

    /// The target as JSON. A figure that was not measured is null.
    pub fn json(self) -> Value {
        json!({ "figure": self.figure, "limit": self.limit, "ok": self.met() })
    }
}

/// A figure with `digits` digits after the point, or a dash if it was not measured.
pub fn figure(figure: f64, digits: usize) -> String {
    if figure.is_nan() { "-".to_owned() } else { format!("{figure:.digits$}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(figure: f64) -> (Vec<String>, Value) {
        let target = Target { figure, limit: 1.5 };
        (target.cells().to_vec(), target.json())
    }

    #[test]
    fn targets() {
        let (cells, json) = verdict(1.5);
        assert_eq!((cells, &json["ok"]), (vec!["1.50".into(), "<= 1.5".into(), "ok".into()], &json!(true)));
        let (cells, json) = verdict(1.51);
        assert_eq!((cells, &json["ok"]), (vec!["1.51".into(), "<= 1.5".into(), "MISSED".into()], &json!(false)));
    }

    /// A figure is NaN if it has no samples, or no samples to compare it with. Then the target has no verdict, neither as text nor as JSON.
    #[test]
    fn what_was_not_measured_is_not_missed() {
        let none = crate::samples::Samples::default().quantile(0.1);
        for figure in [none, none / 2.0, 2.0 / none, none - 1.0] {
            let (cells, json) = verdict(figure);
            assert_eq!(cells, ["-", "<= 1.5", "not measured"]);
            assert_eq!((&json["figure"], &json["ok"]), (&Value::Null, &Value::Null));
        }
    }
}
