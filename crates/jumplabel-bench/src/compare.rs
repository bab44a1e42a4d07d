//! `compare`: compares two results, figure by figure. It shows ratios with their intervals. A count must not be larger in the newer result.

use std::path::Path;

use serde_json::Value;

use crate::Result;
use crate::report::figure;
use crate::suite::{self, Bar, parts};

/// The lines of a comparison, and the counts that have risen. (Times that have risen are not a failure, but a reason to look.)
pub struct Comparison {
    lines: Vec<String>,
    pub risen: Vec<String>,
}

pub fn run(before: &Path, after: &Path) -> Result<Comparison> {
    let [before, after] = [suite::read(before)?, suite::read(after)?];
    let mut lines = Vec::new();
    // The counts in the repository name no machine.
    if !before["machine"].is_null() && before["machine"] != after["machine"] {
        lines.push(format!("of two machines: {} and {}", before["machine"], after["machine"]));
    }
    let old = bars(&before);
    for (name, new) in bars(&after) {
        let Some((_, old)) = old.iter().find(|(of, _)| *of == name) else { continue };
        lines.push(format!("{name}: {}", ratio(old, &new)));
    }
    let old: Vec<_> = parts(&before).flat_map(|part| part.counts().collect::<Vec<_>>()).collect();
    let mut risen = Vec::new();
    for (what, new) in parts(&after).flat_map(|part| part.counts().collect::<Vec<_>>()) {
        let Some((_, old)) = old.iter().find(|(of, _)| *of == what) else { continue };
        if new > *old {
            risen.push(format!("{what}: {old} before, {new} now"));
        }
    }
    if lines.is_empty() && old.is_empty() {
        return Err("the two have no figure in common".into());
    }
    Ok(Comparison { lines, risen })
}

impl Comparison {
    pub fn text(&self) -> String {
        let risen = self.risen.iter().map(|count| format!("RISEN: {count}"));
        self.lines.iter().cloned().chain(risen).map(|line| line + "\n").collect()
    }
}

fn bars(results: &Value) -> Vec<(String, Bar<'_>)> {
    let mut all = Vec::new();
    for part in parts(results) {
        let name = part.name;
        for chart in part.charts() {
            let (title, unit) = (chart.title, chart.unit);
            all.extend(chart.bars.into_iter().map(|bar| (format!("{name}, {title}, {} ({unit})", bar.name), bar)));
        }
    }
    all
}

/// The ratio of the new figure to the old one, as text. If the intervals overlap, the text says that there is no difference. If a figure may be 0, it
/// gives no ratio.
fn ratio(old: &Bar<'_>, new: &Bar<'_>) -> String {
    let [old_from, old_to] = old.interval;
    let [new_from, new_to] = new.interval;
    let times = format!("{} before, {} now", figure(old.figure, 3), figure(new.figure, 3));
    if new_from <= old_to && old_from <= new_to {
        return format!("no difference measured ({times})");
    }
    if old_from <= 0.0 || new_from <= 0.0 {
        return format!("another ({times})");
    }
    let [least, most] = [new_from / old_to, new_to / old_from];
    format!("x {} ({} to {}; {times})", figure(new.figure / old.figure, 3), figure(least, 3), figure(most, 3))
}
