//! Stops all threads of a process by ptrace, and explains why the system may not allow that (ptrace(2)).
//!
//! `PTRACE_SEIZE` and `PTRACE_INTERRUPT` send no signal: the process notices only that time has passed. When this tool ends, in whatever way, the
//! system lets the threads go.

use std::fs;
use std::io::{Error, ErrorKind};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use super::Pid;
use crate::failure::Failure;

/// How long the tool waits for a thread to stop. A thread that takes longer gets no processor.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long the tool waits for a thread that sleeps uninterruptibly in the kernel. This is shorter, because all other threads are stopped meanwhile.
const ASLEEP: Duration = Duration::from_millis(200);

/// The threads of a process, which stay stopped until this value is dropped.
pub struct Stopped {
    pid: Pid,
    threads: Vec<Thread>,
}

struct Thread {
    id: Pid,
    /// The signal that the thread was about to take, and takes when it goes on. 0 if there is none.
    signal: i32,
}

/// The state of a thread that should stop, as the system reports it.
enum Came {
    Stopped(i32),
    Ended,
    NotYet,
}

impl Stopped {
    /// Stops all threads. Looks for threads again until there is no new one, because the last running thread can start another.
    pub fn stop(pid: Pid) -> Result<Stopped, Failure> {
        let mut stopped = Stopped { pid, threads: Vec::new() };
        let (_until, done) = mpsc::channel();
        let reaper = thread::Builder::new().spawn(move || reap(pid, &done));
        reaper.map_err(|error| Failure::OutOfReach(format!("{pid}: no second thread: {error}")))?;
        loop {
            let mut any = false;
            for id in threads(pid)? {
                if stopped.threads.iter().any(|thread| thread.id == id) || has_ended(pid, id) {
                    continue;
                }
                any |= stopped.seize(id)?;
            }
            if !any {
                break;
            }
        }
        if stopped.threads.is_empty() {
            return Err(Failure::OutOfReach(format!("{pid}: the process has ended")));
        }
        Ok(stopped)
    }

    /// A value that stops no thread.
    pub fn none(pid: Pid) -> Stopped {
        Stopped { pid, threads: Vec::new() }
    }

    /// Stops one thread. Returns false if the thread has ended.
    fn seize(&mut self, id: Pid) -> Result<bool, Failure> {
        match ptrace(libc::PTRACE_SEIZE, id, 0, 0) {
            Ok(()) => {}
            // The system may refuse to trace a thread that is about to end.
            Err(_) if has_ended(self.pid, id) => return Ok(false),
            Err(error) => return Err(unreachable(self.pid, &error)),
        }
        let since = Instant::now();
        let _ = ptrace(libc::PTRACE_INTERRUPT, id, 0, 0); // This fails if the thread has ended: `came` then says so.
        loop {
            match came(id) {
                Came::Stopped(signal) => {
                    self.threads.push(Thread { id, signal });
                    return Ok(true);
                }
                Came::Ended => return Ok(false),
                // The system does not report the end of the first thread as long as other threads live.
                Came::NotYet if has_ended(self.pid, id) => return Ok(false),
                Came::NotYet => {
                    let now = state(self.pid, id).unwrap_or('?');
                    if since.elapsed() >= if now == 'D' { ASLEEP } else { PATIENCE } {
                        return Err(Failure::Refused(format!(
                            "{}: thread {id} does not stop (state {now}): it waits in the kernel, for a disk, say, or for a child of vfork; nothing is changed, try again",
                            self.pid
                        )));
                    }
                    thread::sleep(Duration::from_micros(50));
                }
            }
        }
    }

    /// The addresses at which the threads will go on.
    pub fn instruction_pointers(&self) -> Result<Vec<u64>, Failure> {
        self.threads.iter().map(|thread| Ok(self.registers(thread)?.rip)).collect()
    }

    /// Makes each thread go back to its code by `iret`, after which a processor fetches instructions anew (Intel SDM volume 3, 9.3; AMD APM volume 2,
    /// 7.6.4). A thread that was stopped in its code goes back by `iret` in any case. A thread that was stopped in a system call may go back by
    /// `sysret`, after which the processor need not fetch anew. With the resume flag, the kernel does not use `sysret` (its `do_syscall_64`).
    pub fn serialise(&self) -> Result<(), Failure> {
        const RESUME: u64 = 1 << 16;
        for thread in &self.threads {
            let registers = self.registers(thread)?;
            let in_a_call = registers.orig_rax.cast_signed() >= 0;
            if in_a_call {
                let place = std::mem::offset_of!(libc::user_regs_struct, eflags);
                let flags = registers.eflags | RESUME;
                ptrace(libc::PTRACE_POKEUSER, thread.id, place, flags as usize).map_err(|error| self.lost(&error))?;
            }
        }
        Ok(())
    }

    fn registers(&self, thread: &Thread) -> Result<libc::user_regs_struct, Failure> {
        // SAFETY: the struct has only integers, for which zero is valid.
        let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        ptrace(libc::PTRACE_GETREGS, thread.id, 0, &raw mut registers as usize).map_err(|error| self.lost(&error))?;
        Ok(registers)
    }

    fn lost(&self, error: &Error) -> Failure {
        Failure::OutOfReach(format!("{}: the process has ended, it seems: {error}", self.pid))
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        for thread in &self.threads {
            let _ = ptrace(libc::PTRACE_DETACH, thread.id, 0, thread.signal as usize);
        }
    }
}

/// Collects (`waitid`) those traced threads that have ended, if not all threads have stopped after `PATIENCE`. `execve` waits until these threads are
/// collected, and `PTRACE_SEIZE` waits for `execve`. So the thread that calls `PTRACE_SEIZE` would wait for itself; this function runs in another
/// thread. It collects only threads that have ended: a wait for any thread would also take the news that a thread has stopped.
fn reap(pid: Pid, done: &Receiver<()>) {
    let mut patience = PATIENCE;
    while done.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
        for id in threads(pid).unwrap_or_default().into_iter().filter(|&id| has_ended(pid, id)) {
            let what = libc::WNOHANG | libc::WEXITED | libc::__WALL;
            // SAFETY: the call takes numbers, and a null pointer, for which `waitid` writes no information.
            unsafe { libc::waitid(libc::P_PID, id, std::ptr::null_mut(), what) };
        }
        patience = Duration::from_millis(1);
    }
}

/// The type of a request, which differs between C libraries.
#[cfg(target_env = "musl")]
type Request = libc::c_int;
#[cfg(not(target_env = "musl"))]
type Request = libc::c_uint;

fn ptrace(request: Request, thread: Pid, address: usize, data: usize) -> Result<(), Error> {
    // SAFETY: ptrace writes to this process's memory only for GETREGS. For that request, `registers` passes the address of its own struct as `data`.
    let result = unsafe { libc::ptrace(request, thread.cast_signed(), address, data) };
    if result == -1 { Err(Error::last_os_error()) } else { Ok(()) }
}

/// Whether a thread has stopped by now, and with which signal. The signal stays a number, because the C library has signals without a name.
fn came(thread: Pid) -> Came {
    /// The event of a stop that is not for a signal: PTRACE_EVENT_STOP (linux/ptrace.h).
    const EVENT_STOP: i32 = 128;
    let mut status = 0;
    // SAFETY: `status` lives on this function's stack, and `waitpid` writes one integer there.
    match unsafe { libc::waitpid(thread.cast_signed(), &raw mut status, libc::__WALL | libc::WNOHANG) } {
        0 => Came::NotYet,
        -1 => Came::Ended,
        _ if !libc::WIFSTOPPED(status) => Came::Ended,
        _ if status >> 16 == EVENT_STOP => Came::Stopped(0),
        _ => Came::Stopped(libc::WSTOPSIG(status)),
    }
}

/// Refuses if another process shares the memory of process `pid` (vfork, `clone(CLONE_VM)`), because [`Stopped`] does not stop the other process.
pub fn shares_memory(pid: Pid) -> Result<(), Failure> {
    const KCMP_VM: libc::c_int = 1; // linux/kcmp.h
    let others = fs::read_dir("/proc").into_iter().flatten().flatten();
    for other in
        others.filter_map(|entry| entry.file_name().to_str()?.parse::<Pid>().ok()).filter(|&other| other != pid)
    {
        // SAFETY: the call takes numbers and compares. It returns an error on a kernel that lacks it, or for another user's process.
        let order = unsafe { libc::syscall(libc::SYS_kcmp, pid, other, KCMP_VM, 0, 0) };
        if order == 0 {
            return Err(Failure::Refused(format!(
                "{pid}: process {other} runs in the same memory (vfork, clone): nothing is changed, try again later"
            )));
        }
    }
    Ok(())
}

/// The numbers of the process's threads.
fn threads(pid: Pid) -> Result<Vec<Pid>, Failure> {
    let gone = |error: &Error| match error.kind() {
        ErrorKind::NotFound => Failure::OutOfReach(format!("{pid}: there is no such process")),
        _ => unreachable(pid, error),
    };
    let entries = fs::read_dir(format!("/proc/{pid}/task")).map_err(|error| gone(&error))?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

/// A thread by whose number the system shows the process's files: the first thread, unless that has ended.
pub fn alive(pid: Pid) -> Result<Pid, Failure> {
    if !has_ended(pid, pid) {
        return Ok(pid);
    }
    let ended = || Failure::OutOfReach(format!("{pid}: there is no such process"));
    threads(pid)?.into_iter().find(|&id| !has_ended(pid, id)).ok_or_else(ended)
}

/// Whether a thread runs no code any more. The system may still list such a thread.
fn has_ended(pid: Pid, thread: Pid) -> bool {
    state(pid, thread).is_none_or(|state| "ZX".contains(state))
}

/// The letter of a thread's state. `None` if the thread has gone.
fn state(pid: Pid, thread: Pid) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/task/{thread}/stat")).ok()?;
    // The name stands in parentheses, and may contain any characters.
    stat.rsplit_once(") ")?.1.chars().next()
}

/// The value of a line in `/proc/PID/status`.
pub fn status(pid: Pid, name: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(line.trim().to_owned())
}

/// Explains why the system does not let this tool look into a process, as far as that can be known, and what to do.
pub fn unreachable(pid: Pid, error: &Error) -> Failure {
    let is_refused = matches!(error.kind(), ErrorKind::PermissionDenied);
    let own = std::process::id().to_string();
    let tracer = status(pid, "TracerPid").filter(|tracer| tracer != "0" && *tracer != own);
    let user = status(pid, "Uid").and_then(|line| line.split_whitespace().next()?.parse::<u32>().ok());
    // SAFETY: the call takes nothing, and returns a number.
    let own = unsafe { libc::geteuid() };
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok().filter(|scope| scope.trim() != "0");
    let why = match (error.kind(), tracer, user, scope) {
        (ErrorKind::NotFound, ..) => "there is no such process".to_owned(),
        (_, Some(tracer), ..) if is_refused => {
            format!(
                "process {tracer} traces it already (a debugger, strace, another `jumplabel --force`): end that first"
            )
        }
        (.., Some(user), _) if is_refused && own != 0 && user != own => {
            format!("it belongs to user {user}: be that user, or root")
        }
        (.., Some(scope)) if is_refused && own != 0 => {
            format!("kernel.yama.ptrace_scope is {}: be root, or set it to 0", scope.trim())
        }
        _ if is_refused => format!(
            "{error}: the system forbids to trace it (a security module, seccomp, a container without CAP_SYS_PTRACE, or a program that is not dumpable)"
        ),
        _ => error.to_string(),
    };
    Failure::OutOfReach(format!("{pid}: {why}"))
}
