//! Writers that refuse by a pattern: two that write in place, and one that writes to copies.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use jumplabel::platform::{Body, Extent, Failure, Held, Summary, Write, WriteReport, Writer, WriterList, builtin};
use jumplabel::{Refusal, WriterKind};

use crate::scenario::{emulator, slowness};
use crate::twin::Twin;

/// The number of calls that a pattern names one by one. An emulator takes as long for a few hundred flips as a processor for all.
fn depth() -> u32 {
    if emulator().is_some() || slowness() > 1 { 3 } else { 9 }
}

/// The writer that writes to copies.
const COPIES: WriterKind = WriterKind::Remap;

/// The calls that are refused from a moment on.
#[derive(Clone, Copy, Debug)]
pub struct Pattern {
    /// The order in which writers are tried.
    order: [Option<WriterKind>; 3],
    /// Bit n: call n is refused.
    refused: u32,
    /// The number of calls that `refused` describes. All later ones are refused if `rest`.
    depth: u32,
    rest: bool,
    /// Whether core syncs are calls. If not, none is refused.
    syncs: bool,
}

impl Pattern {
    /// Nothing is refused; everything is.
    pub const NOTHING: Pattern =
        Pattern { order: [Some(WriterKind::Procmem), None, None], refused: 0, depth: 0, rest: false, syncs: false };
    pub const EVERYTHING: Pattern = Pattern { rest: true, ..Pattern::NOTHING };

    /// The first patterns: one for each order of one, two or three writers, with and without core syncs, and with all or none of the later calls
    /// refused.
    pub fn firsts() -> impl Iterator<Item = Pattern> {
        let either = || [false, true].into_iter();
        orders().into_iter().flat_map(move |order| {
            either().flat_map(move |rest| {
                either().map(move |syncs| Pattern { order, refused: 0, depth: depth(), rest, syncs })
            })
        })
    }

    /// Counts calls from now on, and refuses them by this pattern.
    pub fn begin(self) {
        *NOW.lock().unwrap() = (self, 0);
    }

    /// The pattern that follows this one, after its calls were made: the last allowed call is refused. So patterns that differ only in calls that
    /// nobody makes count as one.
    pub fn next(self) -> Option<Pattern> {
        let calls = NOW.lock().unwrap().1.min(self.depth);
        let last = (0..calls).rev().find(|call| self.refused >> call & 1 == 0)?;
        Some(Pattern { refused: self.refused & ((1 << last) - 1) | 1 << last, ..self })
    }
}

fn orders() -> Vec<[Option<WriterKind>; 3]> {
    let kinds = [None, Some(WriterKind::Procmem), Some(WriterKind::Mprotect), Some(COPIES)];
    let mut orders = Vec::new();
    for order in (0..64).map(|number| [number / 16, number / 4 % 4, number % 4].map(|digit: usize| kinds[digit])) {
        let twice = |at: usize| order[at].is_some() && order[..at].contains(&order[at]);
        // In an order, the writers come before the places without one, each once.
        if order[0].is_some() && (order[1].is_some() || order[2].is_none()) && !twice(1) && !twice(2) {
            orders.push(order);
        }
    }
    assert_eq!(orders.len(), 3 + 6 + 6);
    orders
}

/// The pattern, and the number of the next call.
static NOW: Mutex<(Pattern, u32)> = Mutex::new((Pattern::NOTHING, 0));

const REFUSED: Refusal = Refusal::errno(libc::EPERM);

/// Makes a call.
fn call() -> Result<(), Refusal> {
    let (pattern, number) = &mut *NOW.lock().unwrap();
    let refused = if *number < pattern.depth { pattern.refused >> *number & 1 != 0 } else { pattern.rest };
    *number += 1;
    if refused { Err(REFUSED) } else { Ok(()) }
}

/// The platform.
pub struct Turns {
    /// The broken twin: a copy that undoes what an earlier writer left is said to be in place, though that was refused.
    believes: bool,
    /// Whether the last writer left something.
    left: AtomicBool,
}

impl Twin for Turns {
    fn writers(&self, summary: &Summary, _: &mut Held) -> WriterList {
        let order = NOW.lock().unwrap().0.order;
        let fit = |kind: &WriterKind| !summary.unsynced || *kind == COPIES;
        WriterList::of(&order.into_iter().flatten().filter(fit).collect::<Vec<_>>())
    }

    fn open(
        &self,
        kind: WriterKind,
        extents: &[Extent],
        held: &mut Held,
        body: &mut Body<'_>,
    ) -> Result<WriteReport, Failure> {
        call().map_err(Failure::Refused)?;
        let result = if kind == COPIES { self.copy(extents, held, body) } else { in_place(extents, held, body) };
        self.left.fetch_or(matches!(result, Err(Failure::Stuck { .. })), Ordering::Relaxed);
        result
    }
}

impl Turns {
    pub fn new(believes: bool) -> Turns {
        Turns { believes, left: AtomicBool::new(false) }
    }

    fn copy(&self, extents: &[Extent], held: &mut Held, body: &mut Body<'_>) -> Result<WriteReport, Failure> {
        let mut copy = Copy(Vec::new());
        body(&mut copy)?;
        if let Err(refusal) = call() {
            let lies = self.believes && self.left.swap(false, Ordering::Relaxed);
            return if lies { Ok(WriteReport::default()) } else { Err(Failure::Refused(refusal)) };
        }
        let put = |writer: &mut dyn Writer| {
            // SAFETY: what was to be written to these extents.
            unsafe { writer.write(&copy.0) }.map_err(|(_, refusal)| Failure::Refused(refusal))
        };
        write(extents, held, &mut { put })
    }
}

/// Opens the built-in writer that works everywhere.
fn write(extents: &[Extent], held: &mut Held, body: &mut Body<'_>) -> Result<WriteReport, Failure> {
    // SAFETY: called as `Platform::open` is.
    unsafe { builtin().open(WriterKind::Mprotect, extents, held, body) }
}

fn in_place(extents: &[Extent], held: &mut Held, body: &mut Body<'_>) -> Result<WriteReport, Failure> {
    write(extents, held, &mut |writer| body(&mut InPlace(writer)))
}

struct InPlace<'a>(&'a mut dyn Writer);

impl Writer for InPlace<'_> {
    unsafe fn write(&mut self, writes: &[Write]) -> Result<(), (usize, Refusal)> {
        for (at, write) in writes.chunks(1).enumerate() {
            call().map_err(|refusal| (at, refusal))?;
            // SAFETY: a part of what the writer was opened for.
            unsafe { self.0.write(write) }.map_err(|(_, refusal)| (at, refusal))?;
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Refusal> {
        if NOW.lock().unwrap().0.syncs {
            call()?;
        }
        self.0.sync()
    }
}

/// The writes that are still to be put in place.
struct Copy(Vec<Write>);

impl Writer for Copy {
    unsafe fn write(&mut self, writes: &[Write]) -> Result<(), (usize, Refusal)> {
        self.0.extend(writes);
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Refusal> {
        Ok(())
    }
}
