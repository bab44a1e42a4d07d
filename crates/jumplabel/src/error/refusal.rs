//! The writers, and the reasons why they were refused.

use core::fmt;

use super::Error;
use crate::text::{self, Pieces};

/// The reason why a writer, or core sync, was refused: an error number of the system (on Windows: of `GetLastError`), or one of the constants
/// below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Refusal(i32); // A number instead of an enum: this makes a program with one key a kilobyte smaller.

impl Refusal {
    /// The writer, or core sync, was not tried.
    pub const NOT_TRIED: Refusal = Refusal(0);
    /// The system call succeeded, but the code did not change. There are two cases. Memory still holds the old bytes, because the path /proc/self/mem
    /// leads to another file. Or memory holds the new bytes, but the processor still executes the old instruction: some emulators do that, because
    /// they cache translated code. The self-test of a writer finds the second case.
    pub const NO_EFFECT: Refusal = Refusal(i32::MIN);

    /// A refusal with an error number of the system, or of the platform. If the number is 0, this is [`NOT_TRIED`](Self::NOT_TRIED).
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

impl Refusal {
    /// Passes the text to `pieces`, piece by piece: the same text as that of `Display`.
    #[doc(hidden)] // For the C API.
    #[cold]
    pub fn tell(self, pieces: Pieces<'_>) {
        match self {
            Refusal::NOT_TRIED => pieces("not tried"),
            Refusal::NO_EFFECT => pieces("wrote, but the code did not change, or the old code kept running"),
            Refusal(number) => {
                pieces(if cfg!(jumplabel_windows) { "Windows error " } else { "errno " });
                text::number(number.into(), pieces);
            }
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::format(f, |pieces| self.tell(pieces))
    }
}

/// A mechanism that writes code bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WriterKind {
    /// `pwrite` to /proc/self/mem: cheapest for few sites.
    Procmem,
    /// Makes the pages writable for the batch: cheapest for many sites. On Windows, this is the only writer, by `VirtualProtect`.
    Mprotect,
    /// Edits a private copy of the pages, and moves the copy over the text. So it never writes to a page that is being executed.
    Remap,
    /// A writer of another platform, such as a kernel.
    Custom,
}

impl WriterKind {
    /// All kinds, in the order of their numbers.
    pub(crate) const ALL: [WriterKind; 4] =
        [WriterKind::Procmem, WriterKind::Mprotect, WriterKind::Remap, WriterKind::Custom];

    /// The writer whose name is `name`, as in the variable `JUMPLABEL_WRITER`; `None` for `auto`. Pass the result to
    /// [`set_writer`](crate::set_writer).
    ///
    /// # Errors
    /// [`Error::UnknownWriter`] for any other name.
    pub fn named(name: &str) -> Result<Option<WriterKind>, Error> {
        Self::named_by(name.as_bytes())
    }

    /// Does the same as [`named`](Self::named), for a name that need not be UTF-8.
    #[doc(hidden)] // For the C API.
    pub fn named_by(name: &[u8]) -> Result<Option<WriterKind>, Error> {
        if name == b"auto" {
            return Ok(None);
        }
        let [writers @ .., _] = Self::ALL;
        let named = writers.into_iter().find(|kind| kind.name().as_bytes() == name);
        named.map(Some).ok_or(Error::UnknownWriter)
    }

    /// The name of the writer. `JUMPLABEL_WRITER` takes all of these names but `custom`.
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

/// The writers that refused, each with its reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refusals([Refusal; WriterKind::ALL.len()]);

impl FromIterator<(WriterKind, Refusal)> for Refusals {
    /// Collects refusals. A writer that is not among `refusals` counts as not tried.
    fn from_iter<I: IntoIterator<Item = (WriterKind, Refusal)>>(refusals: I) -> Refusals {
        let mut all = Refusals::default();
        refusals.into_iter().for_each(|(kind, refusal)| all.note(kind, refusal));
        all
    }
}

impl Refusals {
    /// No writer refused.
    pub(crate) const NONE: Refusals = Refusals([Refusal::NOT_TRIED; WriterKind::ALL.len()]);

    /// Records a refusal. If a writer refuses several times, the last one counts.
    pub(crate) fn note(&mut self, kind: WriterKind, refusal: Refusal) {
        if let Some(place) = self.0.get_mut(kind as usize) {
            *place = refusal;
        }
    }

    /// Each writer that refused, once, with the reason.
    pub fn iter(&self) -> impl Iterator<Item = (WriterKind, Refusal)> {
        let all = WriterKind::ALL.into_iter().map(|kind| (kind, self.of(kind)));
        all.filter(|(_, refusal)| *refusal != Refusal::NOT_TRIED)
    }

    /// The refusal of this writer; [`Refusal::NOT_TRIED`] if the writer was not tried.
    #[must_use]
    pub fn of(&self, kind: WriterKind) -> Refusal {
        self.0.get(kind as usize).copied().unwrap_or_default()
    }
}

impl Refusals {
    /// Passes the text to `pieces`, piece by piece: the same text as that of `Display`.
    #[doc(hidden)] // For the C API.
    #[cold]
    pub fn tell(&self, pieces: Pieces<'_>) {
        let mut before = "";
        for (kind, refusal) in self.iter() {
            pieces(before);
            pieces(kind.name());
            pieces(": ");
            refusal.tell(pieces);
            before = ", ";
        }
    }
}

impl fmt::Display for Refusals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::format(f, |pieces| self.tell(pieces))
    }
}
