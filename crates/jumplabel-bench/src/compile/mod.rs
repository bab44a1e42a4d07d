//! `compile`: the cost of a program's checks for the compiler, in processor seconds and memory. It compiles the same program with keys, without keys,
//! and with the crate `static-keys`.
//!
//! The three programs take turns, in an order that is random in each round. The figure is the usage of one run of rustc, which compiles the program,
//! and of the linker that it starts. To measure it, cargo runs this program instead of rustc (RUSTC_WORKSPACE_WRAPPER). This program starts rustc,
//! waits for it, and writes down its usage as the kernel reports it (`wait4`). Processor time is used because other work on the machine changes it
//! less than elapsed time.

mod program;
mod usage;

use serde_json::{Value, json};

use crate::Result;
use crate::report::{Report, Table, Target};
use crate::samples::Samples;
use program::{PROFILES, PROGRAMS, Project};
pub use usage::stand_in_for_rustc;

/// The measured costs of one program in one profile.
#[derive(Clone, Default)]
struct Cost {
    seconds: Samples,
    kib: Samples,
    sites: usize,
}

pub fn run(quick: bool) -> Result<Report> {
    let (functions, rounds) = if quick { (300, 1) } else { (10_000, 3) };
    let projects = PROGRAMS.map(|program| Project::write(program, functions));
    let projects = projects.into_iter().collect::<Result<Vec<Project>>>()?;
    let mut report = Report::new("compile", quick);
    let mut facts = Vec::new();
    for profile in PROFILES {
        let mut costs = vec![Cost::default(); projects.len()];
        for project in &projects {
            project.build(profile)?; // Builds the dependencies of the program.
        }
        let mut turns = [0, 1, 2];
        for _ in 0..rounds {
            fastrand::shuffle(&mut turns);
            for at in turns {
                let (usage, sites) = projects[at].build(profile)?;
                costs[at].seconds.push(usage.seconds);
                costs[at].kib.push(usage.kib);
                costs[at].sites = sites;
            }
        }
        facts.push(table(&mut report, profile, functions, &costs));
    }
    report.fact("functions", json!(functions));
    report.fact("profiles", Value::Array(facts));
    Ok(report)
}

/// Adds the table of one profile to the report. Returns the same figures as JSON.
fn table(report: &mut Report, profile: &'static str, functions: usize, costs: &[Cost]) -> Value {
    let title = format!("{functions} functions, {profile}, {} rounds", costs[0].seconds.len());
    let mut table = Table::new(title, &["to compile", "CPU s p50", "least", "MB", "times static-keys", "target", ""]);
    let [_, own, peer] = costs else { return Value::Null };
    let figures = |cost: &Cost| [cost.seconds.median(), cost.kib.median()];
    let of = |at: usize| Target { figure: figures(own)[at] / figures(peer)[at], limit: 1.0 };
    let mut rows = Vec::new();
    for (program, cost) in PROGRAMS.iter().zip(costs) {
        let mut cells = vec![
            program.name.to_owned(),
            format!("{:.2}", cost.seconds.median()),
            format!("{:.2}", cost.seconds.quantile(0.0)),
            format!("{:.0}", cost.kib.median() / 1024.0),
        ];
        if program.name == "jumplabel" {
            let [ratio, limit, verdict] = of(0).cells();
            // Processor time is counted in ticks of 10 ms.
            let is_judged = costs[0].seconds.len() > 1;
            let verdict = if is_judged { verdict } else { "not judged: one round".into() };
            let what = format!(
                "compiling {functions} functions with keys, {profile}: CPU time, times that with `static-keys`"
            );
            report.judged(what, &ratio, &limit, &verdict);
            cells.extend([ratio, limit, verdict]);
        }
        table.row(cells);
        rows.push(json!({
            "program": program.name,
            "cpu_s": cost.seconds.median(),
            "cpu_s_least": cost.seconds.quantile(0.0),
            "peak_kib": cost.kib.median(),
            "sites": cost.sites,
        }));
    }
    report.table(table);
    json!({ "profile": profile, "rows": rows, "target": of(0).json(), "memory": of(1).json() })
}
