//! The commands.

pub mod apply;
pub mod check;
pub mod disasm;
#[cfg(target_os = "linux")]
pub mod fleet;
pub mod link;
pub mod list;
pub mod live;
pub mod pages;
pub mod sites;

use std::path::Path;

use jumplabel_selector::Selector;

use crate::failure::{DIFFERS, DONE, Failure};
use crate::image::Image;
use crate::report::Report;
use crate::table::{Is, Subject};
use crate::target::{Object, Target};
use crate::{force, process};

/// Of the JSON that commands print.
const SCHEMA: u32 = 1;

/// The exit code of a command that has printed what it found.
fn code(report: &mut Report, target: &Target, is_as_asked: bool) -> u8 {
    let refused = Failure::Refused(String::new()).code();
    match (report.damage(target), is_as_asked) {
        (true, _) => refused,
        (false, true) => DONE,
        (false, false) => DIFFERS,
    }
}

/// Refuses selectors that say what something is to be.
fn without_values(command: &str, selectors: &[Selector]) -> Result<(), Failure> {
    match selectors.iter().find(|selector| selector.assignment.is_some()) {
        Some(selector) => Err(Failure::Usage(format!("`{selector}`: {command} takes selectors without values"))),
        None => Ok(()),
    }
}

/// Opens what an argument names: a file, which is read and never run; or a process by its number, whose memory is read.
fn open(name: &str) -> Result<Target, Failure> {
    if process::is_one(name) {
        return force::target(name);
    }
    let object = Object::read(Image::open(Path::new(name))?, name)?;
    Ok(Target { name: name.to_owned(), objects: vec![object] })
}

impl Subject {
    /// What it is at the start, in a word.
    fn default(&self, object: &Object) -> String {
        match self.is {
            Is::Key(None) | Is::Tracepoint(None) | Is::Call(None) => "-".into(),
            Is::Key(Some(on)) | Is::Tracepoint(Some(on)) => if on { "on" } else { "off" }.into(),
            Is::Call(Some(target)) => object.function(target),
            Is::Mode { mode, count } => format!("{mode}/{count}"),
        }
    }

    fn kind(&self) -> &'static str {
        match self.is {
            Is::Key(_) => "key",
            Is::Tracepoint(_) => "tracepoint",
            Is::Call(_) => "call",
            Is::Mode { .. } => "mode",
        }
    }
}

impl Object {
    /// The name of code, or its address.
    fn function(&self, address: u64) -> String {
        self.image.symbols().place(address).unwrap_or_else(|| format!("{address:#x}"))
    }
}
