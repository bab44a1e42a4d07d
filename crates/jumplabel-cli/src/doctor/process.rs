//! Examines a process: what the system forbids it, how its text is mapped, which instances of the library it has, and whether its sites do what their
//! keys say.

use std::fs;

use jumplabel_agent::protocol::Request;

use super::{Findings, object, writers};
use crate::failure::Failure;
use crate::force;
use crate::process::Process;
use crate::target::Target;

/// The cure if `/proc` shows nothing of a process.
const SEE: &str = "be its user, or root; in a container, CAP_SYS_PTRACE of its user namespace is needed, too";

/// Examines a process. `working` has the names of the writers that work in the tool itself.
pub fn look(target: &str, working: &[&str], findings: &mut Findings) -> Result<(), Failure> {
    let Ok(pid) = target.parse::<u32>() else {
        // The target is a name or a socket. Its process may be in another container, so only the agent is asked.
        return agent(target, findings);
    };
    let alive = force::alive(pid)?;
    if let Some(name) = environment(alive, writers::VARIABLE) {
        writers::named(&name, working, findings);
    }
    sandbox(alive, findings);
    text(alive, findings);
    match force::target(target) {
        Ok(found) => {
            object::look(&found, object::From::Memory, findings);
            sites(&found, findings);
        }
        Err(Failure::Refused(why)) => findings.bad("memory", why, "the process, or its files, are damaged"),
        Err(why) => findings.note("memory", why.to_string(), "what lies in its memory is not shown"),
    }
    let inside = force::inside(target);
    inside.iter().for_each(|inside| instances(&inside.instances, findings));
    match inside.and_then(|inside| inside.agent) {
        Ok(None) => findings.note("agent", "none", "start the program with JUMPLABEL_AGENT=1, or use --force"),
        _ => agent(target, findings)?,
    }
    Ok(())
}

/// The value of a variable in the environment with which the process was started.
fn environment(pid: u32, variable: &str) -> Option<Vec<u8>> {
    let all = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let value = |one: &[u8]| Some(one.strip_prefix(variable.as_bytes())?.strip_prefix(b"=")?.to_vec());
    all.split(|&byte| byte == 0).find_map(value)
}

fn sandbox(pid: u32, findings: &mut Findings) {
    let status = match fs::read_to_string(format!("/proc/{pid}/status")) {
        Ok(status) => status,
        Err(error) => return findings.note("seccomp", format!("cannot be seen: {error}"), SEE),
    };
    let line = |name: &str| status.lines().find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim()));
    match line("Seccomp") {
        Some("0") | None => findings.ok("seccomp", "no filter"),
        Some(mode) => findings.note(
            "seccomp",
            format!("mode {mode}, {} filters", line("Seccomp_filters").unwrap_or("?")),
            "it may refuse what writers need; a flip's error names the call. Its rules, and MDWE, cannot be seen from outside",
        ),
    }
    match line("TracerPid") {
        Some("0") | None => {}
        Some(tracer) => findings.note(
            "tracer",
            format!("process {tracer} traces it"),
            "its breakpoints are foreign bytes: a flip that meets one is refused until it is gone; --force needs it gone",
        ),
    }
}

/// Reports text that is mapped in another way than linkers ask for.
fn text(pid: u32, findings: &mut Findings) {
    let maps = match fs::read_to_string(format!("/proc/{pid}/smaps")) {
        Ok(maps) => maps,
        Err(error) => {
            return findings.note("text", format!("its mappings cannot be read: {error}"), SEE);
        }
    };
    let (mut mapping, mut how, mut found) = ("", "", Vec::new());
    for line in maps.lines() {
        let mut words = line.split_whitespace();
        let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        // Each mapping begins with a line with its addresses; lines about the mapping follow.
        if first.contains('-') && second.len() == 4 {
            (mapping, how) = (line, second);
            let is_text = how.contains('x') && line.contains('/');
            for (is_so, is, cure) in [
                (how.contains('w'), "is writable", "not by this library between flips: look for who maps it so"),
                (!how.contains('r'), "cannot be read", "flips read it by /proc/self/mem: that must open"),
                (
                    line.ends_with("(deleted)"),
                    "has a file that was replaced",
                    "the tool reads the old one if it is the program's own, or if it is root",
                ),
            ] {
                if is_text && is_so {
                    found.push((format!("{is}: {mapping}"), cure));
                }
            }
        } else if first == "ProtectionKey:" && second != "0" && how.contains('x') {
            let cure = "flips read it by /proc/self/mem if the key forbids reads";
            found.push((format!("has a protection key: {mapping}"), cure));
        }
    }
    if found.is_empty() {
        findings.ok("text", "mapped as linkers have it");
    }
    found.into_iter().for_each(|(is, cure)| findings.note("text", is, cure));
}

/// Reports the instances of the library, with their table formats.
fn instances(instances: &[(String, u32)], findings: &mut Findings) {
    let own = jumplabel_format::layout::VERSION;
    for (path, version) in instances {
        if *version == own {
            findings.ok("instance", format!("{path}: table format {version}"));
        } else {
            findings.bad(
                "instance",
                format!("{path}: table format {version}, and this tool has {own}"),
                "one version of the library for all of a process: build that object with the other's",
            );
        }
    }
}

/// Reports sites that do not do what their keys say, or that no thread runs.
fn sites(target: &Target, findings: &mut Findings) {
    let differences = force::differences(target);
    let cure = "jumplabel check --repair PID; of a hook or a breakpoint, end whoever set it";
    findings.several("sites", &differences, cure);
    let has_sites = target.objects.iter().any(|object| !object.table.sites.is_empty());
    if differences.is_empty() && has_sites {
        findings.ok("sites", "all do what their keys say");
    }
}

/// Reports the agent, and whether it answers.
fn agent(target: &str, findings: &mut Findings) -> Result<(), Failure> {
    match Process::find(target).and_then(|mut process| process.ask(&Request::Hello)) {
        Ok(_) => findings.ok("agent", "answers"),
        Err(Failure::Usage(why)) => return Err(Failure::Usage(why)),
        Err(why) => findings.note(
            "agent",
            why.to_string(),
            "without one, --force reaches the keys of a process of the own user",
        ),
    }
    Ok(())
}
