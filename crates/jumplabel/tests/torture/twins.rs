//! Broken twins: writers that do what the real ones must not do. The suite has to find each of them out. All of them let `mprotect` open the pages,
//! and write by themselves.
//!
//! | twin | what it does | found out by |
//! |---|---|---|
//! | `STEPS` | all that the engine asks for: not broken, the control | nothing |
//! | `FORGETS` | leaves the last site out | readers, to whom its arm was promised |
//! | `FORGETS_SLOTS` | takes back what static calls store in their slots before the first step | readers, to whom the target was promised |
//! | with a store | ignores the steps: keeps what the engine asks for until it has asked for all, and stores it then; see `torn` | a trap |

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use jumplabel::arch::Native;
use jumplabel::platform::{
    Body, Extent, Failure, Held, Platform, Summary, Write, WriteReport, Writer, WriterList, builtin,
};
use jumplabel::{Refusal, WriterKind, set_platform};
use jumplabel_format::Arch;

use jumplabel_testing::twin::{self, platform};

#[derive(Clone, Copy)]
pub struct Twin {
    /// Whether the twin undoes the engine's stores in the slots of static calls.
    pub forgets_slots: bool,
    /// Whether the twin leaves the last site out.
    pub forgets: bool,
    /// The function that stores all bytes of a site that change, from an address on.
    pub store: Option<fn(usize, &[u8])>,
}

static PLATFORM: OnceLock<&'static &'static dyn Platform> = OnceLock::new();

impl Twin {
    pub const STEPS: Twin = Twin { forgets_slots: false, forgets: false, store: None };
    pub const FORGETS: Twin = Twin { forgets: true, ..Twin::STEPS };
    #[cfg(target_arch = "x86_64")]
    pub const FORGETS_SLOTS: Twin = Twin { forgets_slots: true, ..Twin::STEPS };

    /// Makes all flips from now on go through this writer.
    pub fn install(self) {
        FORGETS.store(self.forgets, Ordering::Relaxed);
        let platform = PLATFORM.get_or_init(|| platform(self));
        // SAFETY: before the first flip. The contract is broken on purpose, in a process of its own.
        unsafe { set_platform(platform) };
    }
}

static FORGETS: AtomicBool = AtomicBool::new(false);

/// Whether the flipper leaves it to the readers to find that sites were left out. The flipper would see it from the outcomes.
pub fn is_for_readers() -> bool {
    FORGETS.load(Ordering::Relaxed)
}

impl twin::Twin for Twin {
    fn writers(&self, _: &Summary, _: &mut Held) -> WriterList {
        WriterList::of(&[WriterKind::Custom])
    }

    fn open(
        &self,
        _: WriterKind,
        extents: &[Extent],
        held: &mut Held,
        body: &mut Body<'_>,
    ) -> Result<WriteReport, Failure> {
        // The twin leaves the last site out of all steps: a site that takes only some of them holds bytes that cannot be run.
        let last = extents.last().map_or(0, |extent| extent.end - Native::SIZE);
        let mut body = |real: &mut dyn Writer| {
            let mut own = Own { twin: *self, last, real, kept: BTreeMap::new() };
            body(&mut own)?;
            own.store();
            own.sync().map_err(Failure::Refused)
        };
        // SAFETY: passed on.
        unsafe { builtin().open(WriterKind::Mprotect, extents, held, &mut body) }
    }
}

/// The writer of one transaction.
struct Own<'a> {
    twin: Twin,
    /// The last site.
    last: usize,
    real: &'a mut dyn Writer,
    /// Bytes by their addresses.
    kept: BTreeMap<usize, u8>,
}

impl Own<'_> {
    /// Stores what was kept, site by site.
    fn store(&mut self) {
        let Some(store) = self.twin.store else { return };
        let kept: Vec<(usize, u8)> = std::mem::take(&mut self.kept).into_iter().collect();
        for site in kept.chunk_by(|(a, _), (b, _)| a + 1 == *b) {
            store(site[0].0, &site.iter().map(|(_, byte)| *byte).collect::<Vec<u8>>());
        }
    }
}

impl Writer for Own<'_> {
    unsafe fn write(&mut self, writes: &[Write]) -> Result<(), (usize, Refusal)> {
        #[cfg(target_arch = "x86_64")]
        if self.twin.forgets_slots {
            crate::calls::forget_slots();
        }
        let others = writes.iter().filter(|write| !self.twin.forgets || write.address < self.last);
        let writes: &[Write] = &others.copied().collect::<Vec<_>>();
        if self.twin.store.is_some() {
            let bytes = writes.iter().flat_map(|write| (write.address..).zip(write.bytes().iter().copied()));
            self.kept.extend(bytes);
            return Ok(());
        }
        // SAFETY: a part of what was asked for.
        unsafe { self.real.write(writes) }
    }

    fn sync(&mut self) -> Result<(), Refusal> {
        self.real.sync()
    }
}
