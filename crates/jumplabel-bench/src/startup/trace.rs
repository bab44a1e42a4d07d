//! Counts the system calls of a program from its `exec` to its `main`, and from there to its end. The program is stopped at each call (`ptrace`).

use std::io::{Error, Result};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;

/// The numbers of system calls.
#[derive(Clone, Copy)]
pub struct Calls {
    pub before_main: u64,
    pub after: u64,
}

/// Counts the system calls of a program. Returns an error if tracing is not allowed.
pub fn system_calls(program: &Path) -> Result<Calls> {
    let mut command = super::programs::command(program);
    command.arg("wait"); // With this argument, `main` writes a line when it begins.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: the closure makes one system call between fork and exec.
    unsafe { command.pre_exec(|| request(libc::PTRACE_TRACEME, 0, 0)) };
    let child = command.spawn()?;
    let pid = child.id() as libc::pid_t;
    // The child stops at the end of exec.
    let mut calls = Calls { before_main: 0, after: 0 };
    let (mut entering, mut in_main) = (true, false);
    let mut status = wait(pid)?;
    request(libc::PTRACE_SETOPTIONS, pid, libc::PTRACE_O_TRACESYSGOOD as usize | libc::PTRACE_O_EXITKILL as usize)?;
    while libc::WIFSTOPPED(status) {
        let signal = libc::WSTOPSIG(status);
        let mut deliver = 0;
        if signal == libc::SIGTRAP | 0x80 {
            in_main |= entering && writes(pid)?;
            *if in_main { &mut calls.after } else { &mut calls.before_main } += u64::from(entering);
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

/// Returns whether the child's next system call writes to its standard output.
fn writes(pid: libc::pid_t) -> Result<bool> {
    // SAFETY: the structure has only numbers, for which zero is a value. The call writes at most as many bytes as its argument says.
    let info = unsafe {
        let mut info: libc::ptrace_syscall_info = std::mem::zeroed();
        let bytes = size_of_val(&info);
        match libc::ptrace(libc::PTRACE_GET_SYSCALL_INFO, pid, bytes, &raw mut info) {
            -1 => return Err(Error::last_os_error()),
            _ => info,
        }
    };
    // SAFETY: the child is stopped at the beginning of a call, so `entry` is the valid field.
    let call = unsafe { info.u.entry };
    Ok(call.nr == libc::SYS_write as u64 && call.args[0] == libc::STDOUT_FILENO as u64)
}

fn request(request: libc::c_uint, pid: libc::pid_t, data: usize) -> Result<()> {
    // SAFETY: none of the requests used here writes to this process's memory.
    match unsafe { libc::ptrace(request, pid, 0, data) } {
        -1 => Err(Error::last_os_error()),
        _ => Ok(()),
    }
}

fn wait(pid: libc::pid_t) -> Result<i32> {
    let mut status = 0;
    // SAFETY: `pid` is a child of this process, for which nobody else waits.
    match unsafe { libc::waitpid(pid, &raw mut status, 0) } {
        -1 => Err(Error::last_os_error()),
        _ => Ok(status),
    }
}
