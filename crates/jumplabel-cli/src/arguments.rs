//! The command line.

use clap::{Args, Parser, Subcommand};
use jumplabel_selector::Selector;

const AFTER: &str = "\
Selectors:
  NAME                       by name: net.trace, net.*, 'app::HOOKS[3]'; * is any text, ? one character
  file:PATH[:LINE[-LINE]]    by the file of the declaration, or its last components; these lines of it
  fn:NAME                    by a function that has a site, or that such a function was inlined into
  obj:PATH                   by the program or the shared library
Of a process, no fn:, and `?` for blanks and commas.
`check` takes selectors with what the key is to be: =on, =off, =FUNCTION (a static call), =NUMBER (a mode);
so does `set`, of a process, and +1 and -1 for a user of a key more or less, but no =FUNCTION.

Processes:
  PID, @NAME, or the path of its socket: the program has an agent, by JUMPLABEL_AGENT=1 or by itself. They are not stopped.
  --force PID: without an agent; list, check and set of keys, where ptrace is allowed. `sites` and `disasm` of a PID
  read its memory like that, too, and need no --force.

Exit codes:
  0  as asked
  1  nothing matched a selector, or something differs
  2  the command line is wrong
  3  out of reach: there is no such file, or it is no linked ELF file of an instruction set that has sites; no agent answers
  4  refused: the file is damaged, or code and tables differ; the program or its system forbids it";

/// Lists, shows and checks the static keys of a program or shared library. Reads the file, and never runs it; stripped files and those
/// of other instruction sets, too. Lists, checks and sets those of a process that has an agent.
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
    /// Writes into a linked program or shared library what only the whole of it shows: lists calls of static calls, and leads them straight
    ///
    /// It was linked with -Wl,--emit-relocs, or by jumplabel-cc. The file is replaced if all went well, and stays as it is if not. A second
    /// run changes nothing.
    #[command(after_help = AFTER)]
    Link(Link),
    /// Sets keys and modes of a process, all or nothing, and says how to take it back
    #[command(after_help = AFTER)]
    Set(Set),
    /// Shows what agents' clients change in a process, as it happens
    #[command(after_help = AFTER)]
    Watch(Watch),
    /// Sets keys of several processes, as lines of JSON say, and prints a line of JSON for each
    ///
    /// A line is {"process":"@web","set":["net.*=on"],"for":30,"dry_run":false}, of which `for` and `dry_run` may be left out. All lines are
    /// read first: if one makes no sense, nothing is set. Each is one change of its process, all or nothing; those behind one that fails
    /// are tried all the same.
    #[command(after_help = AFTER)]
    Apply(Apply),
    /// Sets keys of processes on many hosts, by way of etcd, and says what they are
    #[command(after_help = AFTER, subcommand)]
    Fleet(Fleet),
    /// Makes the keys of this host's processes what a prefix in etcd says, until it is ended
    ///
    /// It prints a line for each change. If no member of etcd answers, nothing changes, and it goes on trying. A process that starts later is made
    /// to follow within a second.
    #[command(after_help = AFTER)]
    Follow(Follow),
    /// Prints what completes commands in a shell
    Completions(Completions),
    /// Writes manual pages, one for each command
    Man(Man),
}

/// What is listed.
#[derive(Args)]
pub struct Chosen {
    /// A program or a shared library; or a process: PID, and for list @NAME
    #[arg(value_name = "FILE")]
    pub target: String,
    /// What of it; all, if there is none
    #[arg(value_name = "SELECTOR")]
    pub selectors: Vec<Selector>,
    /// For list: of a process that has no agent, keys alone, from its memory
    #[arg(long)]
    pub force: bool,
    /// One line of JSON instead, with "version": 1
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct Disasm {
    /// A program or a shared library, or a process: PID
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
    /// A program or a shared library, or a process: PID, @NAME
    #[arg(value_name = "FILE")]
    pub target: String,
    /// What is to be: net.trace=on; without a value, only that code and tables agree; all, if there is none
    #[arg(value_name = "SELECTOR[=VALUE]")]
    pub selectors: Vec<Selector>,
    /// Of a process that has no agent: keys alone, from its memory
    #[arg(long)]
    pub force: bool,
}

#[derive(Args)]
pub struct Link {
    /// A program or a shared library of x86_64
    #[arg(value_name = "FILE")]
    pub file: String,
    /// Takes the relocations of --emit-relocs out of the file, which nothing needs any more
    #[arg(long)]
    pub drop_relocations: bool,
    /// One line of JSON instead, with "version": 1
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct Set {
    /// A process: PID, @NAME, or the path of its agent's socket
    #[arg(value_name = "PROCESS")]
    pub target: String,
    /// What is to be: net.trace=on, 'net.*=off', app::MODE=2, net.trace+1
    #[arg(value_name = "SELECTOR=VALUE", required = true)]
    pub selectors: Vec<Selector>,
    /// Has the process take it back by itself after so many seconds: 30, 30s
    #[arg(long = "for", value_name = "SECONDS", value_parser = jumplabel_agent::protocol::duration)]
    pub seconds: Option<u32>,
    /// Only shows what would change
    #[arg(long)]
    pub dry_run: bool,
    /// Changes keys of a process that has no agent: stops all its threads for a moment, by ptrace, and writes its code and its counts. PROCESS is a
    /// number
    #[arg(long)]
    pub force: bool,
    /// Makes the change, and is watched by another that does not
    #[arg(long, hide = true)]
    pub worker: bool,
    /// For tests: is killed after so many writes
    #[arg(long, hide = true, value_name = "WRITES")]
    pub dies: Option<usize>,
    /// For tests: does not stop the threads
    #[arg(long, hide = true)]
    pub runs: bool,
    /// One line of JSON instead, with "version": 1
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct Watch {
    /// A process: PID, @NAME, or the path of its agent's socket
    #[arg(value_name = "PROCESS")]
    pub target: String,
    /// Lines of JSON instead, with "version": 1
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct Apply {
    /// A file of lines of JSON, or - for standard input
    #[arg(value_name = "FILE")]
    pub file: String,
}

/// Where etcd is.
#[derive(Args)]
pub struct Cluster {
    /// Members of etcd: http://HOST:2379,...
    #[arg(long, value_name = "URL,...", env = "JUMPLABEL_ETCD")]
    pub etcd: String,
    /// What the names of all keys in etcd begin with
    #[arg(long, default_value = "/jumplabel", env = "JUMPLABEL_ETCD_PREFIX")]
    pub prefix: String,
}

#[derive(Subcommand)]
pub enum Fleet {
    /// Says what keys are to be, of all processes that match, now and later
    Set(FleetSet),
    /// Takes that back: processes change back what they changed for it
    Unset(FleetUnset),
    /// Counts processes by what their keys are, as followers last reported
    List(FleetList),
}

#[derive(Args)]
pub struct FleetSet {
    #[command(flatten)]
    pub cluster: Cluster,
    /// Names of processes, as in @NAME; * is any text
    #[arg(long, default_value = "*", value_name = "NAMES")]
    pub processes: String,
    /// What is to be: net.trace=on, 'net.*=off', app::MODE=2
    #[arg(value_name = "SELECTOR=VALUE", required = true)]
    pub selectors: Vec<Selector>,
    /// Each process takes it back by itself after so many seconds, whatever becomes of etcd: 30, 30s
    #[arg(long = "for", value_name = "SECONDS", value_parser = jumplabel_agent::protocol::duration)]
    pub seconds: Option<u32>,
}

#[derive(Args)]
pub struct FleetUnset {
    #[command(flatten)]
    pub cluster: Cluster,
    /// Names of processes, in the words of `set`
    #[arg(long, default_value = "*", value_name = "NAMES")]
    pub processes: String,
    /// In the words of `set`, without values
    #[arg(value_name = "SELECTOR", required = true)]
    pub selectors: Vec<Selector>,
}

#[derive(Args)]
pub struct FleetList {
    #[command(flatten)]
    pub cluster: Cluster,
    /// One line of JSON instead, with "version": 1
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct Follow {
    #[command(flatten)]
    pub cluster: Cluster,
    /// The name of this host in reports; the system's, if there is none
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,
    /// For tests: forgets what happened while it was cut off
    #[arg(long, hide = true)]
    pub forgets: bool,
}

#[derive(Args)]
pub struct Completions {
    /// The shell
    pub shell: clap_complete::Shell,
}

#[derive(Args)]
pub struct Man {
    /// A directory that is there
    pub directory: std::path::PathBuf,
}
