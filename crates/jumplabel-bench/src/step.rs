//! Counts the instructions and system calls of a piece of work. A copy of this process executes the work, one instruction at a time (`ptrace`). So
//! the count needs no counter of the processor, and no decoder that guesses the targets of calls. This works only on x86-64, because not every
//! processor can stop after each instruction.

use std::hint::black_box;

#[cfg(target_arch = "x86_64")]
pub use here::count;

/// The numbers of executed instructions, system calls and core syncs.
#[derive(Clone, Copy, Default)]
pub struct Counted {
    pub instructions: u64,
    pub system_calls: u64,
    pub core_syncs: u64,
}

/// The instructions of one turn of `run`, whose argument is the number of turns. `None` where tracing is not allowed.
pub fn instructions_of_turn(run: fn(u64) -> u64) -> Option<f64> {
    // Unoptimised code runs few turns, because its count is not used, and each step costs two system calls and two context switches.
    const TURNS: u64 = if cfg!(debug_assertions) { 2 } else { 20 };
    let steps = |turns| count(|| _ = black_box(run(black_box(turns)))).ok().map(|counted| counted.instructions);
    let more = steps(1 + TURNS).zip(steps(1)).map(|(many, few)| many - few);
    more.map(|more| more as f64 / TURNS as f64)
}

/// Returns an error, because this instruction set is not supported.
#[cfg(not(target_arch = "x86_64"))]
pub fn count(_: impl Fn()) -> std::io::Result<Counted> {
    Err(std::io::ErrorKind::Unsupported.into())
}

#[cfg(target_arch = "x86_64")]
mod here {
    use std::io::{Error, Result};

    use crate::membarrier::PRIVATE_EXPEDITED_SYNC_CORE;
    use crate::step::Counted;

    /// The bytes of the instruction `syscall`.
    const SYSTEM_CALL: libc::c_long = 0x050f;

    /// Executes `work` step by step in a child of this process, which must have one thread. Returns an error where tracing is not allowed.
    pub fn count(work: impl Fn()) -> Result<Counted> {
        // SAFETY: the child calls only `work`, and this process has no other thread.
        let pid = unsafe { libc::fork() };
        match pid {
            -1 => Err(Error::last_os_error()),
            0 => {
                // SAFETY: the signals only stop the child, to tell the parent where `work` begins and ends.
                unsafe {
                    if libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) == 0 {
                        libc::raise(libc::SIGSTOP);
                        work();
                        libc::raise(libc::SIGSTOP);
                    }
                    libc::_exit(1)
                }
            }
            pid => {
                let counted = follow(pid);
                let mut status = 0;
                // SAFETY: `pid` is a child of this process, for which nobody else waits.
                unsafe {
                    libc::kill(pid, libc::SIGKILL);
                    libc::waitpid(pid, &raw mut status, 0);
                }
                counted
            }
        }
    }

    fn follow(pid: libc::pid_t) -> Result<Counted> {
        if stopped(pid)? != libc::SIGSTOP {
            return Err(Error::other("the child did not stop where its work begins"));
        }
        let mut counted = Counted::default();
        loop {
            let registers = registers(pid)?;
            // SAFETY: the request reads a word of the child.
            let code = unsafe { libc::ptrace(libc::PTRACE_PEEKTEXT, pid, registers.rip, 0) } & 0xffff;
            counted.system_calls += u64::from(code == SYSTEM_CALL);
            let is_sync =
                registers.rax == libc::SYS_membarrier as u64 && registers.rdi == PRIVATE_EXPEDITED_SYNC_CORE as u64;
            counted.core_syncs += u64::from(code == SYSTEM_CALL && is_sync);
            // SAFETY: the request makes the child go on by one instruction.
            if unsafe { libc::ptrace(libc::PTRACE_SINGLESTEP, pid, 0, 0) } == -1 {
                return Err(Error::last_os_error());
            }
            match stopped(pid)? {
                libc::SIGTRAP => counted.instructions += 1,
                libc::SIGSTOP => return Ok(counted),
                signal => return Err(Error::other(format!("signal {signal} under work that is counted"))),
            }
        }
    }

    fn stopped(pid: libc::pid_t) -> Result<i32> {
        let mut status = 0;
        // SAFETY: `pid` is a child of this process, for which nobody else waits.
        match unsafe { libc::waitpid(pid, &raw mut status, 0) } {
            -1 => Err(Error::last_os_error()),
            _ if libc::WIFSTOPPED(status) => Ok(libc::WSTOPSIG(status)),
            _ => Err(Error::other("tracing is not allowed here")),
        }
    }

    fn registers(pid: libc::pid_t) -> Result<libc::user_regs_struct> {
        // SAFETY: the structure has only numbers, for which zero is a value.
        let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        // SAFETY: the request writes one such structure.
        match unsafe { libc::ptrace(libc::PTRACE_GETREGS, pid, 0, &raw mut registers) } {
            -1 => Err(Error::last_os_error()),
            _ => Ok(registers),
        }
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::membarrier::PRIVATE_EXPEDITED_SYNC_CORE;

    /// The count must be the number of instructions in the assembler. The code around the assembler has the same count each time.
    #[test]
    #[cfg_attr(miri, ignore = "ptrace")]
    fn instructions() {
        let nops = |turns: u64| {
            count(|| {
                // SAFETY: the loop counts a register down.
                unsafe {
                    std::arch::asm!("2: nop", "dec {0}", "jnz 2b", inout(reg) turns => _, options(nomem, nostack))
                }
            })
        };
        let (Ok(few), Ok(many)) = (nops(1), nops(101)) else { return println!("skipped: no ptrace here") };
        assert_eq!((many.instructions - few.instructions, many.core_syncs), (300, 0));
        let sync = count(|| {
            // SAFETY: the call takes integers.
            unsafe { libc::syscall(libc::SYS_membarrier, PRIVATE_EXPEDITED_SYNC_CORE, 0, 0) };
        });
        // The system calls that stop the child at the end are also counted.
        let (sync, none) = (sync.unwrap(), count(|| ()).unwrap());
        assert_eq!((sync.system_calls - none.system_calls, sync.core_syncs), (1, 1));
    }
}
