//! The first screen of a report: one chart and ten answers. All numbers come from the results.

use serde_json::Value;

use super::{Bar, Chart, Interval, at, list, number, row};
use crate::report::figure;

/// A reader's question, its answer, and the name of the measurement that has the details.
pub struct Answer {
    pub question: &'static str,
    pub answer: String,
    pub part: &'static str,
}

/// The loops of `site`. Each has a name for readers, and a name in the results.
const LATENCY: (&str, &str) = ("latency-bound", "latency_bound");
const ALU: (&str, &str) = ("ALU-saturated", "alu_saturated");
const COLD: (&str, &str) = ("caches swept", "cold");

/// The names in `site` of the compared checks.
const CONSTANT: &str = "constant";
const OFF: &str = "site, off (nop)";
const ON: &str = "site, on (jmp)";
const LOAD: &str = "relaxed load";
const LOAD_ON: &str = "relaxed load, on";

/// The row of one variant in one loop of `site`.
fn check<'a>(results: &'a Value, shape: &str, check: &str) -> &'a Value {
    row(results, "site", &format!("/{shape}/checks"), "check", check)
}

/// The chart of the time that a check adds: off and on, warm and cold.
pub fn chart(results: &Value) -> Chart<'_> {
    let pairs = [
        ("off, latency-bound loop: key", LATENCY, OFF),
        ("off, latency-bound loop: load, test and branch", LATENCY, LOAD),
        ("off, ALU-saturated loop: key", ALU, OFF),
        ("off, ALU-saturated loop: load, test and branch", ALU, LOAD),
        ("on, latency-bound loop: key", LATENCY, ON),
        ("on, latency-bound loop: load, test and branch", LATENCY, LOAD_ON),
        ("on, ALU-saturated loop: key", ALU, ON),
        ("on, ALU-saturated loop: load, test and branch", ALU, LOAD_ON),
        ("off, caches swept: key", COLD, OFF),
        ("off, caches swept: load, test and branch", COLD, LOAD),
    ];
    let bar = |(name, (_, shape), of): (&'static str, _, _)| {
        let Interval { figure, ends } = Interval::of(check(results, shape, of), "ns", "ns_interval");
        (!figure.is_nan()).then_some(Bar { name, figure, interval: ends })
    };
    let bars = pairs.into_iter().filter_map(bar).collect();
    Chart { title: "What a check adds to a loop", unit: "ns more than no check", is_logarithmic: false, bars }
}

/// A figure as text, or a text that says that it was not measured.
fn said(value: f64, digits: usize) -> String {
    if value.is_nan() { "(not measured)".to_owned() } else { figure(value, digits) }
}

/// The ten answers.
pub fn answers(results: &Value) -> [Answer; 10] {
    let of_check = |shape: &str, name: &str, field: &str| number(&check(results, shape, name)[field]);
    let ns = |(_, shape): (&str, &str), name: &str| said(of_check(shape, name, "ns"), 3);
    let both = |name: &str| format!("{} and {} ns", ns(LATENCY, name), ns(ALU, name));
    let code = |name: &str| {
        let [instructions, loads] = ["instructions", "loads"].map(|field| said(of_check(ALU.1, name, field), 0));
        format!("instructions: {instructions}, loads: {loads}")
    };
    let [off, constant, load] = [OFF, CONSTANT, LOAD].map(|name| ns(COLD, name));
    let answer = |question, part, answer| Answer { question, answer, part };
    [
        answer(
            "A key that is off, warm",
            "site",
            format!(
                "a check adds {} to a latency-bound and an ALU-saturated loop, a constant in its place (the noise) {}; {}.",
                both(OFF),
                both(CONSTANT),
                code(OFF)
            ),
        ),
        answer("A load, test and branch there", "site", format!("{}; {}.", both(LOAD), code(LOAD))),
        answer(
            "Off, caches swept",
            "site",
            format!("a key adds {off} ns, a load, test and branch {load}, a constant {constant}."),
        ),
        answer(
            "On, warm",
            "site",
            format!("a key adds {} to the two loops, a load, test and branch {}.", both(ON), both(LOAD_ON)),
        ),
        answer("A flip of 1, 100, 10,000 sites", "flips", flip(results)),
        answer("The first flip of such a key", "flips", first_flip(results)),
        answer("Start-up", "startup", startup(results)),
        answer("Size", "size", size(results)),
        answer("A whole program", "sqlite", program(results)),
        answer("NO gain", "layers", no_gain(results)),
    ]
}

/// The numbers of sites for which `flips` has figures.
const SITES: [u64; 3] = [1, 100, 10_000];

/// A figure for each of [`SITES`].
fn each(of: impl Fn(u64) -> f64, digits: usize) -> String {
    let figures = SITES.map(of);
    if figures.iter().all(|figure| figure.is_nan()) {
        return "(not measured)".to_owned();
    }
    figures.map(|value| said(value, digits)).join(", ")
}

fn flip(results: &Value) -> String {
    let automatic = |sites: u64, field: &str| {
        let rows = list(at(results, "flips", "/latency")).iter();
        let mut found = rows.filter(|row| row["variant"] == "automatic" && row["sites"] == sites);
        found.next().map_or(f64::NAN, |row| number(&row[field]))
    };
    let alone = |sites| number(&row(results, "peers", "/flips", "sites", sites)["jumplabel_us"]);
    format!(
        "{} us, which is {} times the bare system calls, while another thread executes them; {} us with one thread.",
        each(|sites| automatic(sites, "p10_us"), 1),
        each(|sites| automatic(sites, "bares"), 2),
        each(alone, 1),
    )
}

fn first_flip(results: &Value) -> String {
    let first = |sites| number(&row(results, "flips", "/first", "sites", sites)["very_first_us"]);
    format!("{} us: it copies the pages of the sites, and the first flip of all also finds all sites.", each(first, 0))
}

fn startup(results: &Value) -> String {
    let of = |pointer: &str| number(at(results, "startup", pointer));
    let more = |what: &str| of(&format!("/{what}/with")) - of(&format!("/{what}/without"));
    format!(
        "{} sites cost {} system calls, {} relocations and {} KiB of copied pages before main, the library {} relocations; the program takes {} times as long.",
        said(of("/sites"), 0),
        said(more("system_calls"), 0),
        said(of("/relocations_in_text") + of("/relocations_in_tables"), 0),
        said(of("/copied_kib/text") + of("/copied_kib/tables"), 0),
        said(more("relocations"), 0),
        said(of("/time_ratio/p50"), 3),
    )
}

fn size(results: &Value) -> String {
    let bytes = |function: &str| number(&row(results, "listing", "/functions", "function", function)["bytes_of_check"]);
    let table = number(at(results, "flips", "/memory/table_bytes_a_site"));
    let program = row(results, "size", "/programs", "opt_level", "3");
    format!(
        "a check is {} bytes of code and {} of read-only table, a load, test and branch {}; the first key of a program brings {} kB of code, {} kB in all.",
        said(bytes("static key"), 0),
        said(table, 0),
        said(bytes("relaxed load (the fallback)"), 0),
        said(number(&program["code"]["figure"]), 1),
        said(number(&program["stripped_bytes"]) / 1e3, 1),
    )
}

fn way<'a>(results: &'a Value, name: &str) -> &'a Value {
    row(results, "sqlite", "/ways", "way", name)
}

fn program(results: &Value) -> String {
    let times = |name: &str| said(number(&way(results, name)["ratio"]), 3);
    format!(
        "with {} checks that are off, sqlite takes {} times as long as without (with loads {}); with all on, {} times (with loads {}).",
        said(number(at(results, "sqlite", "/sites")), 0),
        times("site"),
        times("relaxed load"),
        times("site, on"),
        times("relaxed load, on"),
    )
}

/// A figure with keys and the same figure in another way.
struct Compared {
    what: &'static str,
    ours: Interval,
    others: &'static str,
    theirs: Interval,
    unit: &'static str,
}

impl Compared {
    fn is_measured(&self) -> bool {
        !self.ours.figure.is_nan() && !self.theirs.figure.is_nan()
    }

    /// Returns whether `one` is less than `other` and their intervals do not overlap.
    fn is_less(one: &Interval, other: &Interval) -> bool {
        one.ends[1] < other.ends[0]
    }

    fn text(&self) -> String {
        let [ours, theirs] = [&self.ours, &self.theirs].map(|interval| figure(interval.figure, 2));
        format!("{} ({ours} {}, {} {theirs})", self.what, self.unit, self.others)
    }
}

/// The comparisons in which keys could make a program faster.
fn compared(results: &Value) -> Vec<Compared> {
    let site = |shape: &str, name: &str| Interval::of(check(results, shape, name), "ns", "ns_interval");
    let of = |part: &str, list: &str, key: &str, name: &str| {
        Interval::of(row(results, part, list, key, name), "ns", "ns_interval")
    };
    let guard = |name: &str| of("layers", "/alu_saturated/guards", "guard", name);
    let call = |name: &str| of("calls", "/latency_bound/calls", "call", name);
    let choice = |name: &str| of("switch", "/alu_saturated/choices", "choice", name);
    let peer = |name: &str| Interval::point(number(&row(results, "peers", "/flips", "sites", 1)[name]));
    let mode =
        |name: &str| Interval::of(row(results, "up", "/variants", "variant", name), "percent", "percent_interval");
    let sqlite = |name: &str| Interval::of(way(results, name), "ratio", "interval");
    let saved = Interval::of(row(results, "pipe", "/rows", "row", "task-clock, us"), "saved_percent", "interval");
    let rows = [
        ("a warm check, off, latency-bound loop", site(LATENCY.1, OFF), "a load", site(LATENCY.1, LOAD), "ns"),
        ("a warm check, off, ALU-saturated loop", site(ALU.1, OFF), "a load", site(ALU.1, LOAD), "ns"),
        ("a check with caches swept, off", site(COLD.1, OFF), "a load", site(COLD.1, LOAD), "ns"),
        ("a warm check, on, latency-bound loop", site(LATENCY.1, ON), "a load", site(LATENCY.1, LOAD_ON), "ns"),
        ("a warm check, on, ALU-saturated loop", site(ALU.1, ON), "a load", site(ALU.1, LOAD_ON), "ns"),
        ("a warm log line that is off", guard("static key"), "`log`, off", guard("log, off"), "ns"),
        ("a warm call by trampoline", call("static call"), "`AtomicPtr`", call("AtomicPtr"), "ns"),
        ("a warm choice of the first arm", choice("static_switch"), "`match`", choice("match on a relaxed load"), "ns"),
        ("a lock without its prefixes", mode("UP mode"), "with them", Interval::point(100.0), "%"),
        ("a flip of one site", peer("jumplabel_us"), "`static-key`", peer("static_key_us"), "us"),
        ("a scheduler with pipes, time", saved.of_all(), "loads", Interval::point(100.0), "%"),
        ("sqlite, checks off, time", sqlite("site"), "loads", sqlite("relaxed load"), "x"),
        ("sqlite, checks on, time", sqlite("site, on"), "loads", sqlite("relaxed load, on"), "x"),
    ];
    rows.map(|(what, ours, others, theirs, unit)| Compared { what, ours, others, theirs, unit }).into()
}

/// The text that lists the comparisons in which keys are not faster.
fn no_gain(results: &Value) -> String {
    let (measured, others): (Vec<_>, Vec<_>) = compared(results).into_iter().partition(Compared::is_measured);
    if measured.is_empty() {
        return "(not measured)".to_owned();
    }
    let none = measured.iter().filter(|row| !Compared::is_less(&row.ours, &row.theirs));
    let (dearer, even): (Vec<_>, Vec<_>) = none.partition(|row| Compared::is_less(&row.theirs, &row.ours));
    let texts = |rows: Vec<&Compared>| rows.into_iter().map(Compared::text).collect();
    let unknown = others.iter().map(|row| row.what.to_owned()).collect();
    let mut answer = format!("in {} of {} comparisons", dearer.len() + even.len(), measured.len());
    let groups: [(&str, Vec<String>); 3] =
        [("Dearer", texts(dearer)), ("No difference measured", texts(even)), ("Not measured", unknown)];
    for (word, rows) in groups.iter().filter(|(_, rows)| !rows.is_empty()) {
        answer += &format!(". {word}: {}", rows.join("; "));
    }
    answer + "."
}

/// The chart and the answers as plain text.
pub fn text(results: &Value) -> String {
    let mut text = drawn(&chart(results));
    for (number, Answer { question, answer, .. }) in answers(results).iter().enumerate() {
        text += &format!("{:2}. {question}: {answer}\n", number + 1);
    }
    text
}

/// A chart as lines of text. Empty for a chart without bars.
pub fn drawn(chart: &Chart<'_>) -> String {
    const WIDTH: f64 = 36.0;
    if chart.bars.is_empty() {
        return String::new();
    }
    let letters = chart.bars.iter().map(|bar| bar.name.chars().count()).max().unwrap_or(0);
    let most = chart.bars.iter().map(|bar| bar.figure).fold(f64::MIN_POSITIVE, f64::max);
    let mut text = format!("{} ({})\n", chart.title, chart.unit);
    for bar in &chart.bars {
        let long = (bar.figure.max(0.0) / most * WIDTH).round() as usize;
        text += &format!("  {:<letters$} |{} {}\n", bar.name, "#".repeat(long), figure(bar.figure, 3));
    }
    text + "\n"
}
