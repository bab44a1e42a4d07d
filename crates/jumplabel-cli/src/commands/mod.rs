//! The commands of the tool, one module each.

pub mod apply;
pub mod check;
pub mod completion;
pub mod disasm;
pub mod entries;
#[cfg(target_os = "linux")]
pub mod fleet;
pub mod link;
pub mod list;
pub mod live;
pub mod pages;
pub mod sites;
pub mod trace;

use jumplabel_selector::Selector;

use crate::failure::{DIFFERS, DONE, Failure};
use crate::force;
use crate::process;
use crate::report::Report;
use crate::target::Target;

/// The version of the JSON that commands print.
pub const SCHEMA: u32 = 1;

/// Opens the target that an argument names: a file, or a process by its number, whose memory this tool then reads.
fn open(name: &str) -> Result<Target, Failure> {
    if process::is_one(name) { force::target(name) } else { Target::of_file(name) }
}

/// Reports what is damaged in the target. Returns the exit code: that of a refusal if anything is damaged, otherwise [`DONE`] or [`DIFFERS`].
fn code(report: &mut Report, target: &Target, is_as_asked: bool) -> u8 {
    let refused = Failure::Refused(String::new()).code();
    match (report.damage(target), is_as_asked) {
        (true, _) => refused,
        (false, true) => DONE,
        (false, false) => DIFFERS,
    }
}

/// Refuses selectors with a value, such as `net.trace=on`.
fn without_values(command: &str, selectors: &[Selector]) -> Result<(), Failure> {
    match selectors.iter().find(|selector| selector.assignment.is_some()) {
        Some(selector) => Err(Failure::Usage(format!("`{selector}`: {command} takes selectors without values"))),
        None => Ok(()),
    }
}
