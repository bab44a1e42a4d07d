//! What can go wrong with a flip, and what to do about it.
//!
//! Every error but one means that nothing changed: all sites of all keys in the transaction do what they did before, the
//! counts are as before, and the protections of the pages are as before. The exception says so in its name:
//! [`Error::RollbackFailed`]. Two details can differ. If the system refused core sync in mid-flip, a site that falls
//! through may have another encoding than before. If it refused `mprotect`, a page may stay open until the next flip.

mod debug;
mod kind;
mod message;

use core::fmt;

use crate::arch::Code;
pub use kind::ErrorKind;

/// Why a writer, or core sync, was refused: by the system, with an error number, unless it is one of the constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Refusal(i32); // One number and no enum: a program with one key is a kilobyte smaller.

impl Refusal {
    /// It was not tried.
    pub const NOT_TRIED: Refusal = Refusal(0);
    /// The call reported success, and the code did not change. Either the bytes are the old ones, because another file lies
    /// at the place of /proc/self/mem. Or the processor still executed the old instruction, as an emulator does that caches
    /// translated code; the self-test of a writer finds that.
    pub const NO_EFFECT: Refusal = Refusal(i32::MIN);

    /// By an error number of the system, or of the platform. 0 is [`NOT_TRIED`](Self::NOT_TRIED).
    #[must_use]
    pub const fn errno(number: i32) -> Refusal {
        Refusal(number)
    }

    /// The error number, if that was the reason.
    #[must_use]
    pub fn as_errno(self) -> Option<i32> {
        (self != Refusal::NOT_TRIED && self != Refusal::NO_EFFECT).then_some(self.0)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Refusal::NOT_TRIED => f.write_str("not tried"),
            Refusal::NO_EFFECT => f.write_str("wrote, but the code did not change, or the old code kept running"),
            Refusal(number) => write!(f, "errno {number}"),
        }
    }
}

/// The mechanism that writes code bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WriterKind {
    /// `pwrite` to /proc/self/mem: cheapest for few sites.
    Procmem,
    /// Pages made writable for the batch: cheapest for many.
    Mprotect,
    /// A private copy of the pages, edited, moved over the text: never modifies a page that is being executed.
    Remap,
    /// A writer of another platform, such as a kernel.
    Custom,
}

impl WriterKind {
    /// All kinds, in the order of their numbers.
    pub(crate) const ALL: [WriterKind; 4] =
        [WriterKind::Procmem, WriterKind::Mprotect, WriterKind::Remap, WriterKind::Custom];

    /// The writer that `JUMPLABEL_WRITER` means by a name; `None` for `auto`. For [`set_writer`](crate::set_writer).
    ///
    /// # Errors
    /// [`Error::UnknownWriter`].
    pub fn named(name: &str) -> Result<Option<WriterKind>, Error> {
        Self::named_by(name.as_bytes())
    }

    /// [`named`](Self::named) for what need not be text.
    pub(crate) fn named_by(name: &[u8]) -> Result<Option<WriterKind>, Error> {
        if name == b"auto" {
            return Ok(None);
        }
        let [writers @ .., _] = Self::ALL;
        let named = writers.into_iter().find(|kind| kind.name().as_bytes() == name);
        named.map(Some).ok_or(Error::UnknownWriter)
    }

    /// Its name, as `JUMPLABEL_WRITER` takes it.
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
    /// The others were not tried.
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

    /// Those that were tried, each once.
    pub fn iter(&self) -> impl Iterator<Item = (WriterKind, Refusal)> {
        WriterKind::ALL.into_iter().zip(self.0).filter(|(_, refusal)| *refusal != Refusal::NOT_TRIED)
    }

    /// What a writer met; [`Refusal::NOT_TRIED`] if it was not tried.
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

/// Why a flip was refused. `Copy`, needs no allocation, and its message says what to do.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// Every writer was refused by the system (seccomp, MDWE, SELinux, a missing /proc, a sealed mapping, no memory). Or the system refuses
    /// to block signals; then no writer was tried.
    Denied {
        /// What each of them met; empty if signals could not be blocked.
        refused: Refusals,
    },
    /// A site holds bytes that jumplabel did not put there: a debugger's breakpoint, a uprobe, another patcher.
    ForeignBytes {
        /// Address of the site.
        address: usize,
        /// What the site should hold, by its key.
        expected: Code,
        /// What it holds.
        found: Code,
    },
    /// Code that a flip, or a list of sites, has to read cannot be read: it is execute-only, or a protection key or `mprotect` forbids it.
    /// Nothing was read or written.
    Unreadable {
        /// Address of a site, or of the arms of a switch.
        address: usize,
    },
    /// A static call was to lead to itself: to its trampoline, whose address `*CALL` is.
    Circular {
        /// Address of the trampoline.
        address: usize,
    },
    /// No constructor of the object that the key, call or mode is in has run: this is a constructor of a library that the object is linked
    /// with, a function in `.preinit_array`, or one that the dynamic loader calls to choose another (IFUNC). The sites are not known yet.
    TooEarly,
    /// There is no platform: a kernel that has not called [`set_platform`](crate::set_platform).
    NoPlatform,
    /// The platform has no writer for this: a kernel's platform chooses none; or only `procmem` may write, and a call that a table lists
    /// has to change; or the build has no sites.
    NoWriter,
    /// `JUMPLABEL_WRITER`, or a name that was given to [`WriterKind::named`], is the name of no writer.
    UnknownWriter,
    /// The calling thread is already in the middle of a flip (a synchronous signal handler, an atfork handler), or holds a
    /// [`Lock`](crate::Lock), or has a [`scoped`](crate::RawKey::scoped) guard of the key and asks for another, or waits for probes in one
    /// ([`synchronize_probes`](crate::synchronize_probes)).
    Reentrant,
    /// `inc` on a key whose count is `i32::MAX`.
    Overflow,
    /// `dec` on a key that is off.
    Underflow,
    /// `enable` or `disable` on a key that several users hold by `inc`.
    Counted {
        /// The key's count.
        count: i32,
    },
    /// The key was sealed.
    Sealed,
    /// A static call was to lead to an address without code.
    NotCode {
        /// The address.
        address: usize,
    },
    /// A mode was to be set to a number that none of its modes has.
    NoSuchMode {
        /// How many modes there are.
        count: u8,
    },
    /// The mode belongs to a table of operations, whose calls change with it: use [`Ops::set`](crate::Ops::set).
    IsTable,
    /// An instruction that an operation has in place is unfit for that: [`arch::Fault`](crate::arch::Fault) has the rules.
    UnfitOp {
        /// The operation: a text that lives as long as its object is loaded.
        op: &'static str,
    },
    /// An alternative has an instruction that is not known, or works only where it was assembled, like a short jump to elsewhere.
    UnfitAlternative {
        /// Address of the site.
        address: usize,
    },
    /// A site cannot reach its other arm with one instruction.
    OutOfRange {
        /// Address of the site.
        address: usize,
    },
    /// Other threads run, and this change is not safe beside them. Pristine sites change in several steps, and core sync was refused
    /// between them; or an operation in place is a whole instruction that must change at once; in both cases, `remap` did not work. Or
    /// lock prefixes were to be taken out.
    MultiThreaded {
        /// Why core sync was refused; [`Refusal::NOT_TRIED`] if it would be no help.
        core_sync: Refusal,
        /// Why `remap` was; [`Refusal::NOT_TRIED`] if it was not tried.
        remap: Refusal,
    },
    /// An entry of a table leads out of its object: the binary was damaged or rewritten by a tool. The entry belongs to this
    /// key, or does not say to which; flips of other keys work.
    DamagedTable {
        /// Address of the entry.
        entry: usize,
    },
    /// A tool such as BOLT copied the code of this key's sites to another place. The copies run, and have no sites: the table still
    /// lists the old ones. Flips of keys that have no such site work.
    CopiedCode {
        /// Address of a site in the old code.
        address: usize,
    },
    /// The bounds of an object in a kernel, or of its table, are not known: the kernel gave none, or the linker's script put the
    /// sections `__jump_table` and `__jump_keys` into another one. All flips are refused, because unknown sites would not change.
    NoBounds {
        /// Address of the object's record.
        object: usize,
    },
    /// An entry of this key has a kind that this version of the library does not know: the object was built with a later
    /// one. Flips of other keys work.
    UnknownKind {
        /// Address of the entry.
        entry: usize,
        /// The number of the kind.
        kind: u8,
    },
    /// No key of that name, in any object that is loaded.
    NoSuchKey,
    /// Several keys have the name.
    SeveralKeys {
        /// How many.
        count: usize,
    },
    /// Nobody knows the keys of this program: it has no sites, and its constructors, which would have listed the keys, were not run.
    /// WebAssembly has none.
    NoRecords,
    /// There is no memory for the index or the list of changes (`mmap` was refused), or no thread for a deferred dec (`clone`).
    OutOfMemory,
    /// More changes than the batch holds; see [`Batch::with_capacity`](crate::Batch::with_capacity).
    BatchFull {
        /// How many it holds.
        capacity: usize,
    },
    /// Writing was refused in mid-batch, and every writer failed to undo it. Sites from `address` on may hold either legal
    /// instruction; the key's count is the old one. The next flip, of any key, restores them first; until the system
    /// allows that, all flips fail with this error.
    RollbackFailed {
        /// The first site that could not be restored.
        address: usize,
    },
}

impl core::error::Error for Error {}
