//! The `remap` writer, which never modifies a page that is being executed. It copies each *run*, which is a row of adjacent pages, into a private
//! mapping of the same file and offset. It edits the copy, and moves the copy over the text by `mremap`. So each thread runs either the old page or
//! the new one.
//!
//! ```text
//!   text      [ old ]                  [ new ]   /proc/self/maps still shows the file's name
//!   forward   [ copy ] edit, r-x ──mremap──▲
//!   backward  [ copy ] r-x ── moved over the text if a later run is refused; if not, unmapped
//! ```
//!
//! A thread never fetches one half of a site from an old page and the other half from a new one, because each site lies in one run. The kernel first
//! removes the old pages of a run, then interrupts the processors that use them, and only then puts the new pages in their place.
//!
//! Before the first move, the writer makes all other requests that the system may refuse: for the two copies, for their protection, and for mappings
//! that the writer holds in reserve. The kernel demands room for several mappings in its table before each move, and the release of the reserve makes
//! this room for the way back. The new pages are not locked in memory (`mlock`) and have no advice (`madvise`), even if the old pages had.
//!
//! [`page_run`] explains what happens to uprobes during a move.

mod page_run;

use core::ptr::NonNull;

use rustix::mm::MprotectFlags;

use self::page_run::{File, PageRun};
use super::maps::{Mapping, Maps, PATH_MAX, TEXT};
use super::{Open, bti, sync};
use crate::error::Refusal;
use crate::platform::linux::{PLATFORM, pages};
use crate::platform::list::List;
use crate::platform::{Body, Extent, Failure, Held, Write, Writer};

type Result<T, E = Refusal> = core::result::Result<T, E>;

pub(super) struct Remap {
    runs: List<PageRun>,
}

impl Open for Remap {
    #[inline(never)] // This takes several KiB of stack. If it were inlined, the other writers would take them, too.
    unsafe fn open(extents: &[Extent], _: &mut Held, body: &mut Body<'_>) -> Result<(), Failure> {
        let mut remap = Remap { runs: List::new() };
        remap.copy(extents).map_err(Failure::Refused)?;
        body(&mut remap)?;
        remap.commit()?;
        let _ = sync::core_sync();
        Ok(())
    }
}

impl Remap {
    fn runs(&mut self) -> &mut [PageRun] {
        self.runs.as_mut_slice()
    }

    /// Divides the pages of `extents` into runs, and makes the two copies of each run.
    fn copy(&mut self, extents: &[Extent]) -> Result<()> {
        let maps = Maps::open()?;
        let mut path = [0_u8; PATH_MAX];
        let mut rest = extents;
        while let Some(extent) = rest.first() {
            let mut start = pages::floor(extent.first);
            let mut end = start;
            // This row of pages continues as long as the next extent begins where it ends, or before.
            let mut count = 0;
            while let Some(extent) = rest.get(count).filter(|extent| pages::floor(extent.first) <= end) {
                (end, count) = (pages::ceil(extent.end), count + 1);
            }
            let (run, others) = rest.split_at(count);
            rest = others;
            while start < end {
                let mapping = maps.find(start, &mut path[..PATH_MAX - 1])?;
                // A private copy of a shared mapping would no longer be shared with other processes. A copy of a writable mapping would lack what
                // other threads write to the mapping between the copy and the move.
                if mapping.shared || mapping.protection.contains(MprotectFlags::WRITE) {
                    return Err(rustix::io::Errno::ACCESS.into());
                }
                let stop = end_of(&mapping, &maps, end)?;
                let bytes = stop - start;
                // A run must not end inside of an extent of several pages, because a site lies across two of these pages. Between two moves, one half
                // of that site would be old and the other new.
                if run.iter().any(|extent| pages::floor(extent.first) < stop && stop < pages::ceil(extent.end)) {
                    return Err(rustix::io::Errno::FAULT.into());
                }
                let file = File::of(&mapping, start, &mut path)?;
                let protection = if mapping.is_text() { mapping.protection } else { TEXT } | bti::protection(start);
                // The run is put on the list before its copies are made, because only the copies of runs on the list are unmapped at the end.
                let run = PageRun { text: start, bytes, protection, forward: 0, backward: 0, copied: 0 };
                self.runs.push(run, &PLATFORM).map_err(|_| rustix::io::Errno::NOMEM)?;
                self.runs().last_mut().map_or(Ok(()), |run| run.copy(&file))?;
                start += bytes;
            }
        }
        Ok(())
    }

    /// Moves the forward copies of all runs over the text. If a move is refused, moves the text of the earlier runs back.
    fn commit(&mut self) -> Result<(), Failure> {
        let reserve = Reserve::take().map_err(Failure::Refused)?;
        self.runs().iter().try_for_each(|run| run.protect(run.forward)).map_err(Failure::Refused)?;
        for (at, run) in self.runs().iter_mut().enumerate() {
            match run.demand_unchanged().and_then(|()| run.move_over(run.forward)) {
                Ok(()) => run.forward = 0,
                Err(refusal) => {
                    drop(reserve);
                    self.take_back(at, refusal)?;
                    return Err(Failure::Refused(refusal));
                }
            }
        }
        Ok(())
    }

    /// Moves the backward copies of the earlier runs over the text, after the move of run number `refused` was refused. Also moves that of the
    /// refused run if the kernel has unmapped the run's text before it refused. `refusal` is the reason of the refusal.
    fn take_back(&mut self, refused: usize, refusal: Refusal) -> Result<(), Failure> {
        let (moved, others) = self.runs().split_at_mut_checked(refused + 1).unwrap_or_default();
        others.iter_mut().for_each(PageRun::unmap); // This makes room in the kernel's table of mappings for the moves.
        for run in moved.iter_mut().rev() {
            if run.forward != 0 && run.is_mapped() {
                continue; // This is the refused run, and its text is still mapped.
            }
            run.move_over(run.backward).map_err(|_| Failure::Stuck { address: run.text, refusal })?;
            run.backward = 0;
        }
        Ok(())
    }
}

/// The end of the run that begins in the mapping `first`, at most `wanted`. The run goes on into the next mapping if that continues `first` in the
/// same file: earlier moves and changes of protection may have cut one mapping in two, and a site that lies across the cut must move as a whole.
fn end_of(first: &Mapping, maps: &Maps, wanted: usize) -> Result<usize> {
    let mut end = first.end;
    while end < wanted {
        let next = maps.find(end, &mut [])?;
        if !first.goes_on_as(&next) {
            break;
        }
        end = next.end;
    }
    Ok(end.min(wanted))
}

impl Drop for Remap {
    #[inline(never)]
    fn drop(&mut self) {
        for run in self.runs() {
            run.unmap();
        }
        self.runs.free(&PLATFORM);
    }
}

impl Writer for Remap {
    unsafe fn write(&mut self, writes: &[Write]) -> Result<(), (usize, Refusal)> {
        let mut runs = &*self.runs;
        for (number, write) in writes.iter().enumerate() {
            // Each write lies in one run, and the writes are in the order of the runs.
            while let [run, others @ ..] = runs
                && run.text + run.bytes <= write.address
            {
                runs = others;
            }
            let run = runs.first().filter(|run| run.text <= write.address);
            let run = run.ok_or((number, rustix::io::Errno::FAULT.into()))?;
            let (copy, bytes) = (run.forward + (write.address - run.text), write.bytes());
            // SAFETY: the bytes lie in the forward copy of the run, which is writable until `commit`, and which no other thread uses before that.
            unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), copy as *mut u8, bytes.len()) };
        }
        Ok(())
    }

    /// Does nothing: between the steps no core sync is needed, because no thread runs the copies.
    fn sync(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Mappings that the writer holds while it moves runs. If a move is refused, the writer releases them, to make room in the kernel's table of mappings
/// for the way back.
struct Reserve(NonNull<u8>);

impl Reserve {
    const PAGES: usize = 9;

    fn take() -> Result<Reserve> {
        let memory = pages::allocate(Self::PAGES * pages::size()).ok_or(rustix::io::Errno::NOMEM)?;
        let reserve = Reserve(memory);
        // Every second page gets another protection, so that each page is a mapping of its own.
        let page = pages::size();
        for number in (1..Self::PAGES).step_by(2) {
            let address = memory.as_ptr() as usize + number * page;
            // SAFETY: this is a page of the memory that was allocated above, which nothing uses.
            unsafe { pages::protect(address, page, MprotectFlags::empty()) }?;
        }
        Ok(reserve)
    }
}

impl Drop for Reserve {
    #[inline(never)]
    fn drop(&mut self) {
        // SAFETY: `take` allocated the memory with this size, and nothing uses it.
        unsafe { pages::release(self.0, Self::PAGES * pages::size()) };
    }
}
