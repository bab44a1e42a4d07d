//! `check`: whether keys have the expected values, and whether code and tables agree.

use jumplabel_selector::Assignment;

use super::{code, live};
use crate::failure::Failure;
use crate::report::Report;
use crate::selection::{self, Chosen};
use crate::table::Is;
use crate::{arguments, process};

pub fn run(what: &arguments::Check, report: &mut Report) -> Result<u8, Failure> {
    for selector in &what.selectors {
        if let Some(Assignment::Inc | Assignment::Dec) = selector.assignment {
            return Err(Failure::Usage(format!("`{selector}`: check compares with =on, =off or =TARGET")));
        }
    }
    if what.force || process::is_one(&what.target) {
        return live::check(what, report);
    }
    let target = super::open(&what.target)?;
    let mut is_so = true;
    if what.selectors.is_empty() {
        is_so = selection::by_any(&target, &[], report).1;
    }
    for selector in &what.selectors {
        let chosen = selection::by(&target, selector);
        is_so &= selection::something(&target, selector, &chosen, report);
        let Some(wanted) = &selector.assignment else { continue };
        for one in &chosen {
            if !one.is(wanted)? {
                let (name, is) = (&one.subject.name, one.subject.default(one.object));
                report.line(&format_args!("{name} is {is}, not {}", wanted.value()));
                is_so = false;
            }
        }
    }
    Ok(code(report, &target, is_so))
}

impl Chosen<'_> {
    /// Whether it is that at the start. What a subject cannot be at all is an error of the command line.
    fn is(&self, wanted: &Assignment) -> Result<bool, Failure> {
        let (name, value) = (&self.subject.name, wanted.value());
        let cannot = |what: &str| Err(Failure::Usage(format!("{name} cannot be `{value}`: it is {what}")));
        match (self.subject.is, wanted) {
            (Is::Key(on) | Is::Tracepoint(on), Assignment::On) => Ok(on == Some(true)),
            (Is::Key(on) | Is::Tracepoint(on), Assignment::Off) => Ok(on == Some(false)),
            (Is::Key(_) | Is::Tracepoint(_), _) => cannot("a key, on or off"),
            (Is::Mode { mode, .. }, Assignment::Target(number)) => match number.parse::<u8>() {
                Ok(number) => Ok(number == mode),
                Err(_) => cannot("a mode, a number"),
            },
            (Is::Mode { .. }, _) => cannot("a mode, a number"),
            (Is::Call(target), Assignment::Target(function)) => {
                let found = self.object.image.symbols().address_of(function);
                Ok(target.is_some()
                    && (found == target || target.map(|at| self.object.function(at)).as_ref() == Some(function)))
            }
            (Is::Call(_), _) => cannot("a static call, and leads to a function"),
        }
    }
}
