//! What can go wrong with a flip, and what to do about it.
//!
//! An error means that nothing has changed: all sites of all keys in the transaction do what they did before, the counts are as before, and
//! the protections of the pages are as before. There are two exceptions: [`Error::RollbackFailed`], and the errors of
//! [`verify`](crate::verify). Two details can differ nevertheless. If the system refused core sync in mid-flip, a site may hold other bytes
//! than before, which do the same. If the system refused `mprotect`, a page may stay open until the next flip.

mod debug;
mod kind;
mod message;

use core::fmt;

use crate::arch::Code;
pub use kind::ErrorKind;

/// Why a writer, or core sync, was refused: an error number of the system (on Windows: of `GetLastError`), or one of the constants below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Refusal(i32); // One number and no enum: that makes a program with one key a kilobyte smaller.

impl Refusal {
    /// The writer, or core sync, was not tried.
    pub const NOT_TRIED: Refusal = Refusal(0);
    /// The system call succeeded, but the code did not change. Either memory still holds the old bytes, because the path /proc/self/mem
    /// leads to another file. Or it holds the new bytes, but the processor still executed the old instruction: some emulators do that,
    /// because they cache translated code. The self-test of a writer finds the second case.
    pub const NO_EFFECT: Refusal = Refusal(i32::MIN);

    /// A refusal with an error number of the system, or of the platform. For 0, the result is [`NOT_TRIED`](Self::NOT_TRIED).
    #[must_use]
    pub const fn errno(number: i32) -> Refusal {
        Refusal(number)
    }

    /// The error number. `None` if the refusal is one of the constants.
    #[must_use]
    pub fn as_errno(self) -> Option<i32> {
        (self != Refusal::NOT_TRIED && self != Refusal::NO_EFFECT).then_some(self.0)
    }
}

/// The mechanism that writes code bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WriterKind {
    /// `pwrite` to /proc/self/mem: cheapest for few sites.
    Procmem,
    /// Makes the pages writable for the batch: cheapest for many sites. On Windows, this is the only writer, by `VirtualProtect`.
    Mprotect,
    /// Edits a private copy of the pages, and moves the copy over the text: never modifies a page that is being executed.
    Remap,
    /// A writer of another platform, such as a kernel.
    Custom,
}

impl WriterKind {
    /// All kinds, in the order of their numbers.
    pub(crate) const ALL: [WriterKind; 4] =
        [WriterKind::Procmem, WriterKind::Mprotect, WriterKind::Remap, WriterKind::Custom];

    /// The writer to which `JUMPLABEL_WRITER` refers by this name; `None` for `auto`. The result is an argument for
    /// [`set_writer`](crate::set_writer).
    ///
    /// # Errors
    /// [`Error::UnknownWriter`].
    pub fn named(name: &str) -> Result<Option<WriterKind>, Error> {
        Self::named_by(name.as_bytes())
    }

    /// As [`named`](Self::named), for a name that need not be UTF-8.
    pub(crate) fn named_by(name: &[u8]) -> Result<Option<WriterKind>, Error> {
        if name == b"auto" {
            return Ok(None);
        }
        let [writers @ .., _] = Self::ALL;
        let named = writers.into_iter().find(|kind| kind.name().as_bytes() == name);
        named.map(Some).ok_or(Error::UnknownWriter)
    }

    /// The name of the writer, as `JUMPLABEL_WRITER` takes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            WriterKind::Procmem => "procmem",
            WriterKind::Mprotect => "mprotect",
            WriterKind::Remap => "remap",
            WriterKind::Custom => "custom",
        }
    }
}

/// The writers that refused, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refusals([Refusal; WriterKind::ALL.len()]);

impl FromIterator<(WriterKind, Refusal)> for Refusals {
    /// Writers that are not among `refusals` were not tried.
    fn from_iter<I: IntoIterator<Item = (WriterKind, Refusal)>>(refusals: I) -> Refusals {
        let mut all = Refusals::default();
        refusals.into_iter().for_each(|(kind, refusal)| all.note(kind, refusal));
        all
    }
}

impl Refusals {
    /// Notes a refusal. If a writer refuses several times, the last one counts.
    pub(crate) fn note(&mut self, kind: WriterKind, refusal: Refusal) {
        if let Some(place) = self.0.get_mut(kind as usize) {
            *place = refusal;
        }
    }

    /// The writers that were tried, each once.
    pub fn iter(&self) -> impl Iterator<Item = (WriterKind, Refusal)> {
        WriterKind::ALL.into_iter().zip(self.0).filter(|(_, refusal)| *refusal != Refusal::NOT_TRIED)
    }

    /// The refusal of this writer; [`Refusal::NOT_TRIED`] if the writer was not tried.
    #[must_use]
    pub fn of(&self, kind: WriterKind) -> Refusal {
        self.0.get(kind as usize).copied().unwrap_or_default()
    }
}

impl fmt::Display for Refusals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (kind, refusal)) in self.iter().enumerate() {
            write!(f, "{}{}: {refusal}", if number > 0 { ", " } else { "" }, kind.name())?;
        }
        Ok(())
    }
}

/// Why a flip, or another function of this library, failed. The type is `Copy` and needs no allocation. Its message says what to do.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The system refused every writer (seccomp, MDWE, SELinux, a missing /proc, a sealed mapping, no memory). Or it refuses to block
    /// signals; then no writer was tried.
    Denied {
        /// The refusal that each writer met; empty if signals could not be blocked.
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
    /// A flip, or a list of sites, has to read code that cannot be read. The code is execute-only, or a protection key or `mprotect`
    /// forbids the read. Nothing was read or written.
    Unreadable {
        /// Address of a site, or of the list of arms to which its entry leads.
        address: usize,
    },
    /// An update would have led a static call to its own trampoline, whose address is `*CALL`: the call would call itself.
    Circular {
        /// Address of the trampoline.
        address: usize,
    },
    /// The key, call or mode is in an object whose constructors have not run yet, so its sites are not known. The flip came too early:
    /// - from a constructor of a library that the object is linked with, or from a function in `.preinit_array`,
    /// - or from a function that the dynamic loader calls to choose another function (IFUNC).
    TooEarly,
    /// There is no platform yet: the program is a kernel that has not called [`set_platform`](crate::set_platform).
    NoPlatform,
    /// The platform has no writer for this change:
    /// - a kernel's platform chooses no writer,
    /// - or only `procmem` may write, and the change is of a call that a table lists,
    /// - or, on Windows, a writer other than `mprotect` was asked for,
    /// - or the build has no sites.
    NoWriter,
    /// No writer has the name that `JUMPLABEL_WRITER` gives, or that was passed to [`WriterKind::named`].
    UnknownWriter,
    /// The calling thread would wait for itself. One of these is the reason:
    /// - The thread is already in the middle of a flip: this is a synchronous signal handler, or an atfork handler.
    /// - The thread holds a [`Lock`](crate::Lock).
    /// - The thread has a [`scoped`](crate::RawKey::scoped) guard of the key, and asks for another.
    /// - The thread is in a probe, and waits for probes ([`synchronize_probes`](crate::synchronize_probes)).
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
    /// The key, call or mode was sealed.
    Sealed,
    /// An update would have led a static call to an address without code.
    NotCode {
        /// The address.
        address: usize,
    },
    /// A static mode was to be set to a number that it does not have.
    NoSuchMode {
        /// How many numbers the mode has. The first one is 0.
        count: u8,
    },
    /// The mode belongs to a table of operations. It changes only together with the table's calls: use [`Ops::set`](crate::Ops::set).
    IsTable,
    /// An instruction of an operation cannot be put in place at the sites: [`arch::Fault`](crate::arch::Fault) has the rules.
    UnfitOp {
        /// The name of the operation: a text that lives as long as its object is loaded.
        op: &'static str,
    },
    /// An alternative has an instruction that the library does not know. Or it has one that works only at its own address, such as a short
    /// jump out of the alternative.
    UnfitAlternative {
        /// Address of the site.
        address: usize,
    },
    /// A site cannot reach its other arm with one instruction.
    OutOfRange {
        /// Address of the site.
        address: usize,
    },
    /// Other threads run, and this change is not safe while they run. There are three cases:
    /// - Pristine sites change in several steps. Core sync was refused between the steps, and `remap` did not work either.
    /// - An operation in place is a whole instruction that must change at once, and `remap` did not work.
    /// - Lock prefixes were to be taken out, or alternatives to be applied or repaired.
    MultiThreaded {
        /// Why core sync was refused; [`Refusal::NOT_TRIED`] if core sync would not help.
        core_sync: Refusal,
        /// Why `remap` was refused; [`Refusal::NOT_TRIED`] if it was not tried.
        remap: Refusal,
    },
    /// An entry of a table leads out of its object: the binary was damaged or rewritten by a tool. The entry belongs to the key of the
    /// flip, or the damage hides to which key it belongs. Flips of other keys work.
    DamagedTable {
        /// Address of the entry.
        entry: usize,
    },
    /// A tool such as BOLT copied the code around the key's sites to other addresses. The program runs the copies, but the table still
    /// lists the sites in the old code. Flips of keys that have no such site work.
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
    /// A CPU of a kernel has a number for which its platform has no room, so that no flip would stop it (jumplabel-kernel: `Kernel::online`).
    NoSuchCpu {
        /// The CPU's number.
        cpu: usize,
    },
    /// An entry of the key has a kind that this version of the library does not know: the object was built with a later version. Flips of
    /// other keys work.
    UnknownKind {
        /// Address of the entry.
        entry: usize,
        /// The number of the kind.
        kind: u8,
    },
    /// No object that is loaded has a key of that name.
    NoSuchKey,
    /// Several keys have the name.
    SeveralKeys {
        /// How many keys have the name.
        count: usize,
    },
    /// The keys of this program are not known: it has no sites, and no constructor has run that lists them (WebAssembly has none).
    NoRecords,
    /// There is no memory for the index or for the list of changes (`mmap` was refused). Or there is no thread for a deferred dec (`clone`
    /// was refused).
    OutOfMemory,
    /// The batch is full, so it cannot take another change; see [`Batch::with_capacity`](crate::Batch::with_capacity).
    BatchFull {
        /// How many changes the batch can hold.
        capacity: usize,
    },
    /// Writing was refused in mid-batch, and every writer failed to undo the batch. Each site from `address` on may hold its old
    /// instruction or its new one. The key's count is the old one. The next flip, of any key, first restores these sites; until the system
    /// allows that, all flips fail with this error.
    RollbackFailed {
        /// The first site that could not be restored.
        address: usize,
    },
}

impl core::error::Error for Error {}
