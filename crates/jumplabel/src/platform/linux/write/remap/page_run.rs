//! A run of adjacent pages that the `remap` writer moves together, and the two copies of the run, which are private mappings of the text's file.
//!
//! While the writer works, someone can set or remove a uprobe on the pages (kernel/events/uprobes.c). The kernel puts the breakpoint of a uprobe into
//! each mapping of the file that can be executed and not written. It does so when the probe is set, and when such a mapping is made (`valid_vma`,
//! `uprobe_mmap`). When the kernel removes the probe, it can overlook pages that are being moved at that moment (`build_map_info`). A breakpoint that
//! it overlooked would kill the program. To avoid that, the writer takes two precautions:
//!
//! * If bytes of the text look like a probe, the writer maps the same pages of the file executable. If the kernel puts a probe into that mapping, the
//!   writer refuses the move. If not, the kernel may be removing the probe, so the writer waits and copies again, for 100 ms at most. If the bytes
//!   are still there, the writer refuses the move, because the removal can take 200 ms on a busy machine. There is one exception: if a debugger is
//!   attached, the bytes are probably the debugger's breakpoint, and the writer copies them.
//! * Right before the move, the writer checks that the text is still as it was copied. If not, the writer refuses the move. The writer compares
//!   checksums for that, and not the text with a copy, because the kernel also sets a new probe in the copies, once they are executable and not
//!   writable.

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

/// The bytes with which a probe can begin: `int3`, and the opcode of the call by which Linux 6.18 replaces an `int3`.
const PROBES: &[u8] = if cfg!(any(target_arch = "x86_64", target_arch = "x86")) { &[INT3, 0xe8] } else { &[] };

/// A run, and the state of its copies.
#[derive(Clone, Copy)]
pub(super) struct PageRun {
    pub(super) text: usize,
    pub(super) bytes: usize,
    pub(super) protection: MprotectFlags,
    /// The address of the copy that the writer edits. 0 if the copy was not made yet, or was moved over the text.
    pub(super) forward: usize,
    /// The address of the copy for the way back. 0 in the same two cases.
    pub(super) backward: usize,
    /// The [`sum`] of the text when it was copied.
    pub(super) copied: u64,
}

impl PageRun {
    /// Makes both copies. The forward copy is writable. Returns the error `EBUSY` if the pages have a uprobe, or if no debugger is attached and bytes
    /// that look like a probe stay for 100 ms.
    #[inline(never)]
    pub(super) fn copy(&mut self, file: &File) -> Result<()> {
        /// The number of times that the writer looks for a probe. It waits for half a millisecond after each time.
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

    /// Returns the error `EBUSY` if the pages have a uprobe: the kernel puts the probe into an executable mapping of these pages, but not into a
    /// writable one, so two new mappings differ.
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

    /// Moves the copy at `copy` over the text of the run.
    pub(super) fn move_over(&self, copy: usize) -> Result<()> {
        // SAFETY: the copy has the same length and, except at verified sites, the same content. A thread that runs this text during the move faults,
        // and waits in the kernel for the end of the move.
        unsafe { libc::mremap_fixed(copy as *mut c_void, self.bytes, self.text as *mut c_void) }
    }

    /// Gives the copy at `copy` the protection of the text.
    #[inline(never)]
    pub(super) fn protect(&self, copy: usize) -> Result<()> {
        // SAFETY: this is a copy that the writer has made, and that no other code uses.
        unsafe { pages::protect(copy, self.bytes, self.protection) }
    }

    /// Copies the bytes of the text that differ from the file to both copies. Returns true if some of these bytes look like a probe.
    fn copy_changes(&self, file: &File) -> bool {
        /// The number of bytes that are compared at a time. The size of a page is a multiple of this number.
        const CHUNK: usize = 64;
        // The kernel puts uprobes only into mappings of files.
        let probes = if matches!(file, File::None) { &[] } else { PROBES };
        let mut seems_probed = false;
        for start in (0..self.bytes).step_by(CHUNK) {
            // SAFETY: the bytes lie in the run, whose text and copy have `self.bytes` bytes that can be read.
            let [text, copy] = [self.text, self.backward]
                .map(|copy| unsafe { slice::from_raw_parts((copy + start) as *const u8, CHUNK) });
            if text != copy {
                seems_probed |= self.copy_changed(start..start + CHUNK, probes);
            }
        }
        seems_probed
    }

    /// Does the work of [`copy_changes`](Self::copy_changes) for the bytes with these numbers. `probes` are the possible first bytes of a probe.
    #[inline(never)]
    fn copy_changed(&self, bytes: Range<usize>, probes: &[u8]) -> bool {
        let (mut seems_probed, mut was_equal) = (false, true);
        for at in bytes {
            let [text, forward, backward] = [self.text, self.forward, self.backward].map(|copy| (copy + at) as *mut u8);
            // SAFETY: the byte lies in the run: in text that can be read, and in two writable copies that only this writer uses.
            unsafe {
                let now = text.read_volatile();
                let is_equal = backward.read() == now;
                if !is_equal {
                    // A probe changes the first byte of an instruction. So the byte before a probe is as in the file, unless it belongs to a site.
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

    /// Returns the error `EAGAIN` if the text was changed after it was copied.
    pub(super) fn demand_unchanged(&self) -> Result<()> {
        let is_same = sum(self.bytes_at(self.text)) == self.copied;
        if is_same { Ok(()) } else { Err(rustix::io::Errno::AGAIN.into()) }
    }

    /// The bytes of the run at `start`, which is the address of the text or of a copy.
    fn bytes_at(&self, start: usize) -> &[u8] {
        // SAFETY: the caller passes the address of the text or of a copy. All of these have `self.bytes` bytes, and can be read.
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
                // SAFETY: this copy was made by the writer and was not moved, because its address is not 0. No other code uses it.
                let _ = unsafe { munmap(copy as *mut c_void, self.bytes) };
            }
        }
    }
}

/// A byte with which no probe begins.
const NO_PROBE: u8 = 0;

/// Whether the library itself can have written `byte` to `address`: the address lies in a site that can contain this byte there.
#[inline(never)]
fn can_be_ours(address: usize, byte: u8) -> bool {
    /// The number of bytes of the longest site, or more. This is compared first, because few entries are as close to the address.
    const LONGEST: usize = 8;
    // The site of a call is the call's displacement, so it can begin with any byte. The site of an operation can begin with any byte except `int3`.
    // No other site begins with a byte of `PROBES`.
    let can_begin = |kind| kind == CALL_SITE || !PROBES.contains(&byte) || kind == OP && byte != INT3;
    // SAFETY: a writer works only while its thread holds the lock, which keeps all instances on the list loaded.
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

/// A checksum of `bytes`, whose length is a multiple of eight. Texts that differ in exactly one word of eight bytes always have different checksums.
/// Texts that differ in several words almost certainly do, too.
#[inline(never)]
fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.as_chunks().0.iter().map(|&word| u64::from_ne_bytes(word));
    words.fold(0, |sum, word| (sum ^ word).wrapping_mul(0x100_0000_01b3)) // FNV-1a's prime.
}

/// Whether a debugger is attached to this thread. Also false if the debugger is not visible in this process's pid namespace. [`Maps`](super::Maps)
/// has already made sure that /proc is the kernel's.
#[inline(never)]
fn is_traced() -> bool {
    // The line `TracerPid:` comes after some 100 bytes.
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

/// A path to the program's file. It leads to that file even if an upgrade has given the file's name to another file since the program was started.
const PROGRAM: &CStr = c"/proc/thread-self/exe";

/// The file from which a run is mapped.
pub(super) enum File {
    /// The run has no file, because the program made the code at run time.
    None,
    Open(rustix::fd::OwnedFd, u64),
}

impl File {
    /// The file of `mapping`, from the offset that belongs to the address `start` on. `path` contains the path of the file. Returns an error if
    /// another file has this path now, unless the file is the program's.
    pub(super) fn of(mapping: &Mapping, start: usize, path: &mut [u8]) -> Result<File> {
        if mapping.inode == 0 {
            return Ok(File::None);
        }
        let end = path.get_mut(mapping.path_len).ok_or(rustix::io::Errno::NAMETOOLONG)?;
        *end = 0;
        // SAFETY: the line above has put a zero into the buffer.
        let name = unsafe { CStr::from_ptr(path.as_ptr().cast()) };
        let offset = mapping.offset + (start - mapping.start) as u64;
        File::open(name, mapping.inode, offset).or_else(|_| File::open(PROGRAM, mapping.inode, offset))
    }

    /// Opens the file at the path `name`. Returns an error if that file has another inode number, or is not longer than `offset`.
    #[inline(never)]
    fn open(name: &CStr, inode: u64, offset: u64) -> Result<File> {
        let file = open(name, OFlags::RDONLY)?;
        let found = rustix::fs::fstat(&file)?;
        let is_same = found.st_ino == inode && found.st_size as u64 > offset;
        if is_same { Ok(File::Open(file, offset)) } else { Err(rustix::io::Errno::STALE.into()) }
    }

    /// Makes a private mapping of the file or, if there is no file, of zeros. The kernel makes all pages of a file's mapping present now. (Otherwise
    /// the first write to a page that was read before would interrupt the processors that run threads of the program.)
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
        // The kernel answers EAGAIN if new mappings are to be locked in memory and the program may lock no more. This becomes ENOMEM, because EAGAIN
        // from this writer means that the text has changed.
        let copy =
            copy.map_err(|errno| if errno == rustix::io::Errno::AGAIN { rustix::io::Errno::NOMEM } else { errno })?;
        Ok(copy as usize)
    }
}
