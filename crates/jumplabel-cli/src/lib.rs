//! Lists, shows and checks the static keys of programs and shared libraries, from their files.
//!
//! ```text
//!   commands     list, sites, disasm, check
//!   selection    what the selectors choose of a target
//!   target       objects, each with its tables
//!   table        keys, calls, modes, sites           image    bytes by addresses, symbols, lines
//!   machine      instruction sets, their encoders
//! ```
//!
//! A target is never executed, and nothing in it is believed: each address and length is looked up before it is used.

mod arguments;
mod commands;
mod failure;
mod image;
mod machine;
mod report;
mod selection;
mod table;
mod target;

use std::ffi::OsString;

use clap::Parser;

use arguments::{Arguments, Command};
use report::Report;

/// Runs the tool with these words, the first of which is its own name. Writes to `out` and `err`, with colours. Returns the exit code.
pub fn run(words: impl IntoIterator<Item = OsString>, out: &mut Vec<u8>, err: &mut Vec<u8>) -> u8 {
    let arguments = match Arguments::try_parse_from(words) {
        Ok(arguments) => arguments,
        Err(error) => {
            let to = if error.use_stderr() { err } else { out };
            to.extend(error.render().ansi().to_string().bytes());
            return error.exit_code().try_into().unwrap_or(2);
        }
    };
    let mut report = Report::default();
    let done = match &arguments.command {
        Command::List(what) => commands::list::run(what, &mut report),
        Command::Sites(what) => commands::sites::run(what, &mut report),
        Command::Disasm(what) => commands::disasm::run(what, &mut report),
        Command::Check(what) => commands::check::run(what, &mut report),
    };
    let code = done.unwrap_or_else(|failure| {
        report.error(&failure);
        failure.code()
    });
    out.extend(report.out.bytes());
    err.extend(report.err.bytes());
    code
}
