//! The segments of a loaded object, by the program headers that the dynamic loader passes. This module does not read the ELF header in memory: a tool
//! that rewrites binaries (patchelf) can move that header, and then something else, or nothing, lies where the ELF header was.

use crate::platform::Image;
use crate::platform::bounds::join;
use crate::platform::linux::libc;

pub(crate) const PT_NOTE: u32 = 4;
const PT_LOAD: u32 = 1;
const PT_GNU_EH_FRAME: u32 = 0x6474_e550;
const PT_GNU_STACK: u32 = 0x6474_e551;
const PF_X: u32 = 1;
const PF_R: u32 = 4;

/// The program headers of a loaded object. An address in the headers plus `base` is the address in memory.
#[derive(Clone, Copy)]
pub(crate) struct Segments<'a> {
    base: usize,
    headers: &'a [libc::Phdr],
}

impl<'a> Segments<'a> {
    /// The segments that these program headers describe.
    ///
    /// # Safety
    /// `headers` describe an object that is loaded at `base`, and stays loaded while the result is used. (The result reads the object's segments.)
    pub(crate) unsafe fn new(base: usize, headers: &'a [libc::Phdr]) -> Segments<'a> {
        Segments { base, headers }
    }

    /// The segments of the object that `info` describes.
    ///
    /// # Safety
    /// `info` is the argument of a callback of `dl_iterate_phdr`. The result is used only before that callback returns.
    pub(crate) unsafe fn of(info: &'a libc::DlPhdrInfo) -> Segments<'a> {
        // SAFETY: during the callback the loader keeps the object loaded, and `info` says where its program headers are, and how many.
        unsafe {
            let headers = match info.headers.is_null() {
                true => &[],
                false => core::slice::from_raw_parts(info.headers, usize::from(info.count)),
            };
            Segments::new(info.addr, headers)
        }
    }

    /// The program headers of the type `kind`, each with the addresses in memory at which its segment begins and ends.
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

    /// Whether the `bytes` bytes at `address` lie in one readable segment of the object.
    #[inline(never)]
    pub(crate) fn holds(&self, address: usize, bytes: usize) -> bool {
        let inside = |start, end| start <= address && address.checked_add(bytes).is_some_and(|last| last <= end);
        self.of_type(PT_LOAD).any(|(header, start, end)| header.p_flags & PF_R != 0 && inside(start, end))
    }

    /// The words at `address`. `None` if they do not lie in a readable segment.
    pub(crate) fn words<const COUNT: usize>(&self, address: usize) -> Option<[u32; COUNT]> {
        // SAFETY: the words lie in a readable segment, and the caller of `new` guarantees that the object is loaded.
        self.holds(address, 4 * COUNT).then(|| unsafe { (address as *const [u32; COUNT]).read_unaligned() })
    }

    /// The pointer that is stored at `address`. `None` if it does not lie in a readable segment.
    pub(crate) fn pointer(&self, address: usize) -> Option<usize> {
        // SAFETY: the pointer lies in a readable segment, and the caller of `new` guarantees that the object is loaded.
        self.holds(address, size_of::<usize>()).then(|| unsafe { (address as *const usize).read_unaligned() })
    }

    /// The addresses of the beginning of the lowest segment and of the end of the highest one. `None` if there is no segment.
    pub(crate) fn bounds(&self) -> Option<(usize, usize)> {
        self.of_type(PT_LOAD).map(|(_, start, end)| (start, end)).reduce(join)
    }

    /// The address at which the code begins that a post-link optimizer (BOLT) has added. `None` if there is no such code. BOLT copies functions
    /// there, and threads run only the copies. But the object's table still lists the sites of the original functions.
    ///
    /// The added code is an executable segment after the linker's first one. At least one of four signs shows that the linker did not make this
    /// segment: it has a larger alignment than the linker's code; it contains the table for unwinders; it contains the program headers; or its header
    /// has replaced PT_GNU_STACK. Tools that strip the file do not remove these signs (docs/table-format.md, "Post-link optimizers").
    #[inline(never)]
    fn copies(&self) -> Option<usize> {
        let has_stack = self.of_type(PT_GNU_STACK).next().is_some();
        let headers = self.headers.as_ptr() as usize;
        let unwinders = self.of_type(PT_GNU_EH_FRAME).next().map_or(0, |(_, at, _)| at);
        let mut code = self.of_type(PT_LOAD).filter(|(header, ..)| header.p_flags & PF_X != 0);
        let alignment = code.next()?.0.p_align;
        // With `-instrument`, BOLT adds another segment after the copies, for its own code. That segment has none of the signs.
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

/// The bounds of the object whose [`Place`](crate::platform::Place) has these words. `None` if the words are 0.
///
/// # Safety
/// The words are 0, or the object is still loaded.
pub(crate) unsafe fn image([base, headers, count]: [usize; 3]) -> Option<Image> {
    if headers == 0 {
        return None;
    }
    // SAFETY: the caller guarantees that the object is loaded. The loader keeps its program headers, where the words say, as long as it is loaded.
    unsafe { Segments::new(base, core::slice::from_raw_parts(headers as *const libc::Phdr, count)) }.image()
}
