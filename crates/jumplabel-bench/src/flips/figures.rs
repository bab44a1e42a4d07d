//! The figures of `flips`: quantiles of the samples, ratios to the bare calls and to the floor, and targets.

use jumplabel::format::Entry;
use jumplabel::{RawKey, WriterKind, for_each_call, for_each_key, for_each_mode, index_bytes};
use jumplabel_format::layout::PREFIX;
use serde_json::{Value, json};

use super::groups::Group;
use super::{Bench, Cell, FIRST_LIMIT, LIMITS, NAKED_LIMIT, Variant};
use crate::Result;
use crate::report::{Chart, Report, Table, Target, figure};

impl Bench {
    pub(super) fn report_latency(&self, report: &mut Report, cells: &[Cell]) {
        let head = [
            "sites, variant",
            "writer",
            "n",
            "overlap",
            "p10 us",
            "p50 us",
            "p99 us",
            "x floor",
            "x bare",
            "target",
            "",
        ];
        let mut table = Table::new("Flips of primed sites; another thread executes them", &head);
        let mut rows = Vec::new();
        for (at, group) in self.groups.iter().enumerate().take(LIMITS.len()) {
            let title =
                format!("flips of {} on {}, which another thread executes", group.sites.count, pages(group.pages()));
            let mut chart = Chart::logarithmic(title, "us: p50, from p10 to p90");
            let order = [
                Variant::Floor,
                Variant::Bare(WriterKind::Procmem),
                Variant::Bare(WriterKind::Mprotect),
                Variant::Automatic,
                Variant::Forced(WriterKind::Procmem),
                Variant::Forced(WriterKind::Mprotect),
                Variant::Forced(WriterKind::Remap),
            ];
            for cell in order.iter().filter_map(|&variant| find(cells, at, variant)) {
                let floor = p10(cells, at, Variant::Floor);
                let bare = cell.writer.map_or(f64::NAN, |writer| p10(cells, at, Variant::Bare(writer)));
                let target = Target { figure: cell.microseconds(0.1) / bare, limit: LIMITS[at] };
                let judged = cell.variant == Variant::Automatic;
                let [ratio, limit, verdict] = target.cells();
                if judged {
                    let sites = format!("{} on {}", group.sites.count, pages(group.pages()));
                    report.judged(
                        format!("a flip of primed sites, {sites}, while another thread executes them: p10, times the bare system calls"),
                        &ratio,
                        &limit,
                        &verdict,
                    );
                }
                let has_bare = matches!(cell.writer, Some(WriterKind::Procmem | WriterKind::Mprotect));
                let shown = |cell: String, show| if show { cell } else { String::new() };
                let [p10, p50, p99] = cell.times();
                chart.bar(
                    cell.variant.name(),
                    cell.microseconds(0.5),
                    [cell.microseconds(0.1), cell.microseconds(0.9)],
                );
                table.row([
                    format!("{} on {}, {}", group.sites.count, pages(group.pages()), cell.variant.name()),
                    cell.writer.map_or("", WriterKind::name).to_owned(),
                    cell.samples.len().to_string(),
                    format!("{:.0} %", 100.0 * cell.overlap()),
                    p10,
                    p50,
                    p99,
                    figure(cell.microseconds(0.1) / floor, 2),
                    shown(ratio, has_bare),
                    shown(limit, judged),
                    shown(verdict, judged),
                ]);
                let mut row = cell.json(group);
                row["floors"] = json!(cell.microseconds(0.1) / floor);
                row["bares"] = json!(target.figure);
                if judged {
                    row["target"] = target.json();
                }
                rows.push(row);
            }
            report.chart(chart);
        }
        report.table(table);
        report.fact("latency", Value::Array(rows));
    }

    pub(super) fn report_first(&self, report: &mut Report, cells: &[Cell], very_first: &[f64]) {
        let head = ["sites", "n", "p10 us", "primed p10 us", "floors more", "target", "", "very first us"];
        let mut table = Table::new("First flips of pristine sites, against flips of the same sites primed", &head);
        let mut rows = Vec::new();
        for (at, (group, &very_first)) in self.groups.iter().zip(very_first).enumerate().take(LIMITS.len()) {
            let p10 = |variant| p10(cells, at, variant);
            let (first, primed, floor) = (p10(Variant::First), p10(Variant::Automatic), p10(Variant::Floor));
            let target = Target { figure: (first - primed) / floor, limit: FIRST_LIMIT };
            let [floors, limit, verdict] = target.cells();
            let sites = format!("{} on {}", group.sites.count, pages(group.pages()));
            let what = format!("the first flip of pristine sites, {sites}: floors more than a flip of them primed");
            report.judged(what, &floors, &limit, &verdict);
            let Some(cell) = find(cells, at, Variant::First) else { continue };
            table.row([
                group.sites.count.to_string(),
                cell.samples.len().to_string(),
                figure(first, 1),
                figure(primed, 1),
                floors,
                limit,
                verdict,
                figure(very_first, 1),
            ]);
            let mut row = cell.json(group);
            row["target"] = target.json();
            row["very_first_us"] = json!(very_first);
            rows.push(row);
        }
        report.table(table);
        report.fact("first", Value::Array(rows));
    }

    /// Reports naked keys with 1 check and with 10,000 checks, and other keys with 1 and 10,000 sites. The unit is the floor of one site.
    pub(super) fn report_naked(&self, report: &mut Report, cells: &[Cell]) {
        let head =
            ["checks", "writer", "n", "overlap", "p10 us", "p50 us", "p99 us", "x floor", "to 1 check", "target", ""];
        let mut table = Table::new("Flips of naked keys, beside a key with a site for each check", &head);
        let floor = p10(cells, 0, Variant::Floor);
        let mut rows = Vec::new();
        for naked in [true, false] {
            let groups = || self.groups.iter().enumerate().filter(move |(_, group)| group.naked == naked);
            let p10 = |cell: &Cell| cell.microseconds(0.1);
            let ends = groups().filter(|(_, group)| [1, 10_000].contains(&group.sites.count));
            let ends: Vec<&Cell> = ends.filter_map(|(at, _)| find(cells, at, Variant::Automatic)).collect();
            let [one, .., many] = ends[..] else { continue };
            for cell in [one, many] {
                let group = &self.groups[cell.group];
                let target = Target { figure: p10(cell) / p10(one), limit: NAKED_LIMIT };
                let judged = naked && group.sites.count > 1;
                let [ratio, limit, verdict] = target.cells();
                if judged {
                    let what =
                        format!("a flip of a naked key with {} checks: p10, times that with one", group.sites.count);
                    report.judged(what, &ratio, &limit, &verdict);
                }
                let [tenth, median, last] = cell.times();
                table.row([
                    format!("{} of a {} key", group.sites.count, if naked { "naked" } else { "site" }),
                    cell.writer.map_or("", WriterKind::name).to_owned(),
                    cell.samples.len().to_string(),
                    format!("{:.0} %", 100.0 * cell.overlap()),
                    tenth,
                    median,
                    last,
                    figure(p10(cell) / floor, 2),
                    ratio,
                    if judged { limit } else { String::new() },
                    if judged { verdict } else { String::new() },
                ]);
                let mut row = cell.json(group);
                row["naked"] = json!(naked);
                row["ratio"] = json!(p10(cell) / floor);
                if judged {
                    row["target"] = target.json();
                }
                rows.push(row);
            }
        }
        report.table(table);
        report.fact("naked", Value::Array(rows));
    }

    /// Reports the number of sites up to which `procmem` is cheaper than `mprotect`.
    pub(super) fn report_crossover(&self, report: &mut Report, cells: &[Cell]) {
        let mut sizes: Vec<(f64, f64, f64)> = Vec::new();
        for (at, group) in self.groups.iter().enumerate().filter(|(_, group)| group.sites.count <= 100 && !group.naked)
        {
            let find = |kind| find(cells, at, Variant::Forced(kind)).map(|cell| cell.microseconds(0.1));
            if let (Some(procmem), Some(mprotect)) = (find(WriterKind::Procmem), find(WriterKind::Mprotect)) {
                sizes.push((group.sites.count as f64, procmem, mprotect));
            }
        }
        sizes.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut table = Table::new("Where the writers cross", &["sites", "procmem p10 us", "mprotect p10 us"]);
        for (sites, procmem, mprotect) in &sizes {
            table.row([sites.to_string(), figure(*procmem, 1), figure(*mprotect, 1)]);
        }
        let crossover = crossover(&sizes);
        if let Some(sites) = crossover {
            report.note(format!("procmem is the cheaper writer up to about {sites:.0} sites here"));
        }
        let rows = sizes.iter().map(
            |(sites, procmem, mprotect)| json!({ "sites": sites, "procmem_us": procmem, "mprotect_us": mprotect }),
        );
        report.fact("crossover", json!({ "sites": crossover, "sizes": rows.collect::<Vec<_>>() }));
        report.table(table);
    }
}

impl Cell {
    /// The cells p10, p50 and p99.
    fn times(&self) -> [String; 3] {
        [0.1, 0.5, 0.99].map(|part| figure(self.microseconds(part), 1))
    }

    fn json(&self, group: &Group) -> Value {
        json!({
            "sites": group.sites.count,
            "pages": group.pages(),
            "variant": self.variant.name(),
            "writer": self.writer.map(WriterKind::name),
            "samples": self.samples.len(),
            "overlap": self.overlap(),
            "p10_us": self.microseconds(0.1),
            "p50_us": self.microseconds(0.5),
            "p99_us": self.microseconds(0.99),
        })
    }
}

fn find(cells: &[Cell], group: usize, variant: Variant) -> Option<&Cell> {
    cells.iter().find(|cell| cell.group == group && cell.variant == variant)
}

/// The p10 of a group flipped in one way, in microseconds. NaN if it was not measured.
fn p10(cells: &[Cell], group: usize, variant: Variant) -> f64 {
    find(cells, group, variant).map_or(f64::NAN, |cell| cell.microseconds(0.1))
}

fn pages(count: usize) -> String {
    if count == 1 { "1 page".into() } else { format!("{count} pages") }
}

/// The number of sites at which both writers cost the same, interpolated linearly between neighbouring measurements. `sizes` has a number of sites
/// and the cost of each writer.
fn crossover(sizes: &[(f64, f64, f64)]) -> Option<f64> {
    sizes.windows(2).find_map(|pair| {
        let [(size, procmem, mprotect), (next, next_procmem, next_mprotect)] = *pair else { return None };
        let (lead, next_lead) = (mprotect - procmem, next_mprotect - next_procmem);
        (lead >= 0.0 && next_lead < 0.0).then(|| size + (next - size) * lead / (lead - next_lead))
    })
}

/// The system calls of a flip, counted in a child with one thread. NaN if tracing is not allowed, or if flips are refused.
pub(super) fn system_calls(key: &RawKey) -> f64 {
    let flips = |pairs| (0..pairs).all(|_| key.enable().is_ok() && key.disable().is_ok());
    let calls = |pairs| crate::step::count(|| assert!(flips(pairs))).ok().map(|counted| counted.system_calls);
    calls(11).zip(calls(1)).map_or(f64::NAN, |(many, few)| (many - few) as f64 / 20.0)
}

unsafe extern "C" {
    static __start___jump_table: u8;
    static __stop___jump_table: u8;
}

/// Reports the bytes of the table and of the index for each site. It counts the sites that the library finds through keys, calls and modes, and the
/// lock prefixes, which belong to no declared key. These include the sites of the other commands. So a table entry without a key, call or mode adds
/// bytes, but no site.
pub(super) fn report_memory(report: &mut Report) -> Result<()> {
    let (start, stop) = (&raw const __start___jump_table, &raw const __stop___jump_table);
    let table = stop.addr() - start.addr();
    // SAFETY: these are the whole entries of this program's table, and nobody writes to it.
    let entries = unsafe { std::slice::from_raw_parts(start.cast::<Entry>(), table / size_of::<Entry>()) };
    let prefixes = entries.iter().filter(|entry| entry.kind() == PREFIX).count();
    let mut sites = prefixes;
    for_each_key(|key| sites += key.sites)?;
    for_each_call(|call| sites += call.sites)?;
    for_each_mode(|mode| sites += mode.sites)?;
    let index = index_bytes()?;
    let each = |bytes: usize| bytes as f64 / sites as f64;
    let (table_each, index_each) = (each(table), Target { figure: each(index), limit: 8.0 });
    let [index_bytes_each, limit, verdict] = index_each.cells();
    report.note(format!(
        "memory: {sites} sites, of which {prefixes} are lock prefixes; table {table_each} bytes a site; index {index_bytes_each} bytes a site, target {limit}: {verdict}"
    ));
    report.judged("the index that a flip searches: bytes a site", &index_bytes_each, &limit, &verdict);
    report.count("bytes of table a site", table_each);
    report.fact(
        "memory",
        json!({ "sites": sites, "lock_prefixes": prefixes, "table_bytes": table, "index_bytes": index, "table_bytes_a_site": table_each,
                "index_bytes_a_site": index_each.json() }),
    );
    Ok(())
}
