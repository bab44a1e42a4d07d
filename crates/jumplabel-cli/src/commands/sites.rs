//! `sites`: lists the addresses of sites, and what each holds.

use std::borrow::Cow;

use serde::Serialize;

use super::{SCHEMA, code, without_values};
use crate::arguments;
use crate::failure::Failure;
use crate::image::lines::Frame;
use crate::report::{Report, Side};
use crate::selection;

#[derive(Serialize)]
struct Listing<'target> {
    version: u32,
    target: &'target str,
    machine: Option<&'static str>,
    sites: Vec<Row<'target>>,
    damage: Vec<&'target str>,
}

#[derive(Serialize)]
struct Row<'target> {
    address: String,
    bytes: String,
    state: &'static str,
    key: &'target str,
    /// The site's number among the sites of its key.
    site: usize,
    /// The address that the site jumps to when it jumps.
    target: String,
    /// The functions that contain the site, the innermost first.
    chain: Vec<Frame>,
}

pub fn run(what: &arguments::Sites, report: &mut Report) -> Result<u8, Failure> {
    without_values("sites", &what.selectors)?;
    let target = super::open(&what.target)?;
    let (chosen, each) = selection::by_any(&target, &what.selectors, report);
    let mut rows = Vec::new();
    for one in &chosen {
        for &(number, site) in &one.sites {
            let site = &one.object.table.sites[site];
            rows.push(Row {
                address: format!("{:#x}", site.address),
                bytes: site.bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
                state: site.state.map_or("foreign", |state| state.name()),
                key: &one.subject.name,
                site: number,
                target: format!("{:#x}", site.target),
                chain: one.object.lines().chain(&one.object.image, site.address),
            });
        }
    }
    let any = !rows.is_empty();
    if !any && !chosen.is_empty() {
        report.error(&format_args!("{}: no sites", target.name));
    }
    if what.json {
        let damage = target.objects.iter().flat_map(|object| &object.table.damage).map(String::as_str).collect();
        let machine = target.objects.first().map(|object| object.image.machine.name());
        report.json(&Listing { version: SCHEMA, target: &target.name, machine, sites: rows, damage });
    } else if any {
        let left = |title| (title, Side::Left);
        let heading = [("ADDRESS", Side::Right), left("BYTES"), left("STATE"), left("KEY"), left("FUNCTION")];
        report.columns(heading, rows.into_iter().map(Row::columns).collect());
    }
    Ok(code(report, &target, each && any))
}

impl<'target> Row<'target> {
    fn columns(self) -> [Cow<'target, str>; 5] {
        let chain: Vec<String> = self.chain.iter().map(Frame::to_string).collect();
        let chain = if chain.is_empty() { "-".into() } else { chain.join(" < ") };
        [self.address.into(), self.bytes.into(), self.state.into(), self.key.into(), chain.into()]
    }
}
