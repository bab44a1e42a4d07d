//! Makes pages from results.

use serde_json::Value;

use super::{Chart, Part, drawing, judged, parts, summary};
use crate::Result;

const TITLE: &str = "jumplabel, measured";

/// The text about the machine of the results, which also says whether the runs were short.
fn machine(results: &Value) -> String {
    let machine = &results["machine"];
    let text = |name: &str| machine[name].as_str().unwrap_or("?").to_owned();
    let quick = if results["quick"] == true { ". Short runs (--quick): figures vary more" } else { "" };
    format!("{}, Linux {}, {} processors{quick}.", text("cpu"), text("kernel"), machine["cpus"])
}

fn command(part: &Part<'_>) -> String {
    format!("cargo run --release -p jumplabel-bench -- {}", part.name)
}

pub fn markdown(results: &Value) -> String {
    let mut page = format!("# {TITLE}\n\n{}\n", machine(results));
    let drawn = summary::drawn(&summary::chart(results));
    if !drawn.is_empty() {
        page += &format!("\n```text\n{}\n```\n", drawn.trim_end());
    }
    page += "\n";
    for (number, answer) in summary::answers(results).iter().enumerate() {
        page += &format!("{}. **{}**: {} (`{}`)\n", number + 1, answer.question, answer.answer, answer.part);
    }
    let judged = judged(results);
    if !judged.is_empty() {
        page += "\n## Targets\n\n| measurement | of | figure | target | |\n|---|---|---:|---:|---|\n";
    }
    for row in &judged {
        page += &format!("| {} | {} | {} | {} | {} |\n", row.part, row.what, row.figure, row.limit, row.verdict);
    }
    for part in parts(results) {
        page += &format!("\n## {}\n\n`{}`\n", part.question, command(&part));
        if let Some(error) = part.error {
            page += &format!("\nNot measured: {error}\n");
        }
        for (title, rows) in part.tables() {
            page += &format!("\n**{title}**\n\n");
            let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
            for (at, row) in rows.iter().enumerate() {
                let cells =
                    (0..columns).map(|column| row.get(column).map_or("", |cell| cell.trim()).replace('|', "\\|"));
                page += &format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "));
                if at == 0 {
                    page += &format!("|---|{}\n", "---:|".repeat(columns.saturating_sub(1)));
                }
            }
        }
        for note in part.notes() {
            page += &format!("\n{note}\n");
        }
    }
    page
}

/// The style of the page. The page is one file: it loads nothing and runs no script. It is light or dark, as its reader's system is.
const STYLE: &str = "
:root { color-scheme: light dark; --faint: #8884; --bar: #4a7ebb; --interval: #d08a1e; }
@media (prefers-color-scheme: dark) { :root { --bar: #5b8fd0; --interval: #f0b050; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 0 auto; padding: 1rem; }
h2 { margin-top: 3rem; } code { font-size: 90%; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 90%; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .5rem 0; }
th, td { padding: .15rem .6rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--faint); }
th:first-child, td:first-child, .text { text-align: left; }
th:first-child, td:first-child { position: sticky; left: 0; background: Canvas; }
figure { margin: 1.5rem 0; } figcaption { font-weight: 600; } figcaption small { font-weight: 400; }
svg { min-width: 34rem; max-width: 100%; height: auto; display: block; }
";

pub fn html(results: &Value) -> Result<String> {
    let mut body = format!("<h1>{TITLE}</h1>\n<p>{}</p>\n", escaped(&machine(results)));
    body += &drawn(&summary::chart(results))?;
    body += "<ol>\n";
    for answer in summary::answers(results) {
        let [question, said, part] = [answer.question, &*answer.answer, answer.part].map(escaped);
        let has_part = parts(results).any(|of| of.name == answer.part);
        let link = if has_part { format!(" <a href=\"#{part}\">{part}</a>") } else { String::new() };
        body += &format!("<li><b>{question}</b>: {said}{link}</li>\n");
    }
    body += "</ol>\n<nav><ul>\n";
    for part in parts(results) {
        body += &format!("<li><a href=\"#{0}\">{1}</a></li>\n", part.name, escaped(part.question));
    }
    body += "</ul></nav>\n";
    let judged = judged(results);
    if !judged.is_empty() {
        let met = judged.iter().filter(|row| row.verdict.starts_with("ok")).count();
        body += &format!(
            "<details><summary>Targets: {met} of {} met</summary>\n<div class=\"wide\"><table>\n\
             <tr><th>measurement</th><th class=\"text\">of</th><th>figure</th><th>target</th><th></th></tr>\n",
            judged.len()
        );
    }
    for row in &judged {
        let [part, what, figure, limit, verdict] =
            [row.part, row.what, row.figure, row.limit, row.verdict].map(escaped);
        body += &format!(
            "<tr><td><a href=\"#{part}\">{part}</a></td><td class=\"text\">{what}</td><td>{figure}</td><td>{limit}</td><td>{verdict}</td></tr>\n"
        );
    }
    if !judged.is_empty() {
        body += "</table></div></details>\n";
    }
    body += "<p>Bars are medians. The line on a bar is the interval that its unit names, or that of 95 % for the median. \"No difference measured\" stands where it holds none.</p>\n";
    for part in parts(results) {
        body += &format!(
            "<h2 id=\"{}\">{}</h2>\n<p><code>{}</code></p>\n",
            part.name,
            escaped(part.question),
            escaped(&command(&part))
        );
        if let Some(error) = part.error {
            body += &format!("<p>Not measured: {}</p>\n", escaped(error));
        }
        for chart in part.charts() {
            body += &drawn(&chart)?;
        }
        for (title, rows) in part.tables() {
            let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
            body += &format!("<div class=\"wide\"><table><caption>{}</caption>\n", escaped(title));
            for (at, row) in rows.iter().enumerate() {
                let tag = if at == 0 { "th" } else { "td" };
                let cells = (0..columns).map(|column| row.get(column).map_or("", |cell| cell.trim()));
                let cells = cells.map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell)));
                body += &format!("<tr>{}</tr>\n", cells.collect::<String>());
            }
            body += "</table></div>\n";
        }
        for note in part.notes() {
            body += &format!("<p>{}</p>\n", escaped(note));
        }
    }
    Ok(format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{TITLE}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n"
    ))
}

/// A chart with its caption. Empty for a chart without bars.
fn drawn(chart: &Chart<'_>) -> Result<String> {
    if chart.bars.is_empty() {
        return Ok(String::new());
    }
    // On a phone, the axis with its unit may be off the screen, so the caption repeats the unit.
    let [caption, unit] = [chart.title, chart.unit].map(escaped);
    let svg = drawing::svg(chart)?;
    Ok(format!(
        "<figure><figcaption>{caption} <small>({unit})</small></figcaption>\n<div class=\"wide\">{svg}</div></figure>\n"
    ))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
