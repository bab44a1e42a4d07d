//! Completions and manual pages, generated from the description of the command line.

use clap::CommandFactory as _;

use crate::arguments::{self, Arguments};
use crate::failure::{DONE, Failure};
use crate::report::Report;

pub fn completions(what: &arguments::Completions, report: &mut Report) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(what.shell, &mut Arguments::command(), "jumplabel", &mut script);
    report.out += &String::from_utf8_lossy(&script);
    Ok(DONE)
}

pub fn man(what: &arguments::Man) -> Result<u8, Failure> {
    let written = clap_mangen::generate_to(Arguments::command(), &what.directory);
    written.map(|_| DONE).map_err(|error| Failure::OutOfReach(format!("{}: {error}", what.directory.display())))
}
