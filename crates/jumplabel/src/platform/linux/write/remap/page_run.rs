//! A run of pages that the `remap` writer moves together, and its two copies, which are private mappings of the text's file.
//!
//! Meanwhile the kernel can set or remove a uprobe there (kernel/events/uprobes.c). It puts a probe into each mapping of the file that can
//! be executed and not written: when the probe is set, and when the mapping is made (`valid_vma`, `uprobe_mmap`). When it removes the probe,
//! it can overlook pages that are just being moved (`build_map_info`). A breakpoint that stays would kill the program. So:
//!
//! * If something in the text looks like a probe, the writer makes a mapping that can be executed. If the kernel puts a probe there, the move
//!   is refused. If not, the kernel is possibly just removing it: the writer waits, and copies again. What stays is somebody else's, such as
//!   a breakpoint, and is copied.
//! * Right before the move, the text is compared with what was copied. A difference is copied, too: a probe that was set meanwhile.

use core::ffi::{CStr, c_void};
use core::slice;
use core::sync::atomic::AtomicU32;

use rustix::fs::{OFlags, Timespec};
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use rustix::thread::futex;

use crate::error::Refusal;
use crate::platform::linux::procfs::open;
use crate::platform::linux::write::maps::Mapping;
use crate::platform::linux::{libc, pages};

type Result<T, E = Refusal> = core::result::Result<T, E>;

/// What the first byte of a probe can be: `int3`, and the call that Linux 6.18 makes of it.
const PROBES: &[u8] = if cfg!(any(target_arch = "x86_64", target_arch = "x86")) { &[0xcc, 0xe8] } else { &[] };

/// Whether a run holds a probe.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Probe {
    No,
    Possibly,
    Probably,
}

/// Bytes that are compared at once. Pages consist of them.
type Chunk = [u8; 64];

/// Pages that are moved together.
#[derive(Clone, Copy)]
pub(super) struct PageRun {
    pub(super) text: usize,
    pub(super) bytes: usize,
    pub(super) protection: MprotectFlags,
    /// The copy that is edited. 0 if there is none, or once it was moved; the same holds for the other.
    pub(super) forward: usize,
    /// The copy for the way back.
    pub(super) backward: usize,
}

impl PageRun {
    /// Makes both copies. The forward one can be written. Refuses with `EBUSY` if a uprobe is set on the pages.
    pub(super) fn copy(&mut self, file: &File) -> Result<()> {
        /// How often the writer waits for a probe to go, half a millisecond each time.
        const TRIES: usize = 20;
        for number in 1.. {
            self.forward = file.map(self.bytes, ProtFlags::READ | ProtFlags::WRITE)?;
            self.backward = file.map(self.bytes, ProtFlags::READ | ProtFlags::WRITE)?;
            let found = self.follow();
            if found != Probe::No {
                self.demand_no_probe(file)?;
            }
            if found != Probe::Probably || number == TRIES {
                break;
            }
            self.unmap();
            nap();
        }
        self.protect(self.backward)
    }

    /// Refuses with `EBUSY` if the kernel puts a uprobe into a new mapping of these pages.
    #[cold]
    fn demand_no_probe(&self, file: &File) -> Result<()> {
        let mut copies = PageRun { forward: 0, backward: 0, ..*self };
        copies.forward = file.map(self.bytes, ProtFlags::READ | ProtFlags::EXEC)?;
        let plain = file.map(self.bytes, ProtFlags::READ | ProtFlags::WRITE);
        copies.backward = plain.unwrap_or_default();
        let has_none = plain.map(|plain| self.bytes_at(copies.forward) == self.bytes_at(plain));
        copies.unmap();
        if has_none? { Ok(()) } else { Err(rustix::io::Errno::BUSY.into()) }
    }

    /// Moves a copy over the text.
    pub(super) fn move_over(&self, copy: usize) -> Result<()> {
        // SAFETY: the copy has the same length and, but for verified sites, the same content. Threads that run there meanwhile fault, and wait
        // in the kernel.
        unsafe { libc::mremap_fixed(copy as *mut c_void, self.bytes, self.text as *mut c_void) }
    }

    /// Gives a copy the protection of the text.
    pub(super) fn protect(&self, copy: usize) -> Result<()> {
        // SAFETY: this is a copy that the writer has made.
        unsafe { pages::protect(copy, self.bytes, self.protection) }
    }

    /// Copies those bytes of the text that have changed since the last call or, at the first call, that are not the file's. The copies can
    /// be written.
    fn follow(&self) -> Probe {
        let mut found = Probe::No;
        for start in (0..self.bytes).step_by(size_of::<Chunk>()) {
            let [text, forward, backward] =
                [self.text, self.forward, self.backward].map(|copy| (copy + start) as *mut Chunk);
            // SAFETY: the bytes lie in text that can be read, and in the two copies, which nobody else uses.
            let (now, before) = unsafe { (text.read_volatile(), backward.read()) };
            if now == before {
                continue;
            }
            let mut was_equal = true;
            for (at, (now, before)) in now.iter().zip(before).enumerate() {
                if *now != before {
                    if PROBES.contains(now) {
                        // Inside an instruction of ours, the byte before this one has mostly changed, too.
                        found = found.max(if was_equal { Probe::Probably } else { Probe::Possibly });
                    }
                    // SAFETY: a byte of each copy, see above.
                    unsafe {
                        forward.cast::<u8>().add(at).write(*now);
                        backward.cast::<u8>().add(at).write(*now);
                    }
                }
                was_equal = *now == before;
            }
        }
        found
    }

    /// Copies what somebody else has changed in the text meanwhile. Refuses with `EAGAIN` if the text goes on changing.
    pub(super) fn catch_up(&self) -> Result<()> {
        const TRIES: usize = 16;
        for _ in 0..TRIES {
            if self.bytes_at(self.text) == self.bytes_at(self.backward) {
                return Ok(());
            }
            for copy in [self.forward, self.backward] {
                // SAFETY: this is a copy that the writer has made. No thread runs it.
                unsafe { pages::protect(copy, self.bytes, MprotectFlags::READ | MprotectFlags::WRITE) }?;
            }
            self.follow();
            self.protect(self.forward)?;
            self.protect(self.backward)?;
        }
        Err(rustix::io::Errno::AGAIN.into())
    }

    /// The bytes of the text, or of a copy.
    fn bytes_at(&self, start: usize) -> &[u8] {
        // SAFETY: the text can be read, and so can the copies, which have the same length.
        unsafe { slice::from_raw_parts(start as *const u8, self.bytes) }
    }

    /// Whether all of the run's text is still mapped.
    pub(super) fn is_mapped(&self) -> bool {
        pages::look_for_holes(self.text, self.bytes).is_ok()
    }

    #[inline(never)]
    pub(super) fn unmap(&mut self) {
        for copy in [core::mem::take(&mut self.forward), core::mem::take(&mut self.backward)] {
            if copy != 0 {
                // SAFETY: this is a copy that the writer has made, and it was not moved.
                let _ = unsafe { munmap(copy as *mut c_void, self.bytes) };
            }
        }
    }
}

/// Waits for half a millisecond.
fn nap() {
    let time = Timespec { tv_sec: 0, tv_nsec: 500_000 };
    let _ = futex::wait(&AtomicU32::new(0), futex::Flags::PRIVATE, 0, Some(&time));
}

/// The program's file, even if another file has its name by now: an upgrade replaces the files of running programs.
const PROGRAM: &CStr = c"/proc/thread-self/exe";

/// The file of which a run is a copy.
pub(super) enum File {
    /// There is no file: the program has made the code at run time.
    None,
    Open(rustix::fd::OwnedFd, u64),
}

impl File {
    /// The file of `mapping`, if it is still the same one. `path` has its path.
    pub(super) fn of(mapping: &Mapping, start: usize, path: &mut [u8]) -> Result<File> {
        if mapping.inode == 0 {
            return Ok(File::None);
        }
        let end = path.get_mut(mapping.path_len).ok_or(rustix::io::Errno::NAMETOOLONG)?;
        *end = 0;
        // SAFETY: the buffer has a zero.
        let name = unsafe { CStr::from_ptr(path.as_ptr().cast()) };
        let offset = mapping.offset + (start - mapping.start) as u64;
        File::open(name, mapping.inode, offset).or_else(|_| File::open(PROGRAM, mapping.inode, offset))
    }

    /// Opens the file, if it has this inode and is longer than `offset`.
    #[inline(never)]
    fn open(name: &CStr, inode: u64, offset: u64) -> Result<File> {
        let file = open(name, OFlags::RDONLY)?;
        let found = rustix::fs::fstat(&file)?;
        let is_same = found.st_ino == inode && found.st_size as u64 > offset;
        if is_same { Ok(File::Open(file, offset)) } else { Err(rustix::io::Errno::STALE.into()) }
    }

    /// A private mapping of the file or, if there is no file, of zeros. Its pages are there at once. (If a page that can be written is read
    /// first, the first write to it interrupts the processors that run threads of the program.)
    fn map(&self, bytes: usize, protection: ProtFlags) -> Result<usize> {
        let anywhere = core::ptr::null_mut();
        // SAFETY: the call makes a new private mapping.
        let copy = unsafe {
            match self {
                File::None => mmap_anonymous(anywhere, bytes, protection, MapFlags::PRIVATE),
                File::Open(file, offset) => {
                    mmap(anywhere, bytes, protection, MapFlags::PRIVATE | MapFlags::POPULATE, file, *offset)
                }
            }
        }?;
        Ok(copy as usize)
    }
}
