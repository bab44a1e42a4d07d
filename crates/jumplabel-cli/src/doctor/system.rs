//! Examines what this system allows.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::{Findings, writers};

/// Examines the system, and returns the names of the writers that work here. `own` is false if the caller examines another process: then the tool's
/// own environment does not matter.
pub fn look(own: bool, findings: &mut Findings) -> Vec<&'static str> {
    kernel(findings);
    proc(findings);
    let working = writers::look(findings);
    if own && let Some(name) = std::env::var_os(writers::VARIABLE) {
        writers::named(name.as_bytes(), &working, findings);
    }
    membarrier(findings);
    mdwe(findings);
    yama(findings);
    working
}

fn kernel(findings: &mut Findings) {
    let system = rustix::system::uname();
    let [name, release, machine] =
        [system.sysname(), system.release(), system.machine()].map(|text| text.to_string_lossy());
    findings.ok("kernel", format!("{name} {release}, {machine}"));
}

fn proc(findings: &mut Findings) {
    match fs::OpenOptions::new().read(true).write(true).open("/proc/self/mem") {
        Ok(_) => findings.ok("/proc", "/proc/self/mem opens for writing"),
        Err(error) if Path::new("/proc/self").exists() => {
            let cure = "the writer procmem is out; mprotect and remap need it only where text cannot be read";
            findings.note("/proc", format!("/proc/self/mem does not open: {error}"), cure);
        }
        Err(_) => {
            let cure = "mount it: mount -t proc proc /proc; without it there is the writer mprotect alone";
            findings.note("/proc", "is not mounted", cure);
        }
    }
}

fn membarrier(findings: &mut Findings) {
    const QUERY: libc::c_int = 0;
    const PRIVATE_EXPEDITED_SYNC_CORE: libc::c_long = 1 << 5;
    // SAFETY: the query takes only numbers, and returns a mask of commands.
    let commands = unsafe { libc::syscall(libc::SYS_membarrier, QUERY, 0, 0) };
    if commands >= 0 && commands & PRIVATE_EXPEDITED_SYNC_CORE != 0 {
        return findings.ok("membarrier", "has the core sync of one process's threads");
    }
    findings.note(
        "membarrier",
        "is refused, or has no core sync",
        "flips of programs with several threads go by remap, or are refused: allow membarrier (Linux 4.16) in the sandbox",
    );
}

/// Reports MDWE (memory deny write execute), which forbids new executable memory. A process inherits it from its parent, or sets it itself.
fn mdwe(findings: &mut Findings) {
    const GET_MDWE: libc::c_int = 66;
    const REFUSES_GAIN: libc::c_int = 1;
    // SAFETY: the call takes numbers, and returns a mask. Linux before 6.3 refuses it.
    let mask = unsafe { libc::prctl(GET_MDWE, 0_u64, 0_u64, 0_u64, 0_u64) };
    if mask > 0 && mask & REFUSES_GAIN != 0 {
        let cure = "a process that has it can flip by procmem alone; systemd's MemoryDenyWriteExecute= sets it";
        findings.note(
            "mdwe",
            "this tool inherits it: no memory becomes executable, so mprotect and remap are out",
            cure,
        );
    }
}

fn yama(findings: &mut Findings) {
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok();
    let (is, cure) = may_trace(scope.as_deref().map(str::trim), traces_others());
    match cure {
        None => findings.ok("yama", is),
        Some(cure) => findings.note("yama", is, cure),
    }
}

/// Whether this process has the capability CAP_SYS_PTRACE.
fn traces_others() -> bool {
    const SYS_PTRACE: u64 = 1 << 19;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    effective.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & SYS_PTRACE != 0)
}

/// A sentence on what Yama lets this user trace. If that is less than `--force` needs, also the cure (Documentation/admin-guide/LSM/Yama.rst of
/// Linux).
fn may_trace(scope: Option<&str>, has_capability: bool) -> (String, Option<&'static str>) {
    let Some(scope) = scope else {
        return ("is not there: --force works for the user's own processes".into(), None);
    };
    let is = format!("kernel.yama.ptrace_scope is {scope}");
    match (scope, has_capability) {
        ("0", _) | ("1" | "2", true) => (format!("{is}, which lets this user trace"), None),
        ("1" | "2", false) => (is, Some("for --force be root (CAP_SYS_PTRACE), or set it to 0; agents do not need it")),
        _ => (
            format!("{is}: nobody may trace, and nobody can change that until the system starts again"),
            Some("--force is out: start programs with an agent"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::may_trace;

    #[test]
    fn yama() {
        for (scope, has_capability, traces, cure) in [
            (None, false, true, ""),
            (Some("0"), false, true, ""),
            (Some("1"), false, false, "be root"),
            (Some("1"), true, true, ""),
            (Some("2"), false, false, "be root"),
            (Some("2"), true, true, ""),
            (Some("3"), false, false, "an agent"),
            (Some("3"), true, false, "an agent"),
        ] {
            let (is, says) = may_trace(scope, has_capability);
            assert_eq!(says.is_none(), traces, "{scope:?} {has_capability}: {is}");
            assert!(says.unwrap_or_default().contains(cure), "{scope:?} {has_capability}: {says:?}");
        }
    }
}
