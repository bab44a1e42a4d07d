//! What can go wrong with a flip, and what to do about it.
//!
//! Every error but one means that nothing changed: all sites of all keys in the transaction do what they did before, the
//! counts are as before, and the protections of the pages are as before. The exception says so in its name:
//! [`Error::RollbackFailed`]. Two details can differ. If the system took core sync away in mid-flip, a site that falls
//! through may do so by another encoding than before. If it took `mprotect` away, a page may stay open until the next flip.

mod debug;

use core::fmt;

use crate::arch::Code;

/// An error number of the operating system, 0 if a call was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Errno(pub i32);

impl Errno {
    /// The writer was not tried.
    pub const NONE: Errno = Errno(0);
    /// The call reported success, and the code did not change. Either the bytes are the old ones, because another file lies
    /// at the place of /proc/self/mem. Or the processor still executed the old instruction, as an emulator does that caches
    /// translated code; the canary finds that.
    pub const LIED: Errno = Errno(-1);
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Errno::NONE => f.write_str("not tried"),
            Errno::LIED => f.write_str("wrote, but the code did not change, or the old code kept running"),
            Errno(number) => write!(f, "errno {number}"),
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
    Swap,
    /// A writer of another platform, such as a kernel.
    Custom,
}

impl WriterKind {
    /// All kinds, in the order of their numbers.
    pub(crate) const ALL: [WriterKind; 4] =
        [WriterKind::Procmem, WriterKind::Mprotect, WriterKind::Swap, WriterKind::Custom];

    /// The writer that `JUMPLABEL_WRITER` means by a name; `None` for `auto`. For [`set_writer`](crate::set_writer).
    ///
    /// # Errors
    /// [`Error::UnknownWriter`].
    pub fn named(name: &str) -> Result<Option<WriterKind>, Error> {
        Self::named_by(name.as_bytes()).ok_or(Error::UnknownWriter)
    }

    /// [`named`](Self::named) for what need not be text.
    pub(crate) fn named_by(name: &[u8]) -> Option<Option<WriterKind>> {
        if name == b"auto" {
            return Some(None);
        }
        let [writers @ .., _] = Self::ALL;
        writers.into_iter().find(|kind| kind.name().as_bytes() == name).map(Some)
    }

    /// Its name, as `JUMPLABEL_WRITER` takes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            WriterKind::Procmem => "procmem",
            WriterKind::Mprotect => "mprotect",
            WriterKind::Swap => "swap",
            WriterKind::Custom => "custom",
        }
    }
}

/// The writers that refused, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refusals([Errno; WriterKind::ALL.len()]);

impl Refusals {
    /// Notes a refusal. If a writer refuses several times, the last one counts.
    pub(crate) fn note(&mut self, kind: WriterKind, errno: Errno) {
        if let Some(place) = self.0.get_mut(kind as usize) {
            *place = errno;
        }
    }

    /// Those that were tried, each once.
    pub fn iter(&self) -> impl Iterator<Item = (WriterKind, Errno)> {
        WriterKind::ALL.into_iter().zip(self.0).filter(|(_, errno)| *errno != Errno::NONE)
    }

    /// What a writer met; [`Errno::NONE`] if it was not tried.
    #[must_use]
    pub fn of(&self, kind: WriterKind) -> Errno {
        self.0.get(kind as usize).copied().unwrap_or_default()
    }
}

impl fmt::Display for Refusals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (kind, errno)) in self.iter().enumerate() {
            write!(f, "{}{}: {errno}", if number > 0 { ", " } else { "" }, kind.name())?;
        }
        Ok(())
    }
}

/// Why a flip was refused. `Copy`, needs no allocation, and its message says what to do.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// Every writer was refused by the system (seccomp, MDWE, SELinux, a missing /proc, a sealed mapping, no memory).
    Denied {
        /// What each of them met.
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
    /// A static call was to lead to itself: to its trampoline, which `*CALL` is the address of, and not what it leads to.
    Circular {
        /// Address of the trampoline.
        address: usize,
    },
    /// There is no platform: a kernel that has not called [`set_text`](crate::set_text).
    NoText,
    /// The platform has no writer for this: a kernel's chooses none, only `procmem` may write and a call that a table lists has to change,
    /// or the build has no sites.
    NoWriter,
    /// `JUMPLABEL_WRITER`, or a name that was given to [`WriterKind::named`], is the name of no writer.
    UnknownWriter,
    /// The calling thread is already in the middle of a flip (a synchronous signal handler, an atfork handler), or holds a
    /// [`Lock`](crate::Lock).
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
    /// A mode was to be set that is a table of operations, whose calls change with it: [`Ops::set`](crate::Ops::set) does that.
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
    /// Other threads run, and what has to change under them takes more than they allow: pristine sites several steps, between which
    /// core sync was refused, or an operation in place a whole instruction at once, and `swap` did not work; or lock prefixes were to be
    /// taken out.
    MultiThreaded {
        /// Why core sync was refused; [`Errno::NONE`] if it would be no help.
        core_sync: Errno,
        /// Why `swap` was; [`Errno::NONE`] if it was not tried.
        swap: Errno,
    },
    /// An entry of a table leads out of its object: the binary was damaged or rewritten by a tool. The entry is of this key,
    /// or does not say whose it is; flips of other keys work.
    DamagedTable {
        /// Address of the entry.
        entry: usize,
    },
    /// Nobody knows the bounds of an object in a kernel, or of its table: the kernel gave none, or the linker's script put the sections
    /// `__jump_table` and `__jump_keys` into another one. All flips are refused, because sites that nobody knows would stay as they are.
    NoBounds {
        /// Address of the object's record.
        object: usize,
    },
    /// An entry of this key's is of a kind that this version of the library does not know: the object was built with a later
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
    /// There is no memory for the index or the list of edits.
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

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Denied { refused } if refused.of(WriterKind::Custom) != Errno::NONE => {
                write!(f, "the kernel's own writer refuses to change code: {}", refused.of(WriterKind::Custom))
            }
            Error::Denied { refused } => write!(
                f,
                "the system refuses to change code ({refused}): allow mprotect(PROT_EXEC) or writes to /proc/self/mem for \
                 this process, declare the keys `or_load` (which helps where their sites were not patched before), or build with \
                 --cfg jumplabel_fallback"
            ),
            Error::ForeignBytes { address, expected, found } => write!(
                f,
                "the site at {address:#x} holds {found:?} instead of {expected:?}: remove the breakpoint, probe \
                 or other patcher there and flip again"
            ),
            Error::NoText => f.write_str("there is no platform yet: call jumplabel::set_text first"),
            Error::NoWriter => f.write_str(
                "the platform has nothing to write this code with: a kernel's Text::writers must choose one of its own; procmem \
                 cannot change calls that a table lists; a build without sites writes none",
            ),
            Error::UnknownWriter => f.write_str(
                "there is no writer of this name: JUMPLABEL_WRITER, or what WriterKind::named was given, must be auto, \
                 procmem, mprotect or swap",
            ),
            Error::Reentrant => {
                f.write_str("this thread is in the middle of a flip or holds the lock: flip later, or with enable_locked and the like")
            }
            Error::Overflow => f.write_str("the key's count is at its maximum: an inc without its dec"),
            Error::Underflow => f.write_str("the key is off: a dec without its inc"),
            Error::Counted { count } => write!(
                f,
                "the key is held by {count} users: use inc and dec, or enable and disable, not both on one key"
            ),
            Error::Sealed => f.write_str("it is sealed: a key, mode or static call that was sealed cannot change any more"),
            Error::NotCode { address } => write!(
                f,
                "a static call cannot lead to {address:#x}, where no code is mapped: give it a function, of an object that is \
                 still loaded"
            ),
            Error::Circular { address } => write!(
                f,
                "a static call cannot lead to itself, to {address:#x}: to lead it back later, keep what query() returns, not *CALL"
            ),
            Error::NoSuchMode { count } => write!(f, "there are {count} modes: give a number from 0 to {}", count.saturating_sub(1)),
            Error::IsTable => f.write_str("it is a table of operations: set it by Ops::set, which changes its calls, too"),
            Error::UnfitOp { op } => write!(
                f,
                "the operation {op} cannot be in place: give it one instruction (on x86-64 of 5 bytes or more) that does not use the stack \
                 pointer, jump, call or return; or leave its template out, and it is a static call"
            ),
            Error::UnfitAlternative { address } => write!(
                f,
                "the alternative at {address:#x} has an instruction that cannot be moved there, or that is not known: write it in another \
                 way, or make it longer than 7 bytes, and it is jumped to"
            ),
            Error::OutOfRange { address } => write!(
                f,
                "the site at {address:#x} cannot reach its other arm: check the program for damage, or split it"
            ),
            Error::MultiThreaded { core_sync: Errno::NONE, swap } => write!(
                f,
                "threads are running: only swap can change an operation in place then ({swap}), and nothing may take lock prefixes out; do it \
                 before the first thread starts, or, for operations, allow mprotect and mremap of code"
            ),
            Error::MultiThreaded { core_sync, .. } => write!(
                f,
                "threads are running and membarrier is refused ({core_sync}): allow membarrier, flip once before the \
                 first thread starts, or opt in with jumplabel::text::core_sync_by_signal"
            ),
            Error::DamagedTable { entry } => write!(
                f,
                "the table entry at {entry:#x}, which is or may be of this key, leads out of its object: rebuild the \
                 binary, or teach the tool that rewrote it about the section __jump_table"
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
                 list of keys yourself, of KEY.raw()",
            ),
            Error::OutOfMemory => f.write_str("no memory for the list of edits: free some and flip again"),
            Error::BatchFull { capacity } => {
                write!(f, "the batch holds {capacity} changes: make it larger with Batch::<'_, N>::with_capacity(), or call set_all")
            }
            Error::RollbackFailed { address } => write!(
                f,
                "writing code was refused in mid-batch and could not be undone from {address:#x} on: allow it again \
                 and flip again: the first flip, of any key, restores them"
            ),
        }
    }
}

impl core::error::Error for Error {}
