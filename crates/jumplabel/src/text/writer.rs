//! Writers, as the engine sees them: which ones to try, what they do, and their results.

use super::Write;
use crate::error::{Errno, Error, WriterKind};

/// When other threads see a flip.
///
/// A change that needed no flip reports what the last flip of the key reported, until a core sync has succeeded. Each change that
/// takes the lock tries one. An `inc` without the lock tries one only if the last one succeeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Visibility {
    /// At once: every check that starts after the flip returned takes the new arm.
    #[default]
    Immediate,
    /// Soon: the system refused core sync, so a processor may finish what it has already fetched.
    Eventual,
}

/// What went wrong in a flip that succeeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warnings {
    /// The system refused to give a page its protection back (a seccomp filter installed in mid-flip, a limit on mappings).
    pub left_writable: bool,
}

/// What [`Text::open`](super::Text::open) reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// When other threads see it.
    pub visibility: Visibility,
    /// What went wrong without being a failure.
    pub warnings: Warnings,
}

/// Why a writer did not finish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It refused, and all sites are as before. If core sync was refused on the way back, some sites are in a state in between
    /// that does the same.
    Refused(Errno),
    /// Core sync was refused between two steps. The sites are as after `Refused`.
    Unsynced(Errno),
    /// It refused, and could not undo what it had written.
    Stuck {
        /// The first site that was not restored.
        address: usize,
        /// What it met.
        errno: Errno,
    },
}

/// How many pages between two sites may be opened with them: each costs 65 ns, and that is less than another pair of system calls,
/// each of which interrupts the other processors.
pub const SPAN_GAP_PAGES: usize = 16;

/// The facts by which a writer is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Sites to change.
    pub sites: usize,
    /// Pages that they begin on.
    pub pages: usize,
    /// Groups of sites with no more than [`SPAN_GAP_PAGES`] between neighbours.
    pub spans: usize,
    /// The most steps that any site takes, with a core sync after each.
    pub steps: u32,
    /// Some writes of several bytes must be one store ([`Write::is_whole`](super::Write::is_whole)).
    pub whole: bool,
    /// Only a writer that never writes to running code will do: core sync was refused between two steps, and the steps were taken back;
    /// or whole instructions change, and other threads run.
    pub unsynced: bool,
}

/// Writers in the order in which to try them. If there is none, flips fail with [`Error::NoWriter`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Writers {
    kinds: [Option<WriterKind>; 3],
    unknown: bool,
}

impl Writers {
    /// None, because the name that picks the writer is unknown. Flips fail with [`Error::UnknownWriter`].
    #[must_use]
    pub const fn unknown() -> Writers {
        Writers { kinds: [None; 3], unknown: true }
    }

    /// Why there is none.
    pub(crate) const fn none(&self) -> Error {
        if self.unknown { Error::UnknownWriter } else { Error::NoWriter }
    }

    /// At most three.
    #[must_use]
    pub fn of(kinds: &[WriterKind]) -> Writers {
        let mut writers = Writers::default();
        writers.kinds.iter_mut().zip(kinds).for_each(|(place, kind)| *place = Some(*kind));
        writers
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = WriterKind> + use<> {
        let kinds = self.kinds;
        (0..).map_while(move |at: usize| *kinds.get(at)?)
    }
}

/// Writes the bytes of one transaction.
pub trait Writer {
    /// Carries `writes` out, in order, and does what caches need. On a refusal: which one, and why; those before it have been carried
    /// out.
    ///
    /// # Safety
    /// `writes` lie in the extents that the writer was opened for.
    unsafe fn write(&mut self, writes: &[Write]) -> Result<(), (usize, Errno)>;

    /// Makes every processor that runs this code serialise: nothing fetched before is executed after.
    ///
    /// # Errors
    /// The system refuses: another thread may go on running what it fetched before.
    fn sync(&mut self) -> Result<(), Errno>;
}

/// The work that is done with a [`Writer`] while it is open.
pub type Body<'a> = dyn FnMut(&mut dyn Writer) -> Result<(), Failure> + 'a;
