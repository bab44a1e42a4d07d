//! `link`: changes a linked file, and prints what has changed.

use std::borrow::Cow;
use std::path::Path;

use serde::Serialize;

use super::SCHEMA;
use crate::arguments;
use crate::failure::{DONE, Failure};
use crate::link::{Found, Keep, save};
use crate::report::{Report, Side};

#[derive(Serialize)]
struct Listing<'target> {
    version: u32,
    target: &'target str,
    /// Whether the command has changed the file.
    changed: bool,
    #[serde(flatten)]
    found: &'target Found,
}

pub fn run(what: &arguments::Link, report: &mut Report) -> Result<u8, Failure> {
    let keep = if what.drop_relocations { Keep::NoRelocations } else { Keep::All };
    let (found, changed) = save::link(Path::new(&what.file), keep)?;
    if what.json {
        report.json(&Listing { version: SCHEMA, target: &what.file, changed, found: &found });
    } else {
        calls(&found, report);
        checks(&found, report);
        let end = if changed { "linked" } else { "nothing to do" };
        report.line(&format_args!("{}: {end}", what.file));
    }
    Ok(DONE)
}

fn checks(found: &Found, report: &mut Report) {
    let checks = &found.checks;
    let turned = [checks.turned_short, checks.turned_long];
    if checks.short > 0 || turned != [0, 0] {
        let [short, long] = turned;
        report.line(&format_args!(
            "{} checks of two bytes and {} of five; {short} and {long} of them were jumps, and are nops now",
            checks.short, checks.long
        ));
    }
}

fn calls(found: &Found, report: &mut Report) {
    let calls = &found.calls;
    let rows = calls.forms.iter().filter(|form| form.calls > 0);
    let cells = |form: &crate::link::Form| -> [Cow<'static, str>; 4] {
        let numbers = [form.calls, form.straight, form.calls - form.straight];
        let [all, straight, others] = numbers.map(|number| number.to_string().into());
        [form.instruction.into(), all, straight, others]
    };
    let rows: Vec<_> = rows.map(cells).collect();
    if !rows.is_empty() {
        let heading =
            [("CALL", Side::Left), ("NUMBER", Side::Right), ("STRAIGHT", Side::Right), ("TRAMPOLINE", Side::Right)];
        report.columns(heading, rows);
    }
    if calls.unknown {
        report.line(&"no relocations say where its static calls are: they go by their trampolines");
    }
    let left = &calls.left;
    if left.addresses > 0 {
        let what = "other uses of a trampoline, such as calls by a register, are left alone";
        report.line(&format_args!("{what}: {}", left.addresses));
    }
    if left.others > 0 {
        report.line(&format_args!("relocations where no call is, left alone: {}", left.others));
    }
}
