//! `doctor`: finds out why flips fail or may fail, on this system, in a process, or in a file.
//!
//! ```text
//!   system     kernel, /proc, membarrier, MDWE, Yama
//!   writers    which work here, and which the environment names
//!   process    its environment, seccomp, tracers, unusual mappings of text, instances, agent, sites that differ
//!   object     that of a file, or each of a process: table, unprepared sites, sites that begin functions
//! ```
//!
//! The command flips only one key, which is the tool's own, to see which writers the system allows.

mod object;
mod process;
mod system;
mod writers;

use serde::Serialize;

use crate::arguments;
use crate::failure::{DIFFERS, DONE, Failure};
use crate::report::Report;
use crate::target::Target;

/// How serious a finding is.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    Ok,
    /// The finding may matter: the cure says when.
    Note,
    /// Flips fail, or have a wrong effect.
    Bad,
}

/// One line of the output, and the cure.
#[derive(Serialize)]
struct Finding {
    level: Level,
    about: &'static str,
    is: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cure: Option<&'static str>,
}

#[derive(Default, Serialize)]
struct Findings {
    version: u32,
    findings: Vec<Finding>,
}

impl Findings {
    fn ok(&mut self, about: &'static str, is: impl Into<String>) {
        self.findings.push(Finding { level: Level::Ok, about, is: is.into(), cure: None });
    }

    fn note(&mut self, about: &'static str, is: impl Into<String>, cure: &'static str) {
        self.findings.push(Finding { level: Level::Note, about, is: is.into(), cure: Some(cure) });
    }

    fn bad(&mut self, about: &'static str, is: impl Into<String>, cure: &'static str) {
        self.findings.push(Finding { level: Level::Bad, about, is: is.into(), cure: Some(cure) });
    }

    /// Adds the first few of several sentences of one kind, and says how many more there are.
    fn several(&mut self, about: &'static str, sentences: &[String], cure: &'static str) {
        const MOST: usize = 5;
        sentences.iter().take(MOST).for_each(|is| self.bad(about, is, cure));
        if sentences.len() > MOST {
            self.bad(about, format!("and {} more", sentences.len() - MOST), "jumplabel check says all of them");
        }
    }

    fn is_well(&self) -> bool {
        self.findings.iter().all(|finding| finding.level != Level::Bad)
    }

    fn print(&self, report: &mut Report) {
        for Finding { level, about, is, cure } in &self.findings {
            let level = match level {
                Level::Ok => "ok",
                Level::Note => "note",
                Level::Bad => "BAD",
            };
            report.line(&format_args!("{level:<5} {about:<11} {is}"));
            if let Some(cure) = cure {
                report.line(&format_args!("{:<17} {cure}", ""));
            }
        }
    }
}

pub fn run(what: &arguments::Doctor, report: &mut Report) -> Result<u8, Failure> {
    let mut findings = Findings { version: crate::commands::SCHEMA, ..Findings::default() };
    match what.target.as_deref() {
        None => drop(system::look(true, &mut findings)),
        Some(target) if crate::process::is_one(target) => {
            let working = system::look(false, &mut findings);
            process::look(target, &working, &mut findings)?;
        }
        Some(file) => object::look(&Target::of_file(file)?, object::From::File, &mut findings),
    }
    match (what.report, what.json) {
        (true, _) => {
            let mut found = Report::default();
            findings.print(&mut found);
            let of = what.target.as_deref().unwrap_or("this system");
            let form = include_str!("report.md").replace("VERSION", env!("CARGO_PKG_VERSION"));
            let filled = form.replace("TARGET", &crate::report::visible(of)).replace("FINDINGS", found.out.trim_end());
            filled.lines().for_each(|line| report.line(&line));
        }
        (false, true) => report.json(&findings),
        (false, false) => findings.print(report),
    }
    Ok(if findings.is_well() { DONE } else { DIFFERS })
}
