//! The command line.

mod fleet;
mod help;

use clap::{Args, Parser, Subcommand};
use jumplabel_selector::Selector;

pub use fleet::{Cluster, Fleet, FleetList, FleetSet, FleetUnset, Follow};
use help::after;

/// Lists, shows and checks the static keys of a program or shared library. Reads the file, and never runs it; the file may be stripped, or for
/// another instruction set. Lists, checks and sets the keys of a process that has an agent.
#[derive(Parser)]
#[command(name = "jumplabel", version, max_term_width = 80, after_help = after!(common))]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Lists keys, static calls and modes: the state of each at the start, its number of sites, the place of its declaration
    #[command(after_help = after!("jumplabel list ./server              keys in a file" "jumplabel list 4711 'net.*'          keys of a process, and their users" "jumplabel list @web --json"))]
    List(List),
    /// Lists sites: address, bytes, state, key, and the functions that contain them
    #[command(after_help = after!("jumplabel sites ./server net.trace fn:receive" "jumplabel sites 4711 obj:libnet.so"))]
    Sites(Sites),
    /// Shows the instructions of sites, and those after a flip of their key
    #[command(after_help = after!("jumplabel disasm 4711 net.trace --site 0    in memory now, and flipped" "jumplabel disasm ./server app::HASH=fast    the way to another function"))]
    Disasm(Disasm),
    /// Compares keys with the values that they should have, and code with the tables
    #[command(after_help = after!("jumplabel check ./server wal.fsync=on 'net.*=off'   before a release" "jumplabel check 4711                                code against tables" "jumplabel check @web --repair"))]
    Check(Check),
    /// Says why flips fail, or may fail, on this system, in a process or of a file: a line for each reason, and what helps
    #[command(after_help = after!("jumplabel doctor                            this system" "jumplabel doctor 4711                       a process" "jumplabel doctor ./server --report          for a bug report"))]
    Doctor(Doctor),
    /// Writes lists of calls of static calls into a linked program or shared library, and makes these calls direct
    ///
    /// Only the whole file shows these calls. It must have been linked with -Wl,--emit-relocs, or by jumplabel-cc. The file is replaced if all goes
    /// well; otherwise it stays as it is. A second run changes nothing.
    #[command(after_help = after!("jumplabel link ./server                     lists its calls of static calls" "jumplabel link ./libnet.so --json"))]
    Link(Link),
    /// Sets keys and modes of a process, all or nothing, and prints the command that undoes it
    #[command(after_help = after!("jumplabel set 4711 'net.*=on' --for 30s     takes it back by itself" "jumplabel set @web app::MODE=2 --dry-run" "jumplabel set --force 4711 net.trace=on     without an agent"))]
    Set(Set),
    /// Shows changes in a process as they happen, made by clients of its agent
    #[command(after_help = after!("jumplabel watch @web" "jumplabel watch 4711 --json"))]
    Watch(Watch),
    /// Shows keys of processes in a terminal, and their changes; sets keys, and undoes that
    ///
    /// It needs 80 columns and 24 lines. Keys: / filters as you type, blank toggles, r undoes operators' changes, ? shows help, q ends. Each agent is
    /// asked once a second, over one connection, and never makes its program wait. A process that ends or does not answer is shown as such. An agent
    /// reports its own changes at once; the program's changes are seen when it is asked.
    #[command(after_help = after!("jumplabel top 4711                          one process" "jumplabel top @web @shop                    several; without any, all of yours" "jumplabel top @web --every 10               asks less often"))]
    Top(Top),
    /// Shows events at callsites of `tracing` as they happen, whatever the filters of the process say
    ///
    /// It ends when the process ends, when you end it, or when the time is over: then the callsites are as before. The program never waits. If there
    /// are more events than the limit allows or than this command reads, the others are counted.
    #[command(after_help = after!("jumplabel trace 4711 'trace:h2::*'" "jumplabel trace @web trace:hyper::proto --for 30s --json"))]
    Trace(Trace),
    /// Sets keys of several processes, as lines of JSON say, and prints a line of JSON for each
    ///
    /// A line is {"process":"@web","set":["net.*=on"],"for":30,"dry_run":false}; `for` and `dry_run` may be left out. All lines are read first: if
    /// one is not valid, nothing is set. Each line is one change of its process, all or nothing. If one fails, those after it are still tried.
    #[command(after_help = after!("jumplabel apply changes.jsonl" "jumplabel apply -                           from standard input"))]
    Apply(Apply),
    /// Sets keys of processes on many hosts, through etcd, and lists their states
    #[command(after_help = after!("jumplabel fleet set --processes 'web*' 'net.*=on' --for 600s" "jumplabel fleet list"), subcommand)]
    Fleet(Fleet),
    /// Makes the keys of this host's processes follow a prefix in etcd, until it is ended
    ///
    /// It prints a line for each change. If no member of etcd answers, nothing changes, and it goes on trying. A process that starts later follows
    /// within a second.
    #[command(after_help = after!("jumplabel follow --etcd http://etcd1:2379,http://etcd2:2379" "jumplabel follow --host web17"))]
    Follow(Follow),
    /// Prints a script that completes commands in a shell: their words, files, processes and keys
    #[command(after_help = after!("jumplabel completions bash > /etc/bash_completion.d/jumplabel"))]
    Completions(Completions),
    /// Writes manual pages, one for each command
    #[command(after_help = after!("jumplabel man /usr/local/share/man/man1"))]
    Man(Man),
}

#[derive(Args)]
pub struct List {
    /// A program or a shared library; or a process: PID, @NAME, or the path of its agent's socket
    #[arg(value_name = "FILE|PROCESS")]
    pub target: String,
    /// Which keys, calls and modes; without any, all but the static calls of tracepoints
    #[arg(value_name = "SELECTOR")]
    pub selectors: Vec<Selector>,
    /// Lists a process that has no agent: only its keys, from its memory
    #[arg(long)]
    pub force: bool,
    /// Prints one line of JSON instead, with "version": 1
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct Sites {
    /// A program or a shared library, or a process: PID
    #[arg(value_name = "FILE|PID")]
    pub target: String,
    /// Which keys, calls and modes; without any, all
    #[arg(value_name = "SELECTOR")]
    pub selectors: Vec<Selector>,
    /// Prints one line of JSON instead, with "version": 1
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct Disasm {
    /// A program or a shared library, or a process: PID
    #[arg(value_name = "FILE|PID")]
    pub target: String,
    /// The key, call or mode whose sites are shown; with =FUNCTION, a static call's way to that function
    #[arg(value_name = "SELECTOR[=FUNCTION]")]
    pub selector: Selector,
    /// Only this site, counted from 0 for each key
    #[arg(long, value_name = "N")]
    pub site: Option<usize>,
}

#[derive(Args)]
pub struct Check {
    /// A program or a shared library; or a process: PID, @NAME, or the path of its agent's socket
    #[arg(value_name = "FILE|PROCESS")]
    pub target: String,
    /// A value to compare with: net.trace=on. Without a value, compares only code and tables; without selectors, of all keys
    #[arg(value_name = "SELECTOR[=VALUE]")]
    pub selectors: Vec<Selector>,
    /// Checks a process that has no agent, from its memory: keys, static calls and modes
    #[arg(long)]
    pub force: bool,
    /// Lists the functions of a file whose first instruction is a site, where probes and breakpoints are set
    #[arg(long, conflicts_with = "force")]
    pub entries: bool,
    /// First repairs sites of a process that something outside the library has changed, and says how many. With --force, stops all threads meanwhile,
    /// if there are such sites and no agent
    #[arg(long)]
    pub repair: bool,
}

#[derive(Args)]
pub struct Doctor {
    /// A program or a shared library; or a process: PID, @NAME, or the path of its agent's socket; this system, if there is none
    #[arg(value_name = "FILE|PROCESS")]
    pub target: Option<String>,
    /// Prints a form for a bug report instead, with all findings
    #[arg(long, conflicts_with = "json")]
    pub report: bool,
    /// Prints one line of JSON instead, with "version": 1
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct Link {
    /// A program or a shared library of x86_64
    #[arg(value_name = "FILE")]
    pub file: String,
    /// Removes the relocations of --emit-relocs from the file: nothing needs them any more
    #[arg(long)]
    pub drop_relocations: bool,
    /// Prints one line of JSON instead, with "version": 1
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct Set {
    /// A process: PID, @NAME, or the path of its agent's socket
    #[arg(value_name = "PROCESS")]
    pub target: String,
    /// The new values: net.trace=on, 'net.*=off', app::MODE=2, net.trace+1
    #[arg(value_name = "SELECTOR=VALUE", required = true)]
    pub selectors: Vec<Selector>,
    /// The process undoes the change after this time: 30, 30s
    #[arg(long = "for", value_name = "SECONDS", value_parser = jumplabel_agent::protocol::duration)]
    pub seconds: Option<u32>,
    /// Only shows what would change
    #[arg(long)]
    pub dry_run: bool,
    /// Changes keys of a process that has no agent: stops all its threads for a moment, by ptrace, and writes its code and its counts. PROCESS must
    /// be a PID
    #[arg(long)]
    pub force: bool,
    /// Makes the change in a process that another one watches, which does not change anything
    #[arg(long, hide = true)]
    pub worker: bool,
    /// For tests: is killed after this number of writes
    #[arg(long, hide = true, value_name = "WRITES")]
    pub dies: Option<usize>,
    /// For tests: does not stop the threads
    #[arg(long, hide = true)]
    pub runs: bool,
    /// Prints one line of JSON instead, with "version": 1
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct Watch {
    /// A process: PID, @NAME, or the path of its agent's socket
    #[arg(value_name = "PROCESS")]
    pub target: String,
    /// Prints lines of JSON instead, with "version": 1
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct Top {
    /// Processes: PID, @NAME, or the path of its agent's socket; all agents of this user, if there is none
    #[arg(value_name = "PROCESS")]
    pub targets: Vec<String>,
    /// Asks each agent once in this time: 10, 10s
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = jumplabel_agent::protocol::duration)]
    pub every: u32,
    /// Always refused: `top` has no JSON
    #[arg(long, hide = true)]
    pub json: bool,
    /// For tests: panics at the first key
    #[arg(long, hide = true)]
    pub panics: bool,
}

#[derive(Args)]
pub struct Trace {
    /// A process: PID, @NAME, or the path of its agent's socket
    #[arg(value_name = "PROCESS")]
    pub target: String,
    /// Which callsites: 'trace:h2::*'; trace:h2::codec for a module and the modules in it
    #[arg(value_name = "SELECTOR", required = true)]
    pub selectors: Vec<Selector>,
    /// Ends after this time: 30, 30s
    #[arg(long = "for", value_name = "SECONDS", value_parser = jumplabel_agent::protocol::duration)]
    pub seconds: Option<u32>,
    /// The most events in a second: 10000 if no number is given
    #[arg(long, value_name = "NUMBER", value_parser = jumplabel_agent::protocol::rate)]
    pub rate: Option<u32>,
    /// Prints lines of JSON instead, one for each event
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct Apply {
    /// A file with lines of JSON, or - for standard input
    #[arg(value_name = "FILE")]
    pub file: String,
}

#[derive(Args)]
pub struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

#[derive(Args)]
pub struct Man {
    /// An existing directory
    #[arg(value_name = "DIRECTORY")]
    pub directory: std::path::PathBuf,
}
