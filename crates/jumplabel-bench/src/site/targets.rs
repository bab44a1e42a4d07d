//! The targets of `site`, and whether they are met.

use serde_json::json;

use super::checks::Check;
use super::loops::LOOPS;
use super::{COLD, Row, find};
use crate::placed::Spread;
use crate::report::{Report, Table};
use crate::samples::Samples;

/// The greatest ratio of a warm loop with a site to the same loop with a constant, over all placements.
const WARM_LIMIT: f64 = 1.02;
/// The most ns that a cold site may take more than a constant. This applies to machines where a relaxed load takes at least [`COLD_LOAD`] ns more.
const COLD_LIMIT: f64 = 1.0;
const COLD_LOAD: f64 = 5.0;

/// Reports the targets.
pub(super) fn targets(report: &mut Report, rows: &[Row]) {
    let mut table = Table::new("targets", &["a site, off", "", "from", "to", "target", ""]);
    let mut facts = Vec::new();
    let mut row = |what: String, words: String, spread: Spread, limit: f64, nothing: f64| {
        let (cells, target) = spread.judged(limit, nothing);
        report.judged(words, &cells[0], &cells[3], &cells[4]);
        table.row([what.clone()].into_iter().chain(cells));
        facts.push(json!({ "what": what, "range": spread.range, "target": target }));
    };
    for (shape, (name, _)) in LOOPS.iter().enumerate() {
        let [site, constant] = [Check::SiteOff, Check::Constant].map(|check| &find(rows, shape, check).samples);
        let words = format!("a site that is off in the {name} loop: time, times that of a constant in its place");
        row(format!("{name}: of the loop with a constant"), words, site.over(constant), WARM_LIMIT, 1.0);
    }
    let [site, constant, load] =
        [Check::SiteOff, Check::Constant, Check::Relaxed].map(|check| find(rows, COLD, check).samples.all());
    let beside = |samples: &Samples| {
        let more = samples.minus(&constant);
        Spread { median: more.median(), range: more.interval() }
    };
    let words = "a site that is off, caches swept: ns more than a constant in its place";
    row("cold: ns more than a constant".into(), words.into(), beside(&site), COLD_LIMIT, 0.0);
    let load = beside(&load);
    report.note(format!(
        "cold: beside it, a relaxed load takes {:.1} ns more than a constant ({:.1} to {:.1}); the target is for machines where it takes {COLD_LOAD} or more",
        load.median, load.range[0], load.range[1]
    ));
    report.table(table);
    report.fact("targets", json!(facts));
}
