//! A run of pages that the `remap` writer moves together, and its two copies, which are private mappings of the text's file.
//!
//! While the writer works, the kernel can set or remove a uprobe on the pages (kernel/events/uprobes.c). It puts a probe into each mapping of the
//! file that can be executed and not written. It does that when the probe is set, and when the mapping is made (`valid_vma`, `uprobe_mmap`). When
//! it removes the probe, it can overlook pages that are being moved at that moment (`build_map_info`). A breakpoint that stays would kill the
//! program. So:
//!
//! * If something in the text looks like a probe, the writer makes a mapping that can be executed. If the kernel puts a probe there, the writer
//!   refuses the move. If not, the kernel may be removing the probe: the writer waits, and copies again. If the bytes stay, the writer refuses the
//!   move, because the removal can take 200 ms on a busy machine. But if a debugger is attached, the bytes are probably the debugger's, and the
//!   writer copies them.
//! * Right before the move, the writer compares the text with what it has copied. If the text has changed, the writer refuses the move. The kernel
//!   sets a probe in the text and in both copies, once they cannot be written. So the writer compares sums, not the text with a copy.

use core::ffi::{CStr, c_void};
use core::ops::Range;
use core::slice;
use core::sync::atomic::AtomicU32;

use rustix::fs::{OFlags, Timespec};
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use rustix::thread::futex;

use crate::error::Refusal;
use crate::format::{CALL_SITE, OP};
use crate::platform::linux::procfs::open;
use crate::platform::linux::write::maps::Mapping;
use crate::platform::linux::{PLATFORM, libc, pages};
use crate::platform::{Platform, instances};

type Result<T, E = Refusal> = core::result::Result<T, E>;

const INT3: u8 = 0xcc;

/// The possible first bytes of a probe: `int3`, and the call into which Linux 6.18 turns it.
const PROBES: &[u8] = if cfg!(any(target_arch = "x86_64", target_arch = "x86")) { &[INT3, 0xe8] } else { &[] };

/// Pages that the writer moves together.
#[derive(Clone, Copy)]
pub(super) struct PageRun {
    pub(super) text: usize,
    pub(super) bytes: usize,
    pub(super) protection: MprotectFlags,
    /// The copy that is edited. 0 if it was not made yet, or was moved.
    pub(super) forward: usize,
    /// The copy for the way back. 0 in the same cases.
    pub(super) backward: usize,
    /// The [`sum`] of the text when it was copied.
    pub(super) copied: u64,
}

impl PageRun {
    /// Makes both copies. The forward copy is writable. Refuses with `EBUSY` if a uprobe is on the pages, or a breakpoint that is no debugger's.
    #[inline(never)]
    pub(super) fn copy(&mut self, file: &File) -> Result<()> {
        /// The number of looks. The writer waits for half a millisecond after each.
        const LOOKS: usize = 200;
        for number in 1..=LOOKS {
            self.forward = file.map(self.bytes, ProtFlags::READ | ProtFlags::WRITE)?;
            self.backward = file.map(self.bytes, ProtFlags::READ | ProtFlags::WRITE)?;
            let seems_probed = self.copy_changes(file);
            if seems_probed {
                self.demand_no_probe(file)?;
            }
            if !seems_probed || number == LOOKS && is_traced() {
                self.copied = sum(self.bytes_at(self.backward));
                return self.protect(self.backward);
            }
            self.unmap();
            nap();
        }
        Err(rustix::io::Errno::BUSY.into())
    }

    /// Refuses with `EBUSY` if the kernel puts a uprobe into a new mapping of these pages.
    #[cold]
    #[inline(never)]
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
        // SAFETY: the copy has the same length and, except for verified sites, the same content. Threads that run there during the move fault,
        // and wait in the kernel.
        unsafe { libc::mremap_fixed(copy as *mut c_void, self.bytes, self.text as *mut c_void) }
    }

    /// Gives a copy the protection of the text.
    #[inline(never)]
    pub(super) fn protect(&self, copy: usize) -> Result<()> {
        // SAFETY: this is a copy that the writer has made.
        unsafe { pages::protect(copy, self.bytes, self.protection) }
    }

    /// Copies those bytes of the text that differ from the file to both copies. Returns whether some seem to be a probe.
    fn copy_changes(&self, file: &File) -> bool {
        /// The number of bytes that are compared at once. Pages consist of such chunks.
        const CHUNK: usize = 64;
        // The kernel puts probes only into mappings of files.
        let probes = if matches!(file, File::None) { &[] } else { PROBES };
        let mut seems_probed = false;
        for start in (0..self.bytes).step_by(CHUNK) {
            // SAFETY: the bytes lie in text that can be read, and in a copy of it.
            let [text, copy] = [self.text, self.backward]
                .map(|copy| unsafe { slice::from_raw_parts((copy + start) as *const u8, CHUNK) });
            if text != copy {
                seems_probed |= self.copy_changed(start..start + CHUNK, probes);
            }
        }
        seems_probed
    }

    /// [`copy_changes`](Self::copy_changes) for a part of the bytes. `probes` are the possible first bytes of a probe.
    #[inline(never)]
    fn copy_changed(&self, bytes: Range<usize>, probes: &[u8]) -> bool {
        let (mut seems_probed, mut was_equal) = (false, true);
        for at in bytes {
            let [text, forward, backward] = [self.text, self.forward, self.backward].map(|copy| (copy + at) as *mut u8);
            // SAFETY: the byte lies in text that can be read, and in the two copies, which only this writer uses.
            unsafe {
                let now = text.read_volatile();
                let is_equal = backward.read() == now;
                if !is_equal {
                    // A probe changes the first byte of an instruction. The byte before it is as in the file, or the last byte of a site.
                    let is_first = || was_equal || can_be_ours(text as usize - 1, NO_PROBE);
                    seems_probed |= probes.contains(&now) && !can_be_ours(text as usize, now) && is_first();
                    forward.write(now);
                    backward.write(now);
                }
                was_equal = is_equal;
            }
        }
        seems_probed
    }

    /// Returns the error `EAGAIN` if someone else has changed the text since it was copied.
    pub(super) fn demand_unchanged(&self) -> Result<()> {
        let is_same = sum(self.bytes_at(self.text)) == self.copied;
        if is_same { Ok(()) } else { Err(rustix::io::Errno::AGAIN.into()) }
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

/// A byte with which no probe begins.
const NO_PROBE: u8 = 0;

/// Whether `byte` at `address` can be the library's own: the address lies in a site, and the site can hold that byte there.
#[inline(never)]
fn can_be_ours(address: usize, byte: u8) -> bool {
    /// No site is longer. This is compared first, because few entries pass.
    const LONGEST: usize = 8;
    // A call's site is its displacement, which can begin with any byte. No operation begins with `int3`, and no other site with a probe.
    let can_begin = |kind| kind == CALL_SITE || !PROBES.contains(&byte) || kind == OP && byte != INT3;
    // SAFETY: writers work while the lock is held, which keeps all instances loaded.
    for runtime in unsafe { instances::from(PLATFORM.runtimes()) } {
        for object in runtime.objects() {
            for entry in object.table() {
                let at = address.wrapping_sub(entry.code());
                if at < LONGEST && at < entry.bytes() && (at > 0 || can_begin(entry.kind())) {
                    return true;
                }
            }
        }
    }
    false
}

/// A sum of all bytes that differs if one word differs, and almost certainly if several do. Pages consist of whole words.
#[inline(never)]
fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.as_chunks().0.iter().map(|&word| u64::from_ne_bytes(word));
    words.fold(0, |sum, word| (sum ^ word).wrapping_mul(0x100_0000_01b3)) // FNV-1a's prime.
}

/// Whether a debugger is attached to this thread, as far as this system shows it: none of another pid namespace. [`Maps`](super::Maps) has made sure
/// that /proc is the kernel's.
#[inline(never)]
fn is_traced() -> bool {
    // The lines in front of this one have some 100 bytes.
    let mut text = [0_u8; 256];
    let Ok(file) = open(c"/proc/thread-self/status", OFlags::RDONLY) else { return false };
    let _ = rustix::io::read(&file, &mut text);
    text.windows(9).any(|line| matches!(line, [line @ .., number] if line == b"cerPid:\t" && *number != b'0'))
}

/// Waits for half a millisecond.
fn nap() {
    let time = Timespec { tv_sec: 0, tv_nsec: 500_000 };
    let _ = futex::wait(&AtomicU32::new(0), futex::Flags::PRIVATE, 0, Some(&time));
}

/// A path to the program's file, even if another file has its name now: an upgrade replaces the files of running programs.
const PROGRAM: &CStr = c"/proc/thread-self/exe";

/// The file from which a run is mapped.
pub(super) enum File {
    /// There is no file, because the program made the code at run time.
    None,
    Open(rustix::fd::OwnedFd, u64),
}

impl File {
    /// The file of `mapping`. An error if another file has its path now. `path` contains the path.
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

    /// Opens the file at this path. An error if the file has another inode, or is not longer than `offset`.
    #[inline(never)]
    fn open(name: &CStr, inode: u64, offset: u64) -> Result<File> {
        let file = open(name, OFlags::RDONLY)?;
        let found = rustix::fs::fstat(&file)?;
        let is_same = found.st_ino == inode && found.st_size as u64 > offset;
        if is_same { Ok(File::Open(file, offset)) } else { Err(rustix::io::Errno::STALE.into()) }
    }

    /// Makes a private mapping of the file or, if there is no file, of zeros. All its pages are present at once. (If a writable page were read
    /// first, the first write to it would interrupt the processors that run threads of the program.)
    #[inline(never)]
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
        };
        // EAGAIN says that the program may lock no more memory, and that new mappings are locked. Of this writer, EAGAIN means that the text changed.
        let copy =
            copy.map_err(|errno| if errno == rustix::io::Errno::AGAIN { rustix::io::Errno::NOMEM } else { errno })?;
        Ok(copy as usize)
    }
}
