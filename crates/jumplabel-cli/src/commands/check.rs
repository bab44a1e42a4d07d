//! `check`: whether keys have the expected values, and whether code and tables agree.

use jumplabel_selector::Assignment;

use super::entries::Entries;
use super::{code, live};
use crate::failure::Failure;
use crate::report::Report;
use crate::selection;
use crate::{arguments, process};

pub fn run(what: &arguments::Check, report: &mut Report) -> Result<u8, Failure> {
    for selector in &what.selectors {
        if let Some(Assignment::Inc | Assignment::Dec) = selector.assignment {
            return Err(Failure::Usage(format!("`{selector}`: check compares with =on, =off or =TARGET")));
        }
    }
    if what.entries && process::is_one(&what.target) {
        return Err(Failure::Usage("--entries reads the symbols of a file".into()));
    }
    if what.force || process::is_one(&what.target) {
        return live::check(what, report);
    }
    if what.repair {
        return Err(Failure::Usage(format!(
            "`{}`: --repair is for sites of a process: its number, @NAME",
            what.target
        )));
    }
    let target = super::open(&what.target)?;
    let mut is_so = true;
    let mut entries = Entries::default();
    if what.selectors.is_empty() {
        let (all, any) = selection::by_any(&target, &[], report);
        entries.of(&all);
        is_so = any;
    }
    for selector in &what.selectors {
        let chosen = selection::by(&target, selector);
        entries.of(&chosen);
        is_so &= selection::something(&target, selector, &chosen, report);
        let Some(wanted) = &selector.assignment else { continue };
        for one in &chosen {
            if let Some(complaint) = one.complaint(wanted)? {
                report.line(&complaint);
                is_so = false;
            }
        }
    }
    if what.entries {
        if target.objects.iter().any(|object| object.image.symbols().is_empty()) {
            report.error(&format_args!("{}: no symbols, which say where functions begin", target.name));
            is_so = false;
        }
        entries.print(report);
    }
    Ok(code(report, &target, is_so))
}
