//! The `remap` writer. It never modifies a page that is being executed. It copies each run of pages into a private mapping of the same file
//! and offset, edits the copy, and moves the copy over the text with `mremap`. Each thread runs either the old page or the new one.
//!
//! ```text
//!   text      [ old ]                  [ new ]   /proc/self/maps still shows the file's name
//!   forward   [ copy ] edit, r-x ──mremap──▲
//!   backward  [ copy ] r-x ── moved over the text if a later run is refused; if not, unmapped
//! ```
//!
//! Each site lies in one run. The kernel first removes the old pages of a run, then interrupts the processors that use them, and only then puts
//! the new pages in their place. So a thread never fetches one half of a site from an old page and the other half from a new one.
//!
//! Before the first move, the writer makes every request that the system can refuse: for both copies, for their protection, and for the four
//! mappings that the kernel wants to have in reserve for the way back. The new pages are not locked in memory (`mlock`), and have no advice, even
//! if the old pages had.
//!
//! [`page_run`] says what happens to uprobes during a move.

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
    #[inline(never)] // Not inlined: the other writers do not need its several KiB of stack.
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

    /// Copies the pages of `extents`.
    fn copy(&mut self, extents: &[Extent]) -> Result<()> {
        let maps = Maps::open()?;
        let mut path = [0_u8; PATH_MAX];
        let mut rest = extents;
        while let Some(extent) = rest.first() {
            let mut start = pages::floor(extent.first);
            let mut end = start;
            // The run continues as long as the next extent touches it.
            let mut count = 0;
            while let Some(extent) = rest.get(count).filter(|extent| pages::floor(extent.first) <= end) {
                (end, count) = (pages::ceil(extent.end), count + 1);
            }
            let (run, others) = rest.split_at(count);
            rest = others;
            while start < end {
                let mapping = maps.find(start, &mut path[..PATH_MAX - 1])?;
                // A private copy of a shared mapping would no longer belong to the file. A copy of a writable mapping would lack the writes that
                // come between the copy and the move.
                if mapping.shared || mapping.protection.contains(MprotectFlags::WRITE) {
                    return Err(rustix::io::Errno::ACCESS.into());
                }
                let stop = end_of(&mapping, &maps, end)?;
                let bytes = stop - start;
                // If this cut an extent in two, it would also cut a site in two. Between two moves, one half of that site would be old and the
                // other new.
                if run.iter().any(|extent| pages::floor(extent.first) < stop && stop < pages::ceil(extent.end)) {
                    return Err(rustix::io::Errno::FAULT.into());
                }
                let file = File::of(&mapping, start, &mut path)?;
                let protection = if mapping.is_text() { mapping.protection } else { TEXT } | bti::protection(start);
                // The run is put on the list before its copies are made, because only copies on the list are unmapped.
                let run = PageRun { text: start, bytes, protection, forward: 0, backward: 0, copied: 0 };
                self.runs.push(run, &PLATFORM).map_err(|_| rustix::io::Errno::NOMEM)?;
                self.runs().last_mut().map_or(Ok(()), |run| run.copy(&file))?;
                start += bytes;
            }
        }
        Ok(())
    }

    /// Moves all forward copies over the text, or none.
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

    /// Called when the move of the run at `refused` was refused: moves the backward copies of the earlier runs over the text. Does the same for the
    /// refused run, if the kernel unmapped its text before it refused.
    fn take_back(&mut self, refused: usize, refusal: Refusal) -> Result<(), Failure> {
        let (moved, others) = self.runs().split_at_mut_checked(refused + 1).unwrap_or_default();
        others.iter_mut().for_each(PageRun::unmap); // This makes room in the kernel's table of mappings.
        for run in moved.iter_mut().rev() {
            if run.forward != 0 && run.is_mapped() {
                continue; // This run was refused, and its text is still there.
            }
            run.move_over(run.backward).map_err(|_| Failure::Stuck { address: run.text, refusal })?;
            run.backward = 0;
        }
        Ok(())
    }
}

/// The end of the run that begins in `first`, but at most `wanted`. Earlier moves and changes of protection have cut mappings in two. If two parts
/// continue each other in one file, they still move together, because a thread can be fetching a site that lies across the cut.
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
            // Each site lies in one run, and the writes come in the order of the runs.
            while let [run, others @ ..] = runs
                && run.text + run.bytes <= write.address
            {
                runs = others;
            }
            let run = runs.first().filter(|run| run.text <= write.address);
            let run = run.ok_or((number, rustix::io::Errno::FAULT.into()))?;
            let (copy, bytes) = (run.forward + (write.address - run.text), write.bytes());
            // SAFETY: the bytes are inside the run's copy. The copy is writable until it is moved, and no thread runs it before that.
            unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), copy as *mut u8, bytes.len()) };
        }
        Ok(())
    }

    /// Does nothing. The steps need no core sync between them, because no thread runs the copies.
    fn sync(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Mappings that the writer holds while it moves runs. Their release makes room in the kernel's table of mappings for the way back.
struct Reserve(NonNull<u8>);

impl Reserve {
    const PAGES: usize = 9;

    fn take() -> Result<Reserve> {
        let memory = pages::allocate(Self::PAGES * pages::size()).ok_or(rustix::io::Errno::NOMEM)?;
        let reserve = Reserve(memory);
        // Every second page gets another protection, so that neighbours do not merge into one mapping.
        let page = pages::size();
        for number in (1..Self::PAGES).step_by(2) {
            let address = memory.as_ptr() as usize + number * page;
            // SAFETY: this is one page of the mapping made above.
            unsafe { pages::protect(address, page, MprotectFlags::empty()) }?;
        }
        Ok(reserve)
    }
}

impl Drop for Reserve {
    #[inline(never)]
    fn drop(&mut self) {
        // SAFETY: the memory came from `take`.
        unsafe { pages::release(self.0, Self::PAGES * pages::size()) };
    }
}
