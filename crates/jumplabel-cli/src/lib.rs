//! Lists, shows and checks static keys: those in a program or shared library, from its file, and those of a process, from the process's agent or its
//! memory. The tool also sets keys of processes.
//!
//! ```text
//!   doctor top                   why flips fail; a view of processes in a terminal
//!   commands                     list, sites, disasm, check, link; of processes: list, check, set, watch, trace; apply, fleet, follow
//!   fleet force linker           wishes and reports in etcd; a process without an agent; jumplabel-cc
//!   link process selection       what `jumplabel link` does to a linked file; agents; what selectors choose of a target
//!   report                       what the tool prints
//!   target                       objects, each with its tables
//!   table                        keys, calls, modes, sites
//!   image                        bytes by addresses, symbols, lines
//!   portions                     splits requests that are too long for an agent
//!   machine failure arguments    instruction sets, their encoders; refusals and exit codes; the command line
//!   input                        opens files that a user names
//! ```
//!
//! A module uses only modules below its own line in this figure: `make lint` reads the figure, and fails if one uses another.
//!
//! The tool never executes a file, and trusts nothing in it: each address and length is checked before it is used.

// On systems where `--force` does not work, some code is never called.
#![cfg_attr(not(all(target_os = "linux", target_arch = "x86_64")), allow(dead_code, unused_imports))]

mod arguments;
mod commands;
#[cfg(target_os = "linux")]
mod doctor;
mod failure;
#[cfg(target_os = "linux")]
mod fleet;
#[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64")), path = "no_force.rs")]
mod force;
mod image;
mod input;
mod link;
mod linker;
mod machine;
mod portions;
#[cfg_attr(not(target_os = "linux"), path = "no_process.rs")]
mod process;
mod report;
mod selection;
mod table;
mod target;
#[cfg(target_os = "linux")]
mod top;

use std::ffi::OsString;
use std::io::Write;

use clap::Parser;

use arguments::{Arguments, Command};
use report::Report;

/// Runs the tool with the words of a command line, the first of which is the tool's own name. Writes to `out` and `err`, with colours. Returns the
/// exit code. If `out` cannot be written, for example because the disk is full, the command has failed. A reader that closes `out` early, as `head`
/// does, is no failure.
pub fn run(words: impl IntoIterator<Item = OsString>, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    let mut report = Report::default();
    let mut code = match Arguments::try_parse_from(words) {
        Ok(arguments) => command(&arguments.command, &mut report, out),
        Err(error) => {
            let to = if error.use_stderr() { &mut report.err } else { &mut report.out };
            to.push_str(&error.render().ansi().to_string());
            error.exit_code().try_into().unwrap_or(2)
        }
    };
    if let Err(failure) = failure::unwritten(out.write_all(report.out.as_bytes()).and_then(|()| out.flush())) {
        report.error(&failure);
        code = if code == failure::DONE { failure.code() } else { code };
    }
    let _ = err.write_all(report.err.as_bytes());
    code
}

/// Carries out a command. Returns the exit code.
fn command(command: &Command, report: &mut Report, out: &mut dyn Write) -> u8 {
    let done = match command {
        Command::List(what) => commands::list::run(what, report),
        Command::Sites(what) => commands::sites::run(what, report),
        Command::Disasm(what) => commands::disasm::run(what, report),
        Command::Check(what) => commands::check::run(what, report),
        Command::Link(what) => commands::link::run(what, report),
        Command::Set(what) => commands::live::set(what, report),
        Command::Watch(what) => commands::live::watch(what, out),
        Command::Trace(what) => commands::trace::run(what, out),
        Command::Apply(what) => commands::apply::run(what, report, out),
        #[cfg(target_os = "linux")]
        Command::Fleet(what) => commands::fleet::run(what, report),
        #[cfg(target_os = "linux")]
        Command::Follow(what) => commands::fleet::follow(what, out),
        #[cfg(target_os = "linux")]
        Command::Doctor(what) => doctor::run(what, report),
        #[cfg(target_os = "linux")]
        Command::Top(what) => top::run(what),
        #[cfg(not(target_os = "linux"))]
        Command::Fleet(_) | Command::Follow(_) | Command::Doctor(_) | Command::Top(_) => {
            Err(failure::Failure::OutOfReach("processes can be reached on Linux alone".into()))
        }
        Command::Completions(what) => commands::completion::script(what, report),
        Command::Man(what) => commands::pages::man(what),
    };
    done.unwrap_or_else(|failure| {
        report.error(&failure);
        failure.code()
    })
}

/// Whether a shell's script has called the tool to complete a command. If so, the answer is already on standard output.
pub fn completes() -> bool {
    commands::completion::answer()
}

/// Does to `bytes`, the contents of a file, what the command `link` does to a file. Returns the new contents, or `None` if there is nothing to do. If
/// the command would refuse the file, the error is the exit code and the reason. Touches no file.
pub fn link(bytes: Vec<u8>) -> Result<Option<Vec<u8>>, (u8, String)> {
    let linked = link::link(std::rc::Rc::new(bytes), link::Keep::All);
    linked.map(|linked| linked.bytes).map_err(|failure| (failure.code(), failure.to_string()))
}

/// `jumplabel-cc`: runs the C compiler with the arguments `words` (without the program's own name), and then links the compiler's output. Returns the
/// exit code.
pub fn cc(words: impl IntoIterator<Item = OsString>) -> u8 {
    linker::run(words)
}
