//! The errors of flips and other functions, and what to do about them.
//!
//! An error means that nothing has changed: all sites of all keys in the transaction do what they did before, the counts are as before, and the
//! protections of the pages are as before. There are two exceptions: [`Error::RollbackFailed`], and the errors of [`verify`](crate::verify). Two
//! details can differ all the same. If the system refused core sync in mid-flip, a site may hold other bytes than before, but these bytes do the
//! same. If the system refused `mprotect`, a page may stay open until the next flip.

mod debug;
mod kind;
mod message;
mod refusal;

use crate::arch::Code;
pub use kind::ErrorKind;
#[doc(hidden)] // For the C API.
pub use message::same_in_c;
pub use refusal::{Refusal, Refusals, WriterKind};

/// Why a flip, or another function of this library, failed. The type is `Copy` and needs no allocation. Its message says what to do.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The system refused every writer (seccomp, MDWE, SELinux, a missing /proc, a sealed mapping, no memory). Or the system refused to block
    /// signals; then no writer was tried.
    Denied {
        /// The refusal of each writer. Empty if the system refused to block signals.
        refused: Refusals,
    },
    /// A site holds bytes that jumplabel did not put there: a debugger's breakpoint, a uprobe, another patcher.
    ForeignBytes {
        /// Address of the site.
        address: usize,
        /// The bytes that the site should hold for the state of its key.
        expected: Code,
        /// The bytes that the site holds.
        found: Code,
    },
    /// A flip, or a listing of sites, would have to read code that the process cannot read: the code is execute-only, or a protection key or
    /// `mprotect` forbids the read. Nothing was read or written.
    Unreadable {
        /// Address of a site, or of the list of arms to which its entry leads.
        address: usize,
    },
    /// An update would have led a static call to its own trampoline, whose address is `*CALL`: the call would call itself.
    Circular {
        /// Address of the trampoline.
        address: usize,
    },
    /// The flip came too early. The key, call or mode is in an object whose constructors have not run yet, so its sites are not known. The flip was
    /// called
    /// - from a constructor of a library that the object is linked with, or from a function in `.preinit_array`,
    /// - or from a function that the dynamic loader calls to choose another function (IFUNC).
    ///
    /// Or it came too late: the object is being unloaded, and all its destructors have run.
    TooEarly,
    /// There is no platform yet: the program is a kernel that has not called [`set_platform`](crate::set_platform).
    NoPlatform,
    /// The platform has no writer for this change. The reason is one of these:
    /// - A kernel's platform chooses no writer.
    /// - Only `procmem` may write, and the change is of a call that a table lists.
    /// - On Windows, a writer other than `mprotect` was asked for.
    /// - The build has no sites.
    NoWriter,
    /// No writer has the name that `JUMPLABEL_WRITER` gives, or that was passed to [`WriterKind::named`].
    UnknownWriter,
    /// The calling thread would wait for itself, or its flips are nested too deeply. One of these is the reason:
    /// - The thread is already in the middle of a flip: the caller is a synchronous signal handler, or an atfork handler.
    /// - The thread holds a [`Lock`](crate::Lock).
    /// - The thread has a [`scoped`](crate::RawKey::scoped) guard of the key, and asks for another guard.
    /// - The thread is in a closure of a tracepoint, or drops one, and calls [`synchronize_probes`](crate::synchronize_probes).
    /// - The thread flips in a function of `on_change`, and its flips are already 8 deep.
    Reentrant,
    /// `inc` or `seal` of a key whose count is `i32::MAX`.
    Overflow,
    /// `dec` of a key that is off.
    Underflow,
    /// `enable` or `disable` of a key that several users hold by `inc`.
    Counted {
        /// The key's count.
        count: i32,
    },
    /// The key, call or mode was sealed. Or a kernel started its platform a second time (jumplabel-kernel: `Kernel::start`).
    Sealed,
    /// An update would have led a static call to an address without code.
    NotCode {
        /// The address.
        address: usize,
    },
    /// A static mode would have been set to a number that it does not have.
    NoSuchMode {
        /// The number of modes. The first one has the number 0.
        count: u8,
    },
    /// The mode belongs to a table of operations. It changes only together with the table's calls: use [`Ops::set`](crate::Ops::set).
    IsTable,
    /// An instruction of an operation cannot be placed at the sites. [`arch::Fault`](crate::arch::Fault) has the rules.
    UnfitOp {
        /// The name of the operation: a text that lives as long as its object is loaded.
        op: &'static str,
    },
    /// An alternative has an instruction that the library does not know, or one that works only at its own address, such as a short jump out of the
    /// alternative.
    UnfitAlternative {
        /// Address of the site.
        address: usize,
    },
    /// One instruction at the site cannot reach the site's other arm.
    OutOfRange {
        /// Address of the site.
        address: usize,
    },
    /// Other threads run, and this change is safe only if no other thread runs. There are three cases:
    /// - Pristine sites change in several steps. Core sync was refused between the steps, and `remap` did not work, either.
    /// - An operation in place is a whole instruction, which must change at once, and `remap` did not work.
    /// - Lock prefixes were to be taken out, or alternatives to be applied or repaired.
    MultiThreaded {
        /// The reason why core sync was refused; [`Refusal::NOT_TRIED`] if core sync would not help.
        core_sync: Refusal,
        /// The reason why `remap` was refused; [`Refusal::NOT_TRIED`] if it was not tried.
        remap: Refusal,
    },
    /// A table entry leads out of its object: the binary was damaged, or a tool has rewritten it. The entry belongs to the flip's key, or it is
    /// so damaged that its key is unknown. Flips of other keys work.
    DamagedTable {
        /// Address of the entry.
        entry: usize,
    },
    /// A tool such as BOLT copied the code around the key's sites to other addresses. The program runs the copies, but the table still lists the
    /// sites in the old code. Flips of keys without such sites work.
    CopiedCode {
        /// Address of a site in the old code.
        address: usize,
    },
    /// The bounds of an object in a kernel, or of the object's table, are not known. Either the kernel gave no bounds, or the linker's
    /// script put the sections `__jump_table` and `__jump_keys` into another section. All flips are refused, because unknown sites would
    /// not change.
    NoBounds {
        /// Address of the object's record.
        object: usize,
    },
    /// A CPU of a kernel has a number that is too large for the kernel's platform, so no flip would stop this CPU (jumplabel-kernel:
    /// `Kernel::online`).
    NoSuchCpu {
        /// The CPU's number.
        cpu: usize,
    },
    /// An entry of the key has a kind that this version of the library does not know, because the object was built with a later version. Flips of
    /// other keys work.
    UnknownKind {
        /// Address of the entry.
        entry: usize,
        /// The number of the kind.
        kind: u8,
    },
    /// No loaded object has a key with this name.
    NoSuchKey,
    /// Several keys have this name.
    SeveralKeys {
        /// The number of keys with this name.
        count: usize,
    },
    /// The keys of this program are not known. The program has no sites, and no constructor that lists its keys has run. (WebAssembly has no
    /// constructors.)
    NoRecords,
    /// There is no memory for the index or for the list of changes (`mmap` was refused). Or there is no thread for a deferred dec (`clone`
    /// was refused).
    OutOfMemory,
    /// The batch is full, so it cannot take another change; see [`Batch::with_capacity`](crate::Batch::with_capacity).
    BatchFull {
        /// The number of changes that the batch can hold.
        capacity: usize,
    },
    /// The system refused a write in mid-batch, and then every writer failed to undo the batch. Each site from `address` on may hold its old
    /// instruction or its new one. The key has its old count. The next flip, of any key, first restores these sites. Until the system allows that,
    /// all flips fail with this error.
    RollbackFailed {
        /// The first site that could not be restored.
        address: usize,
    },
}

impl core::error::Error for Error {}
