//! What the kernel knows of the mapping at an address: its bounds, protection, file. By the `PROCMAP_QUERY` ioctl (Linux
//! 6.11), else by reading /proc/self/maps, or /proc/thread-self/maps where the first thread has ended.

use core::ffi::CStr;

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::ioctl;
use rustix::mm::MprotectFlags;

use super::procfs::is_procfs;
use crate::error::Errno;

/// What text is taken for where the system does not say.
pub(super) const TEXT: MprotectFlags = MprotectFlags::READ.union(MprotectFlags::EXEC);

/// The longest path, with its zero (include/uapi/linux/limits.h).
pub(super) const PATH_MAX: usize = 4096;

/// A mapping.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mapping {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) protection: MprotectFlags,
    /// Writes would go to the file.
    pub(super) shared: bool,
    /// Of its start in its file.
    pub(super) offset: u64,
    /// 0 for memory without a file.
    pub(super) inode: u64,
    /// Length of the file's path in the caller's buffer, without a zero; 0 where there is none or it does not fit.
    pub(super) path_len: usize,
}

impl Mapping {
    /// Whether this is how the program sees its text. An emulator (qemu-user) shows its own mapping, which need not be
    /// executable, nor end where the program's does: to restore that would take the program's text away.
    pub(super) fn is_text(&self) -> bool {
        self.protection.contains(MprotectFlags::EXEC)
    }

    /// Whether `next`, which begins where this one ends, is more of the same file with the same protection.
    pub(super) fn goes_on_as(&self, next: &Mapping) -> bool {
        let goes_on = next.inode == 0 || next.offset == self.offset + (next.start - self.start) as u64;
        self.inode == next.inode && self.protection == next.protection && self.shared == next.shared && goes_on
    }
}

pub(super) struct Maps(OwnedFd);

/// What [`Maps::find`] fails with where the file is not the kernel's.
pub(super) const NOT_PROCFS: Errno = Errno(rustix::io::Errno::NOTTY.raw_os_error());
/// The same as /proc/self/maps, by a longer way, and also where the first thread has ended.
const THREADS: &CStr = c"/proc/thread-self/maps";

impl Maps {
    pub(super) fn open() -> Result<Maps, Errno> {
        Maps::open_at(c"/proc/self/maps").or_else(|_| Maps::open_at(THREADS))
    }

    fn open_at(path: &CStr) -> Result<Maps, Errno> {
        Ok(Maps(rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?))
    }

    /// The mapping at `address`; its file's path goes to `path`.
    pub(super) fn find(&self, address: usize, path: &mut [u8]) -> Result<Mapping, Errno> {
        let mut query = Query::new(address, path);
        // SAFETY: PROCMAP_QUERY reads and writes one `procmap_query`, and the path into the buffer it names.
        match unsafe { ioctl::ioctl(&self.0, ioctl::Updater::<PROCMAP_QUERY, Query>::new(&mut query)) } {
            Ok(()) => Some(query.mapping())
                .filter(|found| (found.start..found.end).contains(&address))
                .ok_or(rustix::io::Errno::IO.into()),
            Err(rustix::io::Errno::NOENT) => Err(rustix::io::Errno::NOMEM.into()),
            // Also where /proc/self has no memory any more and older kernels open it all the same.
            Err(_) => Maps::open_at(THREADS)?.read(address, path),
        }
    }

    /// The same from the text, line by line: `start-end rwxp offset major:minor inode   path`. Not inlined, because its
    /// buffers would be on the stack of every flip that asks the kernel: a handler's stack may be small.
    #[cold]
    #[inline(never)]
    fn read(&self, address: usize, path: &mut [u8]) -> Result<Mapping, Errno> {
        // Only the kernel's file knows the query, so that one that answered is its.
        if !is_procfs(rustix::fs::fstatfs(&self.0)) {
            return Err(NOT_PROCFS);
        }
        let mut chunk = [0_u8; 1024];
        let mut line = [0_u8; PATH_MAX + 128];
        let (mut len, mut position) = (0, 0);
        loop {
            let count = rustix::io::pread(&self.0, &mut chunk, position)?;
            if count == 0 {
                return Err(rustix::io::Errno::NOMEM.into());
            }
            position += count as u64;
            for &byte in &chunk[..count] {
                if byte != b'\n' {
                    if let Some(place) = line.get_mut(len) {
                        *place = byte;
                        len += 1;
                    }
                    continue;
                }
                if let Some(found) =
                    parse(&line[..len], path).filter(|found| (found.start..found.end).contains(&address))
                {
                    return Ok(found);
                }
                len = 0;
            }
        }
    }
}

/// `struct procmap_query` of include/uapi/linux/fs.h.
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
            // PROCMAP_QUERY_VMA_READABLE, WRITABLE, EXECUTABLE are PROT_READ, WRITE, EXEC.
            protection: MprotectFlags::from_bits_truncate(self.vma_flags as u32 & 7),
            shared: self.vma_flags & 8 != 0, // PROCMAP_QUERY_VMA_SHARED
            offset: self.vma_offset,
            inode: self.inode,
            path_len: (self.vma_name_size as usize).saturating_sub(1), // with its zero
        }
    }
}

fn parse(line: &[u8], path: &mut [u8]) -> Option<Mapping> {
    let mut words = line.splitn(6, |&byte| byte == b' ');
    let mut word = || words.next();
    let hex = |digits: &[u8]| u64::from_str_radix(core::str::from_utf8(digits).ok()?, 16).ok();

    let mut range = word()?.splitn(2, |&byte| byte == b'-');
    let (start, end) = (hex(range.next()?)? as usize, hex(range.next()?)? as usize);
    let (mut protection, mut shared) = (MprotectFlags::empty(), false);
    for letter in word()? {
        match letter {
            b'r' => protection |= MprotectFlags::READ,
            b'w' => protection |= MprotectFlags::WRITE,
            b'x' => protection |= MprotectFlags::EXEC,
            b's' => shared = true,
            _ => {}
        }
    }
    let offset = hex(word()?)?;
    let _device = word()?;
    let inode = core::str::from_utf8(word()?).ok()?.parse().ok()?;
    let name = word().unwrap_or_default().trim_ascii_start();
    let path_len = path.get_mut(..name.len()).map_or(0, |place| {
        place.copy_from_slice(name);
        name.len()
    });
    Some(Mapping { start, end, protection, shared, offset, inode, path_len })
}
