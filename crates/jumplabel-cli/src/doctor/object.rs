//! Examines a program or shared library: its table, and its sites.

use jumplabel_format::State;

use super::Findings;
use crate::commands::entries::{Entries, Probed};
use crate::selection;
use crate::table::COPIED;
use crate::target::Target;

/// The origin of the sites' bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum From {
    File,
    Memory,
}

pub fn look(target: &Target, from: From, findings: &mut Findings) {
    for object in &target.objects {
        let (sites, keys) = (object.table.sites.len(), object.table.subjects.len());
        if sites == 0 && keys == 0 && object.table.damage.is_empty() {
            continue;
        }
        let machine = object.image.machine.name();
        findings.ok("table", format!("{}: {machine}, {keys} keys, calls and modes, {sites} sites", object.path));
        // `process::sites` reports the differing sites of a process one by one.
        let damage = if from == From::File { &object.table.damage } else { object.table.unreadable() };
        let (copied, damage): (Vec<_>, Vec<_>) =
            damage.iter().map(|why| format!("{}: {why}", object.path)).partition(|why| why.ends_with(COPIED));
        findings.several("table", &copied, "run the file from before BOLT: docs/table-format.md, Post-link optimizers");
        findings.several("table", &damage, "link the file anew; sites of a process come back by check --repair");
        loading(object, from, findings);
    }
    entries(target, findings);
}

/// Reports sites of keys declared `or_load` that still load their key.
fn loading(object: &crate::target::Object, from: From, findings: &mut Findings) {
    let loading = object.table.sites.iter().filter(|site| site.state == Some(State::LOADS)).count();
    if loading > 0 {
        let (is, cure) = match from {
            From::File => ("load their keys until they are prepared", "call prepare() once at the start"),
            From::Memory => (
                "load their keys still: nobody has prepared them",
                "call prepare() once at the start, or flip their keys",
            ),
        };
        findings.note("or_load", format!("{}: {loading} sites {is}", object.path), cure);
    }
}

/// Reports sites that begin a function, where probes and breakpoints go.
fn entries(target: &Target, findings: &mut Findings) {
    let mut entries = Entries::default();
    entries.of(&selection::every(target));
    for (probed, count) in entries.count() {
        let (is, cure) = match probed {
            Probed::InFront => {
                findings
                    .ok("entries", format!("functions that begin with a site: {count}; probes may come and go there"));
                continue;
            }
            Probed::Refused => {
                ("have a prefix that Linux lets no uprobe replace", "probe the instruction after the site")
            }
            Probed::Breaks => (
                "have no prefix there",
                "a uprobe on one of them breaks it: build with the prefix (docs/building.md); check FILE --entries names them",
            ),
            Probed::Waits => (
                "cannot be flipped while a probe is there",
                "remove the probe or breakpoint, and flip again; check FILE --entries names them",
            ),
            Probed::AsInFile => (
                "have the state of the file after a uprobe",
                "after a uprobe was removed: verify(), or check --repair PID; check FILE --entries names them",
            ),
        };
        findings.note("entries", format!("of functions that begin with a site, {count} {is}"), cure);
    }
}
