//! The command line.

mod fleet;
mod help;

use clap::{Args, Parser, Subcommand};
use jumplabel_selector::Selector;

pub use fleet::{Cluster, Fleet, FleetList, FleetSet, FleetUnset, Follow};
use help::after;

/// Lists, shows and checks the static keys of a program or shared library. Reads the file, and never runs it; stripped files and those
/// of other instruction sets, too. Lists, checks and sets those of a process that has an agent.
#[derive(Parser)]
#[command(name = "jumplabel", version, max_term_width = 80, after_help = after!(common))]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Lists keys, static calls and modes: what each is at the start, how many sites it has, where it is declared
    #[command(after_help = after!("jumplabel list ./server              keys in a file" "jumplabel list 4711 'net.*'          keys of a process, and their users" "jumplabel list @web --json"))]
    List(List),
    /// Lists sites: address, bytes, state, key, and the functions that they are in
    #[command(after_help = after!("jumplabel sites ./server net.trace fn:receive" "jumplabel sites 4711 obj:libnet.so"))]
    Sites(Sites),
    /// Shows what sites hold, and what they hold once their key is flipped
    #[command(after_help = after!("jumplabel disasm 4711 net.trace --site 0    in memory now, and flipped" "jumplabel disasm ./server app::HASH=fast    the way to another function"))]
    Disasm(Disasm),
    /// Compares keys with what they are to be, and code with the tables
    #[command(after_help = after!("jumplabel check ./server wal.fsync=on 'net.*=off'   before a release" "jumplabel check 4711                                code against tables" "jumplabel check @web --repair"))]
    Check(Check),
    /// Says why flips fail, or may fail: of this system, a process or a file; a line each, and what helps
    #[command(after_help = after!("jumplabel doctor                            this system" "jumplabel doctor 4711                       a process" "jumplabel doctor ./server --report          for a bug report"))]
    Doctor(Doctor),
    /// Writes into a linked program or shared library what only the whole of it shows: lists calls of static calls, and leads them straight
    ///
    /// It was linked with -Wl,--emit-relocs, or by jumplabel-cc. The file is replaced if all went well, and stays as it is if not. A second
    /// run changes nothing.
    #[command(after_help = after!("jumplabel link ./server                     lists its calls of static calls" "jumplabel link ./libnet.so --json"))]
    Link(Link),
    /// Sets keys and modes of a process, all or nothing, and says how to take it back
    #[command(after_help = after!("jumplabel set 4711 'net.*=on' --for 30s     takes it back by itself" "jumplabel set @web app::MODE=2 --dry-run" "jumplabel set --force 4711 net.trace=on     without an agent"))]
    Set(Set),
    /// Shows what agents' clients change in a process, as it happens
    #[command(after_help = after!("jumplabel watch @web" "jumplabel watch 4711 --json"))]
    Watch(Watch),
    /// Shows keys of processes in a terminal, and what changes; sets them, and takes that back
    ///
    /// It needs 80 columns and 24 lines. Keys: / filters as you type, blank toggles, r takes back what operators have changed, ? says more, q
    /// ends. Each agent is asked once a second, over one connection, and never makes its program wait. A process that ends or does not answer
    /// is shown as such. The agent tells of its own changes; the program's are seen when it is asked.
    #[command(after_help = after!("jumplabel top 4711                          one process" "jumplabel top @web @shop                    several; without any, all of yours" "jumplabel top @web --every 10               asks less often"))]
    Top(Top),
    /// Shows what happens at callsites of `tracing`, as it happens, whatever the filters of the process say
    ///
    /// Until the process ends, this command ends, or the time is over: then the callsites are as they were. The program waits for nothing. If it
    /// says more than the limit or than this command reads, the rest is counted.
    #[command(after_help = after!("jumplabel trace 4711 'trace:h2::*'" "jumplabel trace @web trace:hyper::proto --for 30s --json"))]
    Trace(Trace),
    /// Sets keys of several processes, as lines of JSON say, and prints a line of JSON for each
    ///
    /// A line is {"process":"@web","set":["net.*=on"],"for":30,"dry_run":false}, of which `for` and `dry_run` may be left out. All lines are
    /// read first: if one makes no sense, nothing is set. Each is one change of its process, all or nothing; those behind one that fails
    /// are tried all the same.
    #[command(after_help = after!("jumplabel apply changes.jsonl" "jumplabel apply -                           from standard input"))]
    Apply(Apply),
    /// Sets keys of processes on many hosts, by way of etcd, and says what they are
    #[command(after_help = after!("jumplabel fleet set --processes 'web*' 'net.*=on' --for 600s" "jumplabel fleet list"), subcommand)]
    Fleet(Fleet),
    /// Makes the keys of this host's processes what a prefix in etcd says, until it is ended
    ///
    /// It prints a line for each change. If no member of etcd answers, nothing changes, and it goes on trying. A process that starts later is made
    /// to follow within a second.
    #[command(after_help = after!("jumplabel follow --etcd http://etcd1:2379,http://etcd2:2379" "jumplabel follow --host web17"))]
    Follow(Follow),
    /// Prints what completes commands in a shell: their words, files, processes and keys
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
    /// What of it; all, if there is none, but for the static calls of tracepoints
    #[arg(value_name = "SELECTOR")]
    pub selectors: Vec<Selector>,
    /// Of a process that has no agent: keys alone, from its memory
    #[arg(long)]
    pub force: bool,
    /// One line of JSON instead, with "version": 1
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct Sites {
    /// A program or a shared library, or a process: PID
    #[arg(value_name = "FILE|PID")]
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
    /// A program or a shared library, or a process: PID
    #[arg(value_name = "FILE|PID")]
    pub target: String,
    /// Whose sites; with =FUNCTION, a static call's way to that
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
    /// What is to be: net.trace=on; without a value, only that code and tables agree; all, if there is none
    #[arg(value_name = "SELECTOR[=VALUE]")]
    pub selectors: Vec<Selector>,
    /// Of a process that has no agent, from its memory: keys, static calls and modes
    #[arg(long)]
    pub force: bool,
    /// Lists the functions whose first instruction is a site, where probes and breakpoints go; of a file
    #[arg(long, conflicts_with = "force")]
    pub entries: bool,
    /// First brings sites of a process back that something outside the library has changed, and says how many. With --force, stops all threads
    /// for that, if there are some, and no agent
    #[arg(long)]
    pub repair: bool,
}

#[derive(Args)]
pub struct Doctor {
    /// A program or a shared library; or a process: PID, @NAME, or the path of its agent's socket; this system, if there is none
    #[arg(value_name = "FILE|PROCESS")]
    pub target: Option<String>,
    /// A form for a bug report instead, with all that was found
    #[arg(long, conflicts_with = "json")]
    pub report: bool,
    /// One line of JSON instead, with "version": 1
    #[arg(long)]
    pub json: bool,
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
pub struct Top {
    /// Processes: PID, @NAME, or the path of its agent's socket; all agents of this user, if there is none
    #[arg(value_name = "PROCESS")]
    pub targets: Vec<String>,
    /// Asks each agent once in so many seconds: 10, 10s
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = jumplabel_agent::protocol::duration)]
    pub every: u32,
    /// Is refused
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
    /// Which callsites: 'trace:h2::*', trace:h2::codec for a module and what is below it
    #[arg(value_name = "SELECTOR", required = true)]
    pub selectors: Vec<Selector>,
    /// Ends after so many seconds: 30, 30s
    #[arg(long = "for", value_name = "SECONDS", value_parser = jumplabel_agent::protocol::duration)]
    pub seconds: Option<u32>,
    /// At most so many events in a second; 10000 if no number is given
    #[arg(long, value_name = "NUMBER", value_parser = jumplabel_agent::protocol::rate)]
    pub rate: Option<u32>,
    /// Lines of JSON instead, one for each event
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct Apply {
    /// A file of lines of JSON, or - for standard input
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
    /// A directory that is there
    #[arg(value_name = "DIRECTORY")]
    pub directory: std::path::PathBuf,
}
