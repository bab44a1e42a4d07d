//! Finds out which pages of a mapping are present, by the `PAGEMAP_SCAN` ioctl (Linux 6.7). `PROCMAP_QUERY` (Linux 6.11) tells where the mapping
//! ends. The kernel only looks through the page table, so a scan of 300 pages costs less than two of the single questions of
//! [`readable`](super::readable). A page that has a guard, or lies after the end of its file, does not count as present.

use rustix::fs::OFlags;
use rustix::ioctl::{self, Opcode, opcode};

use super::maps::Maps;
use crate::platform::linux::pages;
use crate::platform::linux::procfs::open;

/// For fewer pages than this, [`readable`](super::readable) asks in its other ways, which cost less: the scan opens two files.
const MANY_PAGES: usize = 64;

/// The end of the row of present pages that begins with `page`: the first address that is not present, is `end`, or lies in another mapping. `None`
/// if `page` is not present, if the kernel does not answer, or if there are fewer than [`MANY_PAGES`] pages.
pub(super) fn after(page: usize, end: usize) -> Option<usize> {
    if end - page < MANY_PAGES * pages::size() {
        return None;
    }
    let end = end.min(Maps::open().ok()?.query(page, &mut []).ok()?.end);
    let pagemap = open(c"/proc/self/pagemap", OFlags::RDONLY).ok()?;
    let mut region = [0; 3];
    let mut scan = Scan::new(page, end, &mut region);
    // SAFETY: PAGEMAP_SCAN reads and writes one `struct pm_scan_arg`, which `scan` is, and writes at most one region, for which `region` has room.
    unsafe { ioctl::ioctl(&pagemap, ioctl::Updater::<PAGEMAP_SCAN, Scan>::new(&mut scan)) }.ok()?;
    // If the kernel found no present page, the region is still all zeros.
    let [start, end, _] = region;
    (start == page as u64).then_some(end as usize)
}

const PAGEMAP_SCAN: Opcode = opcode::read_write::<Scan>(b'f', 16);
const PAGE_IS_PRESENT: u64 = 1 << 3;

/// `struct pm_scan_arg` (include/uapi/linux/fs.h).
#[repr(C)]
struct Scan {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    regions: u64,
    region_count: u64,
    max_pages: u64,
    inverted: u64,
    demanded: u64,
    any_of: u64,
    returned: u64,
}

impl Scan {
    /// A request to find the first row of present pages in `start..end`, and to store it in `region`.
    fn new(start: usize, end: usize, region: &mut [u64; 3]) -> Scan {
        Scan {
            size: size_of::<Scan>() as u64,
            flags: 0,
            start: start as u64,
            end: end as u64,
            walk_end: 0,
            regions: core::ptr::from_mut(region) as u64,
            region_count: 1,
            max_pages: 0,
            inverted: 0,
            demanded: PAGE_IS_PRESENT,
            any_of: 0,
            returned: PAGE_IS_PRESENT,
        }
    }
}
