//! `check --entries`: lists functions whose first instruction is a site. A probe on such a function lands on the site.

use std::collections::BTreeMap;

use jumplabel_format::layout::{BRANCH, CALL_SITE, LOADING, OP, SHORT};

use crate::image::Image;
use crate::machine::Machine;
use crate::report::{Report, Side};
use crate::selection::Chosen;
use crate::table::Site;

/// The effect of a probe or a breakpoint on a site that begins a function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Probed {
    InFront,
    Refused,
    Breaks,
    Waits,
    AsInFile,
}

impl Probed {
    pub fn text(self) -> &'static str {
        match self {
            Probed::InFront => "is in front of the site",
            Probed::Refused => "is in front of the site; Linux refuses a uprobe",
            Probed::Breaks => "a uprobe that is removed breaks the site",
            Probed::Waits => "no flip until it is gone",
            Probed::AsInFile => "a uprobe that is removed leaves the state of the file",
        }
    }
}

/// Functions that begin with a site, by address: the function, the key, and what a probe there does.
#[derive(Default)]
pub struct Entries(BTreeMap<u64, (String, String, Probed)>);

impl Entries {
    /// Adds the sites among `chosen` that begin a function.
    pub fn of(&mut self, chosen: &[Chosen<'_>]) {
        for one in chosen {
            for &(_, site) in &one.sites {
                let (image, site) = (&one.object.image, &one.object.table.sites[site]);
                let front = site.front(image);
                let begins = site.address - u64::from(front.is_some());
                if let Some(function) = image.symbols().beginning_at(begins) {
                    self.0.insert(begins, (function, one.subject.name.clone(), site.probed(image, front)));
                }
            }
        }
    }

    /// For each effect of a probe, the number of functions with it.
    pub fn count(&self) -> BTreeMap<Probed, usize> {
        let mut counts = BTreeMap::new();
        self.0.values().for_each(|&(.., probed)| *counts.entry(probed).or_default() += 1);
        counts
    }

    pub fn print(self, report: &mut Report) {
        let left = |title| (title, Side::Left);
        let heading = [("ADDRESS", Side::Right), left("KEY"), left("FUNCTION"), left("A PROBE OR BREAKPOINT THERE")];
        let row = |(address, (function, key, probed)): (u64, (String, String, Probed))| {
            [format!("{address:#x}").into(), key.into(), function.into(), probed.text().into()]
        };
        if !self.0.is_empty() {
            report.columns(heading, self.0.into_iter().map(row).collect());
        }
    }
}

impl Site {
    /// The prefix in front of the site, if the site was built with one. Listed calls have none.
    fn front(&self, image: &Image) -> Option<u8> {
        let front = image.slice(self.start(), self.in_front)?;
        front.first().copied().filter(|_| self.kind.number() != CALL_SITE)
    }

    /// The effect of a uprobe or a breakpoint on the site.
    fn probed(&self, image: &Image, front: Option<u8>) -> Probed {
        let is_x86 = matches!(image.machine, Machine::X86 | Machine::X86_64);
        match (front, self.kind.number()) {
            (Some(0x2e), _) => Probed::Refused,
            (Some(_), _) => Probed::InFront,
            (None, BRANCH | SHORT | LOADING | OP) if is_x86 => Probed::Breaks,
            (None, _) if is_x86 => Probed::Waits,
            (None, _) => Probed::AsInFile,
        }
    }
}
