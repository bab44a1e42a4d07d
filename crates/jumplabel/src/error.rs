//! The errors of flips and other functions, and what to do about them.
//!
//! An error means that nothing has changed: all sites of all keys in the transaction do what they did before, the counts are as before, and the
//! protections of the pages are as before. There are two exceptions: [`Error::RollbackFailed`], and the errors of [`verify`](crate::verify). After
//! any error, two details can differ: if the system refused core sync in the middle of the flip, a site may hold other bytes that do the same as the
//! bytes before; if the system refused `mprotect`, a page may stay writable until the next flip.

mod debug;
mod kind;
mod message;
mod refusal;

use crate::arch::Code;
pub use kind::ErrorKind;
#[doc(hidden)] // For the C API.
pub use message::same_in_c;
pub use refusal::{Refusal, Refusals, WriterKind};

/// Why a flip, or another function of this library, failed. The type is `Copy` and needs no allocation. The message of an error says what to do.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
// The tag is a word, so that compilers copy an error in a few words. Otherwise they call `memcpy` for the bytes after the tag.
#[repr(usize)]
pub enum Error {
    /// The system refused every writer that the flip tried (seccomp, MDWE, SELinux, a missing /proc, a sealed mapping, no memory). Or the flip could
    /// not take the lock, because the system refused to block signals or to tell the thread's number; then no writer was tried.
    Denied {
        /// The refusal of each writer. Empty if no writer was tried.
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
    /// A flip, or a function that lists sites, cannot read code that it must read: the code is execute-only, or a protection key or `mprotect`
    /// forbids the read. Nothing was written.
    Unreadable {
        /// Address of a site, of the word in front of its stub, or of its list of arms.
        address: usize,
    },
    /// An update would have led a static call to its own trampoline, so the call would have called itself. (`*CALL` is the trampoline's address.)
    Circular {
        /// Address of the trampoline.
        address: usize,
    },
    /// The flip came too early or too late.
    ///
    /// Too early: the key, call or mode is in an object whose constructors have not run yet, so its sites are not known. Such a flip is called from
    /// one of these functions:
    /// - a constructor of a library that the object depends on,
    /// - a function in `.preinit_array`,
    /// - an IFUNC resolver, which is a function that the dynamic loader calls to choose another function.
    ///
    /// Too late: the object is being unloaded, and all its destructors have run.
    TooEarly,
    /// There is no platform yet: the program is a kernel that has not called [`set_platform`](crate::set_platform).
    NoPlatform,
    /// The platform has no writer for this change. The reason is one of these:
    /// - The kernel's platform names no writer.
    /// - `set_writer` or `JUMPLABEL_WRITER` allows only `procmem`, which cannot change calls that a table lists.
    /// - On Windows, `set_writer` or `JUMPLABEL_WRITER` names a writer other than `mprotect`.
    /// - The build has no sites.
    NoWriter,
    /// No writer has the name that `JUMPLABEL_WRITER` gives, or that was passed to [`WriterKind::named`].
    UnknownWriter,
    /// The calling thread would wait for itself, or its flips are nested too deeply. The reason is one of these:
    /// - The thread has the library's lock already, for a flip or for a `fork`, and a handler called the function: an atfork handler, or the handler
    ///   of a fault in the middle of the flip.
    /// - The thread holds a [`Lock`](crate::Lock).
    /// - The thread has a [`scoped`](crate::RawKey::scoped) guard of the key, and asks for another guard.
    /// - The thread is in a closure of a tracepoint, or drops one, and calls [`synchronize_probes`](crate::synchronize_probes).
    /// - The thread flips in a function of `on_change`, and its flips are already 8 deep.
    Reentrant,
    /// `inc` or `seal` was called for a key whose count is `i32::MAX`.
    Overflow,
    /// `dec` was called for a key that is off.
    Underflow,
    /// `enable` or `disable` was called for a key that several users hold by `inc`.
    Counted {
        /// The key's count.
        count: i32,
    },
    /// The key, call or mode is sealed, so it cannot change any more. Or a kernel started its platform a second time (jumplabel-kernel:
    /// `Kernel::start`).
    Sealed,
    /// An update would have led a static call to an address at which there is no code.
    NotCode {
        /// The address.
        address: usize,
    },
    /// A static mode would have been set to a number that none of its modes has.
    NoSuchMode {
        /// The number of modes. The first one has the number 0.
        count: u8,
    },
    /// The mode belongs to a table of operations. Such a mode changes only together with the table's calls: use [`Ops::set`](crate::Ops::set).
    IsTable,
    /// An instruction of an operation cannot be placed at the sites. [`arch::Fault`](crate::arch::Fault) has the rules.
    UnfitOp {
        /// The name of the operation. The text lives as long as the operation's object is loaded.
        op: &'static str,
    },
    /// An alternative has an instruction that the library does not know, or one that works only at its original address, such as a short jump out of
    /// the alternative.
    UnfitAlternative {
        /// Address of the site.
        address: usize,
    },
    /// The site's other arm is out of reach of the one instruction that the site can hold.
    OutOfRange {
        /// Address of the site.
        address: usize,
    },
    /// Other threads run, and this change is safe only if no other thread runs. There are three cases:
    /// - The change takes several steps, as the first flip of a pristine site does. Core sync was refused between the steps, and `remap` did not
    ///   work, either.
    /// - The change is of an operation in place, which is a whole instruction that must change at once, and `remap` did not work.
    /// - `lock` prefixes were to be removed (see [`up`](crate::up)), or alternatives were to be applied or repaired.
    MultiThreaded {
        /// The reason why core sync was refused; [`Refusal::NOT_TRIED`] if core sync would not help.
        core_sync: Refusal,
        /// The reason why `remap` was refused; [`Refusal::NOT_TRIED`] if it was not tried.
        remap: Refusal,
    },
    /// A table entry leads out of its object: the binary was damaged, or a tool has rewritten it. Either the entry belongs to the flip's key, or the
    /// entry is so damaged that its key is unknown. Flips of other keys work.
    DamagedTable {
        /// Address of the entry.
        entry: usize,
    },
    /// A tool such as BOLT copied the code around the key's sites to other addresses. The program executes the copies, but the table still lists the
    /// sites in the old code. Flips of keys without such sites work.
    CopiedCode {
        /// Address of a site in the old code.
        address: usize,
    },
    /// The library does not know the bounds of an object in a kernel, or of the object's table. Either the kernel gave no bounds, or the linker's
    /// script put the sections `__jump_table` and `__jump_keys` into another section. All flips are refused, because they would not change sites that
    /// the library does not know.
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
    /// A table entry of the key has a kind that this version of the library does not know, because the object was built with a later version. Flips
    /// of other keys work.
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
    /// The library does not know the keys of this program: the build has no sites, and no constructor that lists keys has run. (WebAssembly has no
    /// constructors.)
    NoRecords,
    /// The system gives no memory (`mmap` was refused), for example for the index or for the list of changes. Or it gives no thread, for example for
    /// a deferred dec (`clone` was refused). Or [`on_change`](crate::on_change) has no place for another function.
    OutOfMemory,
    /// The batch holds as many changes as it can hold; see [`Batch::with_capacity`](crate::Batch::with_capacity).
    BatchFull {
        /// The number of changes that the batch can hold.
        capacity: usize,
    },
    /// The system refused a write in the middle of a batch, and then every writer failed to undo the batch. Each site from `address` on may hold its
    /// old instruction or its new one. The counts are as before. The next flip, of any key, first restores these sites. Until the system allows that,
    /// all flips fail with this error.
    RollbackFailed {
        /// Address of the first site that could not be restored.
        address: usize,
    },
}

impl core::error::Error for Error {}
