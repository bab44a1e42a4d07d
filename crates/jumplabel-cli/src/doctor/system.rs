//! Examines what this system allows, by flips of a key of the tool's own.

use std::fs;
use std::path::Path;

use jumplabel::{WriterKind, static_branch_unlikely, static_key};

use super::Findings;

static_key! {
    /// The key that the tool flips to see which writers work.
    static TRIED: false;
}

const WRITERS: [(&str, WriterKind); 3] =
    [("procmem", WriterKind::Procmem), ("mprotect", WriterKind::Mprotect), ("remap", WriterKind::Remap)];

pub fn look(findings: &mut Findings) {
    kernel(findings);
    proc(findings);
    writers(findings);
    membarrier(findings);
    yama(findings);
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

fn writers(findings: &mut Findings) {
    if cfg!(jumplabel_fallback) {
        return findings.note("writers", "this tool has no sites, and tries none", "build it for a target with sites");
    }
    let mut working = Vec::new();
    for (name, kind) in WRITERS {
        jumplabel::set_writer(Some(kind));
        match tried() {
            Ok(true) => working.push(name),
            Ok(false) => findings.bad("writers", format!("{name} says Ok, and does nothing"), "please report this"),
            Err(error) => findings.note(
                "writers",
                format!("{name}: {error}"),
                "a process in the same sandbox can flip by the others; docs/safety.md has each error's cure",
            ),
        }
    }
    jumplabel::set_writer(None);
    match working.first() {
        Some(first) => findings.ok("writers", format!("{}; {first} is tried first", working.join(", "))),
        None => findings.bad(
            "writers",
            "none works here: no key of this system's programs can be flipped from such a sandbox",
            "loosen the sandbox: allow one of pwrite to /proc/self/mem, mprotect, mremap for code",
        ),
    }
}

/// Flips the key on and off again. Returns whether its check followed.
fn tried() -> Result<bool, jumplabel::Error> {
    let is_on = || static_branch_unlikely!(TRIED);
    TRIED.enable()?;
    let was_on = is_on();
    TRIED.disable()?;
    Ok(was_on && !is_on())
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

fn yama(findings: &mut Findings) {
    // SAFETY: the call takes nothing, and returns a number.
    let is_root = unsafe { libc::geteuid() } == 0;
    match fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").map(|scope| scope.trim().to_owned()) {
        Ok(scope) if scope != "0" && !is_root => findings.note(
            "yama",
            format!("kernel.yama.ptrace_scope is {scope}"),
            "for --force be root, or set it to 0; agents do not need it",
        ),
        Ok(scope) => findings.ok("yama", format!("kernel.yama.ptrace_scope is {scope}, which lets this user trace")),
        Err(_) => findings.ok("yama", "is not there: --force works for the user's own processes"),
    }
}
