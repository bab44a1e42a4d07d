//! `check --entries`: lists functions whose first instruction is a site. A probe on such a function lands on the site.

use std::collections::BTreeMap;

use jumplabel_format::layout::{BRANCH, CALL_SITE, LOADING, OP, SHORT};

use crate::image::Image;
use crate::machine::Machine;
use crate::report::{Report, Side};
use crate::selection::Chosen;
use crate::table::Site;

const BREAKS: &str = "a uprobe that is removed breaks the site";

/// Functions that begin with a site, by address: the function, the key, and what a probe there does.
#[derive(Default)]
pub struct Entries(BTreeMap<u64, [String; 3]>);

impl Entries {
    /// Adds the sites among `chosen` that begin a function.
    pub fn of(&mut self, chosen: &[Chosen<'_>]) {
        for one in chosen {
            for &(_, site) in &one.sites {
                let (image, site) = (&one.object.image, &one.object.table.sites[site]);
                let front = site.front(image);
                let begins = site.address - u64::from(front.is_some());
                if let Some(function) = image.symbols().beginning_at(begins) {
                    let probed = site.probed(image, front).to_owned();
                    self.0.insert(begins, [function, one.subject.name.clone(), probed]);
                }
            }
        }
    }

    /// The number of functions.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The number of functions that a probe breaks.
    pub fn fragile(&self) -> usize {
        self.0.values().filter(|[.., probed]| probed == BREAKS).count()
    }

    pub fn print(self, report: &mut Report) {
        let left = |title| (title, Side::Left);
        let heading = [("ADDRESS", Side::Right), left("KEY"), left("FUNCTION"), left("A PROBE OR BREAKPOINT THERE")];
        let row = |(address, [function, key, probed]): (u64, [String; 3])| {
            [format!("{address:#x}").into(), key.into(), function.into(), probed.into()]
        };
        if !self.0.is_empty() {
            report.columns(heading, self.0.into_iter().map(row).collect());
        }
    }
}

impl Site {
    /// The prefix in front of the site, if the site was built with one.
    fn front(&self, image: &Image) -> Option<u8> {
        let front = image.slice(self.start(), self.in_front)?;
        front.first().copied().filter(|_| self.kind.number() != CALL_SITE)
    }

    /// Says what happens to a uprobe or a breakpoint on the site.
    fn probed(&self, image: &Image, front: Option<u8>) -> &'static str {
        let is_x86 = matches!(image.machine, Machine::X86 | Machine::X86_64);
        match (front, self.kind.number()) {
            (Some(0x2e), _) => "is in front of the site; Linux refuses a uprobe",
            (Some(_), _) => "is in front of the site",
            (None, BRANCH | SHORT | LOADING | OP) if is_x86 => BREAKS,
            (None, _) if is_x86 => "no flip until it is gone",
            (None, _) => "a uprobe that is removed leaves the state of the file",
        }
    }
}
