//! Completion of commands in a shell: the shell's script asks this tool, which knows files, processes and their keys.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;

use clap::{Arg, Command, CommandFactory as _};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _};
use clap_complete::env::{CompleteEnv, Shells};
use jumplabel_agent::protocol::Request;
use jumplabel_selector::literal;

use crate::arguments::{self, Arguments};
use crate::failure::{DONE, Failure};
use crate::force;
use crate::process::{self, Process};
use crate::report::Report;
use crate::target::Target;

/// The environment variable by which a shell's script asks for completions.
const ASKS: &str = "JUMPLABEL_COMPLETE";

/// The script for bash. Bash splits words at `@`, `:` and `=`, which targets and selectors contain. So this script splits the line at blanks, and
/// cuts from each answer the part that bash takes for an earlier word.
const BASH: &str = r#"_jumplabel() {
    local line=${COMP_LINE:0:COMP_POINT} words reply
    read -ra words <<< "$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    local before=${words[${#words[@]} - 1]%"$2"}
    COMPREPLY=()
    while IFS= read -r reply; do
        COMPREPLY+=("${reply#"$before"}")
    done < <(_CLAP_IFS=$'\n' _CLAP_COMPLETE_INDEX=$((${#words[@]} - 1)) JUMPLABEL_COMPLETE=bash jumplabel -- "${words[@]}" && echo)
    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} != *[=/] ]] && compopt +o nospace 2> /dev/null
}
complete -o nospace -o bashdefault -o default -F _jumplabel jumplabel
"#;

/// Prints the script of a shell.
pub fn script(what: &arguments::Completions, report: &mut Report) -> Result<u8, Failure> {
    let shell = what.shell.to_string();
    if shell == "bash" {
        report.out += BASH;
        return Ok(DONE);
    }
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let shell = shells.completer(&shell).ok_or_else(|| Failure::Usage(format!("`{shell}`: no such shell")))?;
    let written = shell.write_registration(ASKS, "jumplabel", "jumplabel", "jumplabel", &mut script);
    written.map_err(|error| Failure::OutOfReach(error.to_string()))?;
    report.out += &String::from_utf8_lossy(&script);
    Ok(DONE)
}

/// If a shell's script has called the tool, prints the completions on standard output and returns true. Otherwise returns false.
pub fn answer() -> bool {
    let directory = std::env::current_dir().ok();
    let asked = CompleteEnv::with_factory(|| with_completers(Arguments::command())).var(ASKS);
    asked.try_complete(std::env::args_os(), directory.as_deref()).unwrap_or_else(|error| {
        let _ = writeln!(std::io::stderr(), "jumplabel: {error}");
        true
    })
}

fn with_completers(command: Command) -> Command {
    let completed = |arg: Arg| match arg.get_id().as_str() {
        "target" | "targets" => {
            let what = arg.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
            let what = what.unwrap_or_default();
            arg.add(ArgValueCompleter::new(move |current: &OsStr| targets(&what, current)))
        }
        "selectors" | "selector" => arg.add(ArgValueCompleter::new(selectors)),
        "processes" => arg.add(ArgValueCompleter::new(|current: &OsStr| names("", current))),
        "file" => arg.add(ArgValueCompleter::new(PathCompleter::file())),
        "directory" => arg.add(ArgValueCompleter::new(PathCompleter::dir())),
        _ => arg,
    };
    command.mut_args(completed).mut_subcommands(with_completers)
}

/// The candidates in `what` (texts, each with its description) that begin with `current`.
fn like(current: &OsStr, what: impl IntoIterator<Item = (String, String)>) -> Vec<CompletionCandidate> {
    let current = current.to_string_lossy();
    let fit = what.into_iter().filter(|(value, _)| value.starts_with(&*current));
    fit.map(|(value, is)| CompletionCandidate::new(value).help(Some(is.into()))).collect()
}

/// Files and processes that begin with `current`. `what` is the argument's placeholder in the help, and says whether files and `@NAME` fit.
fn targets(what: &str, current: &OsStr) -> Vec<CompletionCandidate> {
    let mut all = Vec::new();
    if what.contains("PROCESS") {
        all.extend(names("@", current));
    }
    let numbers = process::agents().into_iter().map(|(name, pid)| (pid.to_string(), name));
    all.extend(like(current, numbers));
    if what.contains("FILE") || current.to_string_lossy().contains('/') {
        all.extend(PathCompleter::file().complete(current));
    }
    all
}

fn names(before: &str, current: &OsStr) -> Vec<CompletionCandidate> {
    like(
        current,
        process::agents().into_iter().map(|(name, pid)| (format!("{before}{name}"), format!("process {pid}"))),
    )
}

/// The completions of a selector: the keys of the target on the command line or, after a key and `=`, `on` and `off`.
fn selectors(current: &OsStr) -> Vec<CompletionCandidate> {
    let words: Vec<OsString> = std::env::args_os().skip_while(|word| word != "--").skip(2).collect();
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    let takes_value = words.first().is_some_and(|command| command == "set" || command == "check");
    let text = current.to_string_lossy();
    if let Some((key, _)) = text.split_once('=') {
        return like(current, ["on", "off"].map(|value| (format!("{key}={value}"), String::new())));
    }
    let keys =
        target(&words).map(|target| keys(target, words.iter().any(|word| word == "--force"))).unwrap_or_default();
    let end = if takes_value { "=" } else { "" };
    let with = |end: &'static str| keys.iter().map(move |(key, state)| (literal(key, end), state.clone()));
    let mut all = like(current, with(end));
    // `check` also takes keys without a value.
    if words.first().is_some_and(|command| command == "check") {
        all.extend(like(current, with("")));
    }
    all
}

/// The target: the first word after the command that is no option and not the value of `--for` or `--site`.
fn target<'words>(words: &'words [std::borrow::Cow<'words, str>]) -> Option<&'words str> {
    let mut words = words.iter().skip(1).map(|word| &**word);
    while let Some(word) = words.next() {
        match word {
            "--for" | "--site" => drop(words.next()),
            option if option.starts_with('-') => {}
            target => return Some(target),
        }
    }
    None
}

/// The keys of a target, each with its state (of a process) or its kind (of a file). Empty if the target cannot be read or asked.
fn keys(target: &str, force: bool) -> Vec<(String, String)> {
    if !process::is_one(target) {
        let found = Target::of_file(target).ok();
        let subjects = found.iter().flat_map(|found| &found.objects).flat_map(|object| &object.table.subjects);
        return subjects.map(|subject| (subject.name.clone(), subject.kind().to_owned())).collect();
    }
    let answer = if force {
        force::list(target, &[])
    } else {
        Process::find(target).and_then(|mut process| process.ask(&Request::List(Vec::new())))
    };
    let rows = answer.ok().and_then(|answer| answer.keys).unwrap_or_default();
    rows.into_iter().map(|row| (row.key, row.state)).collect()
}
