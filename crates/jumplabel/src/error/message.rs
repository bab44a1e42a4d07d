//! The message of an error: the fact, and what to do about it.

use core::fmt;

use super::{Error, Refusal, WriterKind};
use crate::arch::Code;

/// The bytes that debuggers and Linux's uprobes write. Each breakpoint and each uprobe begins with one of these.
const PROBES: &[&[u8]] = if cfg!(any(target_arch = "x86_64", target_arch = "x86")) {
    // int3, and a call of the trampoline of uprobes
    &[&[0xcc], &[0xe8]]
} else if cfg!(target_arch = "aarch64") {
    // brk 0, brk 5
    &[&[0, 0, 0x20, 0xd4], &[0xa0, 0, 0x20, 0xd4]]
} else if cfg!(target_arch = "riscv64") {
    // ebreak, c.ebreak
    &[&[0x73, 0, 0x10, 0], &[0x02, 0x90]]
} else {
    &[]
};

/// Whether a site seems to hold a breakpoint or a uprobe. (No instruction that jumplabel writes for a key begins like one.)
fn is_probe(found: &Code) -> bool {
    PROBES.iter().any(|probe| found.starts_with(probe))
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Refusal::NOT_TRIED => f.write_str("not tried"),
            Refusal::NO_EFFECT => f.write_str("wrote, but the code did not change, or the old code kept running"),
            Refusal(number) if cfg!(jumplabel_windows) => write!(f, "Windows error {number}"),
            Refusal(number) => write!(f, "errno {number}"),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Denied { refused } if refused.of(WriterKind::Custom) != Refusal::NOT_TRIED => {
                write!(f, "the kernel's own writer refuses to change code: {}", refused.of(WriterKind::Custom))
            }
            Error::Denied { refused } if refused.iter().next().is_none() => f.write_str(
                "the system refuses to block signals, which a flip does before all else: allow rt_sigprocmask for this process",
            ),
            Error::Denied { refused } if cfg!(jumplabel_windows) => write!(
                f,
                "the system refuses to change code ({refused}): allow it to this process (1655: ProcessDynamicCodePolicy, arbitrary code guard, \
                 forbids it), declare the keys `or_load` (which helps where their sites were not patched before), or build with \
                 --cfg jumplabel_fallback"
            ),
            Error::Denied { refused } => write!(
                f,
                "the system refuses to change code ({refused}): allow mprotect(PROT_EXEC) or writes to /proc/self/mem for \
                 this process, declare the keys `or_load` (which helps where their sites were not patched before), or build with \
                 --cfg jumplabel_fallback, in C with -DJUMPLABEL_FALLBACK"
            ),
            Error::ForeignBytes { address, expected, found } if is_probe(found) => write!(
                f,
                "there is a uprobe or a breakpoint at {address:#x}, on a site, which holds {found:?} instead of {expected:?}: remove it and \
                 flip again"
            ),
            Error::ForeignBytes { address, expected, found } => write!(
                f,
                "the site at {address:#x} holds {found:?} instead of {expected:?}: remove the breakpoint, probe \
                 or other patcher there and flip again"
            ),
            Error::Unreadable { address } => write!(
                f,
                "the code at {address:#x} cannot be read, and sites are read before they change: allow that by mprotect(PROT_READ | PROT_EXEC), \
                 or pkey_set, at least for the flip, or link without --execute-only"
            ),
            Error::NoPlatform => f.write_str("there is no platform yet: call jumplabel::set_platform first"),
            Error::NoWriter if cfg!(jumplabel_windows) => f.write_str(
                "nothing may write this code: mprotect is the only writer on Windows, so JUMPLABEL_WRITER and set_writer must ask for no other",
            ),
            Error::NoWriter => f.write_str(
                "the platform has nothing to write this code with: a kernel's Platform::writers must choose one of its own; procmem \
                 cannot change calls that a table lists; a build without sites writes no code",
            ),
            Error::UnknownWriter => f.write_str(
                "there is no writer of this name: JUMPLABEL_WRITER, or what WriterKind::named was given, must be auto, \
                 procmem, mprotect or remap",
            ),
            Error::Reentrant => f.write_str(
                "this thread would wait for itself. It is in the middle of a flip: flip later. Or it holds the lock: flip with enable_locked \
                 and the like. Or it has a guard of the key: drop that first",
            ),
            Error::Overflow => f.write_str("the key's count is at its maximum: an inc without its dec"),
            Error::Underflow => f.write_str("the key is off: a dec without its inc"),
            Error::Counted { count } => write!(
                f,
                "the key is held by {count} users: use inc and dec, or enable and disable, not both on one key"
            ),
            Error::Sealed => f.write_str("it is sealed: a key, mode or static call that was sealed cannot change any more"),
            Error::TooEarly => f.write_str(
                "no constructor of the object that it is in has run, so its sites are not known yet: flip in a constructor of that object \
                 or later, and not from .preinit_array or an IFUNC resolver",
            ),
            Error::NotCode { address } => write!(
                f,
                "a static call cannot lead to {address:#x}, where no code is mapped: give it a function, of an object that is \
                 still loaded"
            ),
            Error::Circular { address } => write!(
                f,
                "a static call cannot lead to itself, to {address:#x}: to lead it back later, keep what query() returns, not *CALL"
            ),
            Error::NoSuchCpu { cpu } => write!(
                f,
                "the kernel's platform has no room for CPU {cpu}, so that no flip would stop it: build the platform for more, or number CPUs \
                 from 0"
            ),
            Error::NoSuchMode { count } => write!(f, "there are {count} modes: give a number from 0 to {}", count.saturating_sub(1)),
            Error::IsTable => f.write_str("it is a table of operations: set it by Ops::set, which changes its calls, too"),
            Error::UnfitOp { op } => write!(
                f,
                "the operation {op} cannot be in place: give it one instruction (on x86-64 of 5 bytes or more) that does not use the stack \
                 pointer, jump, call or return; or leave its template out, so that it is a static call"
            ),
            Error::UnfitAlternative { address } => write!(
                f,
                "the alternative at {address:#x} has an instruction that cannot be moved there, or that is not known: write it in another \
                 way, or make it longer than 7 bytes, so that the site jumps to it"
            ),
            Error::OutOfRange { address } => write!(
                f,
                "the site at {address:#x} cannot reach its other arm: check the program for damage, or split it"
            ),
            Error::MultiThreaded { core_sync: Refusal::NOT_TRIED, remap } => write!(
                f,
                "threads are running: only remap can change an operation in place then ({remap}), and nothing may take lock prefixes out; do it \
                 before the first thread starts, or, for operations, allow mprotect and mremap of code"
            ),
            Error::MultiThreaded { core_sync, .. } => write!(
                f,
                "threads are running and membarrier is refused ({core_sync}): allow membarrier, flip once before the \
                 first thread starts, or opt in with jumplabel::platform::core_sync_by_signal"
            ),
            Error::DamagedTable { entry } => write!(
                f,
                "the table entry at {entry:#x}, which belongs or may belong to this key, leads out of its object: rebuild the \
                 binary, or teach the tool that rewrote it about the section __jump_table"
            ),
            Error::CopiedCode { address } => write!(
                f,
                "a tool such as BOLT copied the code around the site at {address:#x}, and the copy, which runs, has no site: use the \
                 file from before that tool"
            ),
            Error::NoBounds { object } => write!(
                f,
                "the object with the record at {object:#x} has no bounds: keep __jump_table and __jump_keys sections of their own in \
                 the linker's script, and give the bounds of the kernel and of each module"
            ),
            Error::UnknownKind { entry, kind } => write!(
                f,
                "the table entry at {entry:#x} is of kind {kind}, which this version does not know: build all objects of the \
                 program with one version of jumplabel"
            ),
            Error::NoSuchKey => f.write_str(
                "no key has this name: jumplabel::for_each_key lists them all; an element of an array is path::NAME[3]",
            ),
            Error::SeveralKeys { count } => {
                write!(
                    f,
                    "{count} keys have this name: ask for one as NAME@FILE:LINE:COLUMN, which is what {{:#}} of its KeyInfo \
                     shows, or declare it with a name of its own, #[key(name = \"...\")]"
                )
            }
            Error::NoRecords => f.write_str(
                "this build has no records of its keys, because it has no sites and its target runs no constructors: keep a \
                 list of each KEY.raw() yourself",
            ),
            Error::OutOfMemory => f.write_str(
                "the system gives no memory for the lists of a flip, or no thread for a deferred dec: free some, or allow mmap \
                 and clone, and flip again",
            ),
            Error::BatchFull { capacity } => {
                write!(f, "the batch holds {capacity} changes: make it larger with Batch::<'_, N>::with_capacity(), or call set_all")
            }
            Error::RollbackFailed { address } => write!(
                f,
                "writing code was refused in mid-batch and could not be undone from {address:#x} on: allow it again \
                 and flip again: the next flip, of any key, restores the sites"
            ),
        }
    }
}
