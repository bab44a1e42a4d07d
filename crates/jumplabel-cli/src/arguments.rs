//! The command line.

use clap::{Args, Parser, Subcommand};
use jumplabel_selector::Selector;

const AFTER: &str = "\
Selectors:
  NAME                       by name: net.trace, net.*, 'app::HOOKS[3]'; * is any text, ? one character
  file:PATH[:LINE[-LINE]]    by the file of the declaration, or its last components; these lines of it
  fn:NAME                    by a function that has a site, or that such a function was inlined into
  obj:PATH                   by the program or the shared library
`check` takes selectors with what the key is to be: =on, =off, =FUNCTION (a static call), =NUMBER (a mode).

Exit codes:
  0  as asked
  1  nothing matched a selector, or something differs
  2  the command line is wrong
  3  out of reach: there is no such file, or it is no linked ELF file of an instruction set that has sites
  4  refused: the file is damaged, or code and tables differ";

/// Lists, shows and checks the static keys of a program or shared library. Reads the file, and never runs it; stripped files and those
/// of other instruction sets, too.
#[derive(Parser)]
#[command(name = "jumplabel", version, after_help = AFTER)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Lists keys, static calls and modes: what each is at the start, how many sites it has, where it is declared
    #[command(after_help = AFTER)]
    List(Chosen),
    /// Lists sites: address, bytes, state, key, and the functions that they are in
    #[command(after_help = AFTER)]
    Sites(Chosen),
    /// Shows what sites hold, and what they hold once their key is flipped
    #[command(after_help = AFTER)]
    Disasm(Disasm),
    /// Compares keys with what they are to be, and code with the tables
    #[command(after_help = AFTER)]
    Check(Check),
}

/// What is listed.
#[derive(Args)]
pub struct Chosen {
    /// A program or a shared library
    #[arg(value_name = "FILE")]
    pub target: String,
    /// What of it; all, if there is none
    #[arg(value_name = "SELECTOR")]
    pub selectors: Vec<Selector>,
    /// One line of JSON instead, with "version": 1
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct Disasm {
    /// A program or a shared library
    #[arg(value_name = "FILE")]
    pub target: String,
    /// Whose sites; with =FUNCTION, a static call's way to that
    #[arg(value_name = "SELECTOR")]
    pub selector: Selector,
    /// Only this site, counted from 0 for each key
    #[arg(long, value_name = "N")]
    pub site: Option<usize>,
}

#[derive(Args)]
pub struct Check {
    /// A program or a shared library
    #[arg(value_name = "FILE")]
    pub target: String,
    /// What is to be: net.trace=on; without a value, only that code and tables agree; all, if there is none
    #[arg(value_name = "SELECTOR[=VALUE]")]
    pub selectors: Vec<Selector>,
}
