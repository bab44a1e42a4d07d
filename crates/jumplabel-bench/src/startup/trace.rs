//! The system calls of a program from its `exec` to its end, counted by stopping it at each (`ptrace`).

use std::io::{Error, Result};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;

/// How many it makes; an error where tracing is not allowed.
pub fn system_calls(program: &Path) -> Result<u64> {
    let mut command = super::programs::command(program);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: one system call between fork and exec.
    unsafe { command.pre_exec(|| request(libc::PTRACE_TRACEME, 0, 0)) };
    let child = command.spawn()?;
    let pid = child.id() as libc::pid_t;
    // The child stops when exec is done.
    let mut calls = 0;
    let mut entering = true;
    let mut status = wait(pid)?;
    request(libc::PTRACE_SETOPTIONS, pid, libc::PTRACE_O_TRACESYSGOOD as usize | libc::PTRACE_O_EXITKILL as usize)?;
    while libc::WIFSTOPPED(status) {
        let signal = libc::WSTOPSIG(status);
        let mut deliver = 0;
        if signal == libc::SIGTRAP | 0x80 {
            calls += u64::from(entering);
            entering = !entering;
        } else if signal != libc::SIGTRAP {
            deliver = signal as usize;
        }
        request(libc::PTRACE_SYSCALL, pid, deliver)?;
        status = wait(pid)?;
    }
    if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0 {
        Ok(calls)
    } else {
        Err(Error::other("the traced program failed"))
    }
}

fn request(request: libc::c_uint, pid: libc::pid_t, data: usize) -> Result<()> {
    // SAFETY: none of the requests used here writes to this process.
    match unsafe { libc::ptrace(request, pid, 0, data) } {
        -1 => Err(Error::last_os_error()),
        _ => Ok(()),
    }
}

fn wait(pid: libc::pid_t) -> Result<i32> {
    let mut status = 0;
    // SAFETY: a child of ours, which nobody else waits for.
    match unsafe { libc::waitpid(pid, &raw mut status, 0) } {
        -1 => Err(Error::last_os_error()),
        _ => Ok(status),
    }
}
