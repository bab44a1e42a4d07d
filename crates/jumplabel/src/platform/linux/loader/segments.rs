//! The segments of a loaded object, from the dynamic loader. The code does not read the ELF header in memory, because tools that rewrite binaries
//! (patchelf) move the ELF header and the program headers. After that, something else, or nothing, lies where the ELF header was.

use crate::platform::Image;
use crate::platform::bounds::join;
use crate::platform::linux::libc;

pub(crate) const PT_NOTE: u32 = 4;
const PT_LOAD: u32 = 1;
const PT_GNU_EH_FRAME: u32 = 0x6474_e550;
const PT_GNU_STACK: u32 = 0x6474_e551;
const PF_X: u32 = 1;
const PF_R: u32 = 4;

/// An object's program headers. `base` is the distance from the addresses in the headers to the addresses at which the object is loaded.
#[derive(Clone, Copy)]
pub(crate) struct Segments<'a> {
    base: usize,
    headers: &'a [libc::Phdr],
}

impl<'a> Segments<'a> {
    /// # Safety
    /// Every byte of the loadable segments among `headers`, moved by `base`, is mapped. (The result reads these bytes.)
    pub(crate) unsafe fn new(base: usize, headers: &'a [libc::Phdr]) -> Segments<'a> {
        Segments { base, headers }
    }

    /// # Safety
    /// `info` is the argument of a callback of `dl_iterate_phdr`, and that callback has not returned yet.
    pub(crate) unsafe fn of(info: &'a libc::DlPhdrInfo) -> Segments<'a> {
        // SAFETY: the loader has mapped the segments, and says where their headers are.
        unsafe {
            let headers = match info.headers.is_null() {
                true => &[],
                false => core::slice::from_raw_parts(info.headers, usize::from(info.count)),
            };
            Segments::new(info.addr, headers)
        }
    }

    /// The program headers of one type. Each comes with the addresses in memory at which its segment begins and ends.
    pub(crate) fn of_type(&self, kind: u32) -> impl Iterator<Item = (&'a libc::Phdr, usize, usize)> + use<'a> {
        let base = self.base;
        self.headers.iter().filter(move |header| header.p_type == kind).map(move |header| {
            let start = base.wrapping_add(header.p_vaddr);
            (header, start, start.saturating_add(header.p_memsz))
        })
    }

    /// The address in memory of the byte at `offset` in the object's file. `None` if no segment has that byte.
    pub(crate) fn address_of(&self, offset: usize) -> Option<usize> {
        self.of_type(PT_LOAD).find_map(|(header, start, _)| {
            let into = offset.checked_sub(header.p_offset)?;
            (into < header.p_filesz).then(|| start.wrapping_add(into))
        })
    }

    /// Whether `bytes` bytes at `address` can be read.
    #[inline(never)]
    pub(crate) fn holds(&self, address: usize, bytes: usize) -> bool {
        let inside = |start, end| start <= address && address.checked_add(bytes).is_some_and(|last| last <= end);
        self.of_type(PT_LOAD).any(|(header, start, end)| header.p_flags & PF_R != 0 && inside(start, end))
    }

    /// The words at `address`; `None` if they cannot be read.
    pub(crate) fn words<const COUNT: usize>(&self, address: usize) -> Option<[u32; COUNT]> {
        // SAFETY: the words lie in a readable segment, and the caller of `new` says that segments are mapped.
        self.holds(address, 4 * COUNT).then(|| unsafe { (address as *const [u32; COUNT]).read_unaligned() })
    }

    /// The pointer at `address`; `None` if it cannot be read.
    pub(crate) fn pointer(&self, address: usize) -> Option<usize> {
        // SAFETY: the pointer lies in a readable segment, and the caller of `new` says that segments are mapped.
        self.holds(address, size_of::<usize>()).then(|| unsafe { (address as *const usize).read_unaligned() })
    }

    /// The beginning of the first segment, and the end of the last one. `None` if there is no segment.
    pub(crate) fn bounds(&self) -> Option<(usize, usize)> {
        self.of_type(PT_LOAD).map(|(_, start, end)| (start, end)).reduce(join)
    }

    /// A post-link optimizer (BOLT) copies functions to new code. The table still lists the sites of the old functions, which no thread runs
    /// now. Returns the address at which the new code begins; `None` if there is no new code.
    ///
    /// The new code is an executable segment after those of the linker. One of four signs shows that the linker did not make it: it is aligned more
    /// strictly than the linker's code; it holds the table for unwinders; it holds the program headers; or its header has taken the place of
    /// PT_GNU_STACK. No tool that strips the file can remove these signs (docs/table-format.md, "Post-link optimizers").
    #[inline(never)]
    fn copies(&self) -> Option<usize> {
        let has_stack = self.of_type(PT_GNU_STACK).next().is_some();
        let headers = self.headers.as_ptr() as usize;
        let unwinders = self.of_type(PT_GNU_EH_FRAME).next().map_or(0, |(_, at, _)| at);
        let mut code = self.of_type(PT_LOAD).filter(|(header, ..)| header.p_flags & PF_X != 0);
        let alignment = code.next()?.0.p_align;
        // With `-instrument`, a segment with BOLT's own code follows. It has none of these signs.
        let is_copy = |start: usize, end: usize| [headers, unwinders].iter().any(|at| (start..end).contains(at));
        code.find(|&(header, start, end)| header.p_align > alignment || !has_stack || is_copy(start, end))
            .map(|(_, start, _)| start)
    }

    fn image(&self) -> Option<Image> {
        let mut image =
            Image::of(self.of_type(PT_LOAD).map(|(header, start, end)| ((start, end), header.p_flags & PF_X != 0)))?;
        image.set_copies(self.copies().unwrap_or(0));
        Some(image)
    }
}

/// The bounds of the object that has the words of this [`Place`](crate::platform::Place). `None` if the words are 0.
///
/// # Safety
/// The words are 0, or the object is still loaded.
pub(crate) unsafe fn image([base, headers, count]: [usize; 3]) -> Option<Image> {
    if headers == 0 {
        return None;
    }
    // SAFETY: the loader keeps the program headers as long as the object is loaded.
    unsafe { Segments::new(base, core::slice::from_raw_parts(headers as *const libc::Phdr, count)) }.image()
}
