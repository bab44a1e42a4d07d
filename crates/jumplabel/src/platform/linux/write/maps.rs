//! Asks the kernel about the mapping at an address: its bounds, its protection, its file. The `PROCMAP_QUERY` ioctl tells these (Linux 6.11). Without
//! that ioctl, this reads the text of /proc/thread-self/maps or, if that cannot be opened, of /proc/self/maps.

use core::ffi::CStr;

use rustix::fd::OwnedFd;
use rustix::fs::OFlags;
use rustix::ioctl;
use rustix::mm::MprotectFlags;

use crate::error::Refusal;
use crate::platform::linux::pages;
use crate::platform::linux::procfs::{is_procfs, open};

/// The protection that the library assumes for text if the system does not tell.
pub(super) const TEXT: MprotectFlags = MprotectFlags::READ.union(MprotectFlags::EXEC);

/// The length of the longest path in bytes, including the zero at its end (include/uapi/linux/limits.h).
pub(super) const PATH_MAX: usize = 4096;

/// A mapping of this process: adjacent pages with the same protection, and of the same file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mapping {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) protection: MprotectFlags,
    /// Whether the mapping is `MAP_SHARED`, so that writes to it reach the file.
    pub(super) shared: bool,
    /// The offset of the mapping's start in its file.
    pub(super) offset: u64,
    /// The inode number of the file. 0 for memory without a file.
    pub(super) inode: u64,
    /// The length of the file's path in the caller's buffer, without a zero at the end. 0 if there is no path, or if the path does not fit.
    pub(super) path_len: usize,
}

impl Mapping {
    /// A mapping of which only `shared` is known.
    pub(super) const fn unknown(shared: bool) -> Mapping {
        let protection = MprotectFlags::empty();
        Mapping { start: 0, end: 0, protection, shared, offset: 0, inode: 0, path_len: 0 }
    }

    /// Whether the mapping is executable, as the mapping of the program's text is. Under an emulator (qemu-user), the system shows the emulator's own
    /// mapping, which may not be executable, and may have other bounds. A writer must not use the protection of such a mapping: if it restored that
    /// protection, the program could no longer execute its text.
    pub(super) fn is_text(&self) -> bool {
        self.protection.contains(MprotectFlags::EXEC)
    }

    /// Whether `next`, which begins where this mapping ends, has the same protection and sharing, and maps the next bytes of the same file.
    pub(super) fn goes_on_as(&self, next: &Mapping) -> bool {
        let goes_on = next.inode == 0 || next.offset == self.offset + (next.start - self.start) as u64;
        self.inode == next.inode && self.protection == next.protection && self.shared == next.shared && goes_on
    }
}

pub(super) struct Maps(OwnedFd);

/// The error of [`Maps::find`] if the opened file is not the kernel's /proc/self/maps.
pub(super) const NOT_PROCFS: Refusal = Refusal::errno(rustix::io::Errno::NOTTY.raw_os_error());
/// A longer path to the same file as /proc/self/maps. It also works after the first thread has ended.
const THREADS: &CStr = c"/proc/thread-self/maps";

impl Maps {
    #[inline(never)]
    pub(super) fn open() -> Result<Maps, Refusal> {
        Maps::open_at(c"/proc/self/maps").or_else(|_| Maps::open_at(THREADS))
    }

    fn open_at(path: &CStr) -> Result<Maps, Refusal> {
        Ok(Maps(open(path, OFlags::RDONLY)?))
    }

    /// The mapping at `address`. Writes the path of its file to `path`, if the path fits.
    #[inline(never)]
    pub(super) fn find(&self, address: usize, path: &mut [u8]) -> Result<Mapping, Refusal> {
        match self.query(address, path) {
            Ok(found) => Ok(found),
            Err(rustix::io::Errno::IO) => Err(rustix::io::Errno::IO.into()),
            Err(rustix::io::Errno::NOENT) => Err(rustix::io::Errno::NOMEM.into()),
            // This reads the text, from the longer path if that can be opened. (If the first thread has ended, older kernels still open
            // /proc/self/maps, but the file is empty.)
            Err(_) => Maps::open_at(THREADS).as_ref().unwrap_or(self).read(address, path),
        }
    }

    /// Whether the system says that no code is mapped at `address`. The answer "nothing is mapped" (ENOMEM) counts only if `msync` agrees, because a
    /// seccomp filter, or a lack of memory, can cause the same answer.
    #[inline(never)]
    fn lacks_code(&self, address: usize) -> bool {
        let no_memory = rustix::io::Errno::NOMEM.into();
        match self.find(address, &mut []) {
            Ok(mapping) => !mapping.is_text(),
            Err(errno) => {
                errno == no_memory && pages::look_for_holes(pages::floor(address), pages::size()) == Err(no_memory)
            }
        }
    }

    /// The mapping at `address`, by the ioctl alone. See [`find`](Self::find).
    #[inline(never)]
    pub(super) fn query(&self, address: usize, path: &mut [u8]) -> Result<Mapping, rustix::io::Errno> {
        let mut query = Query::new(address, path);
        // SAFETY: PROCMAP_QUERY reads and writes one `struct procmap_query`, and writes at most `path.len()` bytes to `path`.
        unsafe { ioctl::ioctl(&self.0, ioctl::Updater::<PROCMAP_QUERY, Query>::new(&mut query)) }?;
        let found = query.mapping();
        (found.start..found.end).contains(&address).then_some(found).ok_or(rustix::io::Errno::IO)
    }

    /// The mapping at `address`, by the text of the file. See [`find`](Self::find). If this were inlined, its buffer would be on the stack of every
    /// flip that asks the kernel, and the stack of a signal handler can be small.
    #[cold]
    #[inline(never)]
    fn read(&self, address: usize, path: &mut [u8]) -> Result<Mapping, Refusal> {
        // The ioctl needs no such check, because only the kernel's file answers it.
        if !is_procfs(rustix::fs::fstatfs(&self.0)) {
            return Err(NOT_PROCFS);
        }
        let mut chunk = [0_u8; 1024];
        let (mut line, mut position) = (Line::NEW, 0);
        loop {
            let count = rustix::io::pread(&self.0, &mut chunk, position)?;
            if count == 0 {
                return Err(rustix::io::Errno::NOMEM.into());
            }
            position += count as u64;
            for &byte in chunk.iter().take(count) {
                if byte != b'\n' {
                    line.add(byte, path);
                    continue;
                }
                let line = core::mem::replace(&mut line, Line::NEW);
                if let Some(found) = line.mapping(path).filter(|it| (it.start..it.end).contains(&address)) {
                    return Ok(found);
                }
            }
        }
    }
}

/// Whether code is mapped at `address`. True if the system does not tell, because there is no /proc, or because an emulator shows its own mappings.
/// This function recognises such an emulator by the answer that this function itself is not code.
#[inline(never)] // Inlining would save nothing, because the function takes its own address and so must exist anyway.
pub(crate) fn is_code(address: usize) -> bool {
    let Ok(maps) = Maps::open() else { return true };
    !maps.lacks_code(address) || maps.lacks_code(is_code as fn(usize) -> bool as usize)
}

/// A line of the text, as far as it was read. A whole line is `start-end rwxp offset major:minor inode path`.
struct Line {
    mapping: Mapping,
    /// The number of the word that is being read, from 0 for `start` to 6 for `path`; 7 after a mistake in the line.
    word: u32,
    number: u64,
}

impl Line {
    const NEW: Line = Line { mapping: Mapping::unknown(false), word: 0, number: 0 };
    const PATH: u32 = 6;
    const BAD: u32 = 7;

    #[inline(never)]
    fn add(&mut self, byte: u8, path: &mut [u8]) {
        let Line { mapping, word, number } = self;
        let digit = |radix| char::from(byte).to_digit(radix).map(u64::from);
        match (*word, byte) {
            (0, b'-') | (1..=5, b' ') => {
                match *word {
                    0 => mapping.start = *number as usize,
                    1 => mapping.end = *number as usize,
                    3 => mapping.offset = *number,
                    5 => mapping.inode = *number,
                    _ => {}
                }
                (*word, *number) = (*word + 1, 0);
            }
            (2, b'r') => mapping.protection |= MprotectFlags::READ,
            (2, b'w') => mapping.protection |= MprotectFlags::WRITE,
            (2, b'x') => mapping.protection |= MprotectFlags::EXEC,
            (2, b's') => mapping.shared = true,
            (2, _) | (4, _) => {} // `p` or `-` in the third word, and all of the device
            (0 | 1 | 3 | 5, _) => match digit(if *word == 5 { 10 } else { 16 }) {
                Some(digit) => *number = number.wrapping_mul(if *word == 5 { 10 } else { 16 }).wrapping_add(digit),
                None => *word = Line::BAD,
            },
            (Line::PATH, b' ') if mapping.path_len == 0 => {}
            (Line::PATH, _) => {
                if let Some(place) = path.get_mut(mapping.path_len) {
                    *place = byte;
                }
                mapping.path_len += 1;
            }
            _ => {}
        }
    }

    /// The mapping that a whole line describes. `path` is the buffer that [`add`](Self::add) wrote to. `None` if this is no such line.
    fn mapping(mut self, path: &[u8]) -> Option<Mapping> {
        if self.word < Line::PATH {
            self.add(b' ', &mut []); // Ends the last number, if no space follows it.
        }
        if self.mapping.path_len > path.len() {
            self.mapping.path_len = 0;
        }
        (self.word == Line::PATH).then_some(self.mapping)
    }
}

/// `struct procmap_query` (include/uapi/linux/fs.h).
#[repr(C)]
#[derive(Default)]
struct Query {
    size: u64,
    query_flags: u64,
    query_addr: u64,
    vma_start: u64,
    vma_end: u64,
    vma_flags: u64,
    vma_page_size: u64,
    vma_offset: u64,
    inode: u64,
    dev_major: u32,
    dev_minor: u32,
    vma_name_size: u32,
    build_id_size: u32,
    vma_name_addr: u64,
    build_id_addr: u64,
}

const PROCMAP_QUERY: ioctl::Opcode = ioctl::opcode::read_write::<Query>(b'f', 17);

impl Query {
    fn new(address: usize, path: &mut [u8]) -> Query {
        Query {
            size: size_of::<Query>() as u64,
            query_addr: address as u64,
            vma_name_size: path.len() as u32,
            vma_name_addr: if path.is_empty() { 0 } else { path.as_mut_ptr() as u64 },
            ..Query::default()
        }
    }

    fn mapping(&self) -> Mapping {
        Mapping {
            start: self.vma_start as usize,
            end: self.vma_end as usize,
            // The flags PROCMAP_QUERY_VMA_READABLE, _WRITABLE and _EXECUTABLE have the values of PROT_READ, PROT_WRITE and PROT_EXEC.
            protection: MprotectFlags::from_bits_truncate(self.vma_flags as u32 & 7),
            shared: self.vma_flags & 8 != 0, // PROCMAP_QUERY_VMA_SHARED
            offset: self.vma_offset,
            inode: self.inode,
            path_len: (self.vma_name_size as usize).saturating_sub(1), // The kernel also counts the zero at the end.
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mapping that `line` describes, and its path if the path fits.
    fn parse<'a>(line: &str, path: &'a mut [u8]) -> Option<(Mapping, &'a [u8])> {
        let mut parsed = Line::NEW;
        line.bytes().for_each(|byte| parsed.add(byte, path));
        let mapping = parsed.mapping(path)?;
        Some((mapping, &path[..mapping.path_len]))
    }

    /// Parses lines as kernels print them (fs/proc/task_mmu.c).
    #[test]
    fn lines() {
        let mut room = [0; 64];
        let (found, path) = parse(
            "7f1de93d8000-7f1de952e000 r-xp 00026000 fe:00 8612                       /usr/lib/a b (c)",
            &mut room,
        )
        .unwrap();
        assert_eq!((found.start, found.end), (0x7f1d_e93d_8000_u64 as usize, 0x7f1d_e952_e000_u64 as usize));
        assert_eq!((found.protection, found.shared), (TEXT, false));
        assert_eq!((found.offset, found.inode, path), (0x26000, 8612, b"/usr/lib/a b (c)".as_slice()));
        for line in ["5000-6000 ---s 0 0:0 0", "5000-6000 ---s 00000000 00:00 0 "] {
            let (found, path) = parse(line, &mut room).unwrap();
            assert_eq!((found.start, found.end, found.inode, path), (0x5000, 0x6000, 0, b"".as_slice()));
            assert!(found.protection.is_empty() && found.shared);
        }
        let long = parse("5000-6000 r-xp 0 0:0 1 /too/long", &mut room[..3]).unwrap().0;
        assert_eq!((long.inode, long.path_len), (1, 0));
        assert_eq!(parse("5000-6000 r-xp 0 0:0 1 /nowhere", &mut []).unwrap().0.path_len, 0);
    }

    #[test]
    fn what_is_no_line_says_nothing() {
        for line in
            ["", "5000", "5000-6000", "5000-6000 r-xp 0 0:0", "5000-6000 r-xp x 0:0 1 /a", "5000+6000 r-xp 0 0:0 1 /a"]
        {
            assert!(parse(line, &mut [0; 8]).is_none(), "{line}");
        }
    }
}
