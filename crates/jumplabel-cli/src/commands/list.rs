//! `list`: lists keys, static calls and modes. In a file, each has its state at the start of the program; in a process, its state now.

use std::borrow::Cow;

use jumplabel_agent::tracepoints::{self, Part};
use serde::Serialize;

use super::{SCHEMA, code, live, without_values};
use crate::failure::Failure;
use crate::report::{Report, Side};
use crate::table::Declared;
use crate::{arguments, process, selection};

#[derive(Serialize)]
struct Listing<'target> {
    version: u32,
    target: &'target str,
    machine: Option<&'static str>,
    keys: Vec<Row<'target>>,
    damage: Vec<&'target str>,
}

#[derive(Serialize)]
struct Row<'target> {
    key: &'target str,
    kind: &'static str,
    default: String,
    sites: usize,
    declared: Option<&'target Declared>,
}

pub fn run(what: &arguments::List, report: &mut Report) -> Result<u8, Failure> {
    without_values("list", &what.selectors)?;
    if what.force || process::is_one(&what.target) {
        return live::list(what, report);
    }
    let target = super::open(&what.target)?;
    let (mut chosen, each) = selection::by_any(&target, &what.selectors, report);
    if what.selectors.is_empty() && !what.json {
        leave_out_calls(&mut chosen);
    }
    let rows: Vec<_> = chosen.iter().map(Row::of).collect();
    if what.json {
        let damage = target.objects.iter().flat_map(|object| &object.table.damage).map(String::as_str).collect();
        let machine = target.objects.first().map(|object| object.image.machine.name());
        report.json(&Listing { version: SCHEMA, target: &target.name, machine, keys: rows, damage });
    } else if !rows.is_empty() {
        let heading = [("KEY", Side::Left), ("DEFAULT", Side::Left), ("SITES", Side::Right), ("DECLARED", Side::Left)];
        report.columns(heading, rows.into_iter().map(Row::columns).collect());
    }
    Ok(code(report, &target, each))
}

/// Removes the static calls of tracepoints, which are listed only if a selector chooses them, and in JSON.
fn leave_out_calls(chosen: &mut Vec<selection::Chosen<'_>>) {
    let mut parts = tracepoints::parts(chosen.iter().map(|one| one.subject.row())).into_iter();
    chosen.retain(|_| parts.next() != Some(Part::Call));
}

impl<'target> Row<'target> {
    fn of(one: &selection::Chosen<'target>) -> Row<'target> {
        let subject = one.subject;
        Row {
            key: &subject.name,
            kind: subject.kind(),
            default: subject.state(one.object),
            sites: subject.sites.len(),
            declared: subject.declared.as_deref(),
        }
    }

    fn columns(self) -> [Cow<'target, str>; 4] {
        let declared = self.declared.map_or("-".into(), |at| format!("{}:{}", at.file, at.line));
        [self.key.into(), self.default.into(), self.sites.to_string().into(), declared.into()]
    }
}
