//! Manual pages, generated from the description of the command line.

use std::io;
use std::path::Path;

use clap::{Command, CommandFactory as _};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::arguments::{self, Arguments};
use crate::failure::{DONE, Failure};

pub fn man(what: &arguments::Man) -> Result<u8, Failure> {
    let mut all = Arguments::command().disable_help_subcommand(true);
    all.build();
    let written = pages(&all, &what.directory);
    written.map(|()| DONE).map_err(|error| Failure::OutOfReach(format!("{}: {error}", what.directory.display())))
}

/// Writes the page of a command, and those of its subcommands.
fn pages(command: &Command, directory: &Path) -> io::Result<()> {
    command
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .try_for_each(|command| pages(command, directory))?;
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    sections(&after).to_writer(&mut page)?;
    if command.get_version().is_some() {
        man.render_version_section(&mut page)?;
    }
    std::fs::write(directory.join(man.get_filename()), page)
}

/// Turns the text after the options in `--help` into sections, one for each title. Lines stay as they are, because many are rows of a table.
fn sections(text: &str) -> Roff {
    let mut roff = Roff::new();
    for section in text.split("\n\n") {
        let (title, lines) = section.split_once(":\n").unwrap_or(("", section));
        roff.control("SH", [title.to_uppercase().as_str()]).control("nf", []);
        for line in lines.lines() {
            roff.text([roman(line)]);
        }
        roff.control("fi", []);
    }
    roff
}
