//! The message of each error: what is wrong, and what to do about it. Messages are made piece by piece, because programs in C use them without
//! `core::fmt`.

use core::ffi::CStr;
use core::fmt;

use super::{Error, Refusal, Refusals, WriterKind};
use crate::arch::Code;
use crate::text::{self, Pieces};

/// The bytes that breakpoints of debuggers, and uprobes of Linux, begin with.
const PROBES: &[&[u8]] = if cfg!(any(target_arch = "x86_64", target_arch = "x86")) {
    // int3; and the call that Linux writes for an optimized uprobe
    &[&[0xcc], &[0xe8]]
} else if cfg!(target_arch = "aarch64") {
    // brk 0, of debuggers; brk 5, of uprobes
    &[&[0, 0, 0x20, 0xd4], &[0xa0, 0, 0x20, 0xd4]]
} else if cfg!(any(target_arch = "riscv32", target_arch = "riscv64")) {
    // ebreak, c.ebreak
    &[&[0x73, 0, 0x10, 0], &[0x02, 0x90]]
} else {
    &[]
};

/// Whether the bytes at a site look like a breakpoint or a uprobe. (No instruction that jumplabel writes for a key begins with any of [`PROBES`].)
fn is_probe(found: &Code) -> bool {
    PROBES.iter().any(|probe| found.starts_with(probe))
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::format(f, |pieces| self.tell(pieces))
    }
}

/// Messages that are also in C's `jumplabel_strerror`. If a program contains the messages of Rust and of C, it contains these texts only once,
/// because their bytes are the same.
#[doc(hidden)] // For the C API.
pub mod same_in_c {
    use core::ffi::CStr;

    pub const OVERFLOW: &CStr = c"the key's count is at its maximum: an inc without its dec";
    pub const UNDERFLOW: &CStr = c"the key is off: a dec without its inc";
    pub const TOO_EARLY: &CStr =
        c"no constructor of the object that it is in has run yet, or all its destructors have, so its sites are \
         not known: flip in between, and not from .preinit_array or an IFUNC resolver";
    pub const OUT_OF_MEMORY: &CStr =
        c"the system gives no memory for the lists of a flip, or no thread for a deferred dec: free some, or \
         allow mmap and clone, and flip again";
}

const fn of_c(text: &CStr) -> &str {
    let Ok(text) = text.to_str() else { panic!("not UTF-8") };
    text
}

/// A number in the middle of a message: an address (hexadecimal) or another number (decimal).
enum Number {
    Address(usize),
    Of(i64),
}

use Number::{Address, Of};

/// Passes a message of three parts to `pieces`: a text, a number, a text. Most messages have this form.
#[inline(never)] // Sixteen errors call it.
fn around(pieces: Pieces<'_>, before: &str, number: Number, after: &str) {
    pieces(before);
    match number {
        Address(address) => text::address(address, pieces),
        Of(number) => text::number(number, pieces),
    }
    pieces(after);
}

impl Error {
    /// Passes the message to `pieces`, piece by piece: the same text as that of `Display`.
    #[doc(hidden)] // For the C API.
    #[cold]
    pub fn tell(&self, pieces: Pieces<'_>) {
        match *self {
            Error::Denied { refused } if refused.of(WriterKind::Custom) != Refusal::NOT_TRIED => {
                pieces("the kernel's own writer refuses to change code: ");
                refused.of(WriterKind::Custom).tell(pieces);
            }
            Error::Denied { refused } if refused == Refusals::NONE => pieces(
                "the system refuses to block signals, or to tell the thread's number: allow rt_sigprocmask and gettid",
            ),
            Error::Denied { refused } if cfg!(jumplabel_windows) => {
                pieces("the system refuses to change code (");
                refused.tell(pieces);
                pieces(
                    "): allow it to this process (1655: ProcessDynamicCodePolicy, arbitrary code guard, \
                     forbids it), declare the keys `or_load` (which helps where their sites were not patched before), or build with \
                     --cfg jumplabel_fallback",
                );
            }
            Error::Denied { refused } => {
                pieces("the system refuses to change code (");
                refused.tell(pieces);
                pieces(
                    "): allow mprotect(PROT_EXEC) or writes to /proc/self/mem for \
                     this process, declare the keys `or_load` (which helps where their sites were not patched before), or build with \
                     --cfg jumplabel_fallback, in C with -DJUMPLABEL_FALLBACK",
                );
            }
            Error::ForeignBytes { address, expected, found } => {
                let is_probe = is_probe(&found);
                let before = if is_probe { "there is a uprobe or a breakpoint at " } else { "the site at " };
                around(
                    pieces,
                    before,
                    Address(address),
                    if is_probe { ", on a site, which holds " } else { " holds " },
                );
                text::bytes(&found, pieces);
                pieces(" instead of ");
                text::bytes(&expected, pieces);
                pieces(if is_probe {
                    ": remove it and flip again"
                } else {
                    ": remove the breakpoint, probe or other patcher there and flip again"
                });
            }
            Error::Unreadable { address } => around(
                pieces,
                "the code at ",
                Address(address),
                " cannot be read, and sites are read before they change: allow that by mprotect(PROT_READ | PROT_EXEC), \
                 or pkey_set, at least for the flip, or link without --execute-only",
            ),
            Error::NoPlatform => pieces("there is no platform yet: call jumplabel::set_platform first"),
            Error::NoWriter if cfg!(jumplabel_windows) => pieces(
                "nothing may write this code: mprotect is the only writer on Windows, so JUMPLABEL_WRITER and set_writer must ask for no other",
            ),
            Error::NoWriter => pieces(
                "the platform has nothing to write this code with: a kernel's Platform::writers must choose one of its own; procmem \
                 cannot change calls that a table lists; a build without sites writes no code",
            ),
            Error::UnknownWriter => pieces(
                "there is no writer of this name: JUMPLABEL_WRITER, or what WriterKind::named was given, must be auto, \
                 procmem, mprotect or remap",
            ),
            Error::Reentrant => pieces(
                "this thread would wait for itself. It is in the middle of a flip: flip later. Or it holds the lock: flip with enable_locked \
                 and the like. Or it flips in a function of on_change, eight deep. Or it has a guard of the key: drop that first",
            ),
            Error::Overflow => pieces(const { of_c(same_in_c::OVERFLOW) }),
            Error::Underflow => pieces(const { of_c(same_in_c::UNDERFLOW) }),
            Error::Counted { count } => around(
                pieces,
                "the key is held by ",
                Of(count.into()),
                " users: use inc and dec, or enable and disable, not both on one key",
            ),
            Error::Sealed => {
                pieces("it is sealed: a key, mode or static call that was sealed cannot change any more");
            }
            Error::TooEarly => pieces(const { of_c(same_in_c::TOO_EARLY) }),
            Error::NotCode { address } => around(
                pieces,
                "a static call cannot lead to ",
                Address(address),
                ", where no code is mapped: give it a function, of an object that is still loaded",
            ),
            Error::Circular { address } => around(
                pieces,
                "a static call cannot lead to itself, to ",
                Address(address),
                ": to lead it back later, keep what query() returns, not *CALL",
            ),
            Error::NoSuchCpu { cpu } => around(
                pieces,
                "the kernel's platform has no room for CPU ",
                Of(cpu as i64),
                ", so that no flip would stop it: build the platform for more, or number CPUs from 0",
            ),
            Error::NoSuchMode { count } => {
                around(pieces, "there are ", Of(count.into()), " modes: give one of the numbers 0 to ");
                text::number(count.saturating_sub(1).into(), pieces);
            }
            Error::IsTable => pieces("it is a table of operations: set it by Ops::set, which changes its calls, too"),
            Error::UnfitOp { op } => {
                pieces("the operation ");
                pieces(op);
                pieces(
                    " cannot be in place: give it one instruction (on x86-64 of 5 bytes or more) that does not use the stack \
                     pointer, jump, call or return; or leave its template out, so that it is a static call",
                );
            }
            Error::UnfitAlternative { address } => around(
                pieces,
                "the alternative at ",
                Address(address),
                " has an instruction that cannot be moved there, or that is not known: write it in another \
                 way, or make it longer than 7 bytes, so that the site jumps to it",
            ),
            Error::OutOfRange { address } => around(
                pieces,
                "the site at ",
                Address(address),
                " cannot reach its other arm: check the program for damage, or split it",
            ),
            Error::MultiThreaded { core_sync: Refusal::NOT_TRIED, remap } => {
                pieces("threads are running: only remap can change an operation in place then (");
                remap.tell(pieces);
                pieces(
                    "), and nothing may take lock prefixes out; do it \
                     before the first thread starts, or, for operations, allow mprotect and mremap of code",
                );
            }
            Error::MultiThreaded { core_sync, .. } => {
                pieces("threads are running and membarrier is refused (");
                core_sync.tell(pieces);
                pieces(
                    "): allow membarrier, flip once before the \
                     first thread starts, or opt in with jumplabel::platform::core_sync_by_signal",
                );
            }
            Error::DamagedTable { entry } => around(
                pieces,
                "the table entry at ",
                Address(entry),
                ", which belongs or may belong to this key, leads out of its object: rebuild the \
                 binary, or teach the tool that rewrote it about the section __jump_table",
            ),
            Error::CopiedCode { address } => around(
                pieces,
                "a tool such as BOLT copied the code around the site at ",
                Address(address),
                ", and the copy, which runs, has no site: use the file from before that tool",
            ),
            Error::NoBounds { object } => around(
                pieces,
                "the object with the record at ",
                Address(object),
                " has no bounds: keep __jump_table and __jump_keys sections of their own in \
                 the linker's script, and give the bounds of the kernel and of each module",
            ),
            Error::UnknownKind { entry, kind } => {
                around(pieces, "the table entry at ", Address(entry), " is of kind ");
                around(
                    pieces,
                    "",
                    Of(kind.into()),
                    ", which this version does not know: build all objects of the program with one version of jumplabel",
                );
            }
            Error::NoSuchKey => pieces(
                "no key has this name: jumplabel::for_each_key lists them all; an element of an array is path::NAME[3]",
            ),
            Error::SeveralKeys { count } => around(
                pieces,
                "",
                Of(count as i64),
                " keys have this name: ask for one as NAME@FILE:LINE:COLUMN, which is what {:#} of its KeyInfo \
                 shows, or declare it with a name of its own, #[key(name = \"...\")]",
            ),
            Error::NoRecords => pieces(
                "this build has no records of its keys, because it has no sites and its target runs no constructors: keep a \
                 list of each KEY.raw() yourself",
            ),
            Error::OutOfMemory => pieces(const { of_c(same_in_c::OUT_OF_MEMORY) }),
            Error::BatchFull { capacity } => around(
                pieces,
                "the batch holds ",
                Of(capacity as i64),
                " changes: make it larger with Batch::<'_, N>::with_capacity(), or call set_all",
            ),
            Error::RollbackFailed { address } => around(
                pieces,
                "writing code was refused in mid-batch and could not be undone from ",
                Address(address),
                " on: allow it again and flip again: the next flip, of any key, restores the sites",
            ),
        }
    }
}
