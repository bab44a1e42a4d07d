//! The built-in platform of a build without the platforms `linux` and `windows`. It has a lock and memory, and writes no code. That is enough for
//! builds without sites, where a flip is a store. In a build with sites, this platform refuses flips with [`Error::NoPlatform`] until a kernel calls
//! `set_platform`.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;

use super::{Body, Extent, Failure, Held, Platform, Summary, Token, WriteReport, WriterKind, WriterList};
use crate::error::Error;

pub(super) struct Portable {
    owner: AtomicUsize,
}

pub(super) static PLATFORM: Portable = Portable { owner: AtomicUsize::new(FREE) };

const FREE: usize = 0;

/// A number that only the calling thread has. Without std, all threads have the same number, so the lock cannot recognise a thread that already holds
/// the lock.
#[cfg(feature = "std")]
fn thread() -> usize {
    std::thread_local! { static HERE: u8 = const { 0 }; }
    HERE.with(|here| core::ptr::from_ref(here) as usize)
}
#[cfg(not(feature = "std"))]
const fn thread() -> usize {
    1
}

/// The time since the first call of this function.
#[cfg(all(feature = "std", not(all(target_family = "wasm", target_os = "unknown"))))]
fn now() -> Duration {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed()
}
/// Always 0, because there is no clock.
#[cfg(not(all(feature = "std", not(all(target_family = "wasm", target_os = "unknown")))))]
const fn now() -> Duration {
    Duration::ZERO
}

/// The layout of `bytes` bytes from the program's allocator. This platform may use that allocator, because a program with std that uses this platform
/// has no sites, so its allocator has none either. The page size of this platform is 1, so a list passes the same number of bytes to `allocate` and
/// `release`.
#[cfg(feature = "std")]
const fn layout(bytes: usize) -> std::alloc::Layout {
    // SAFETY: the alignment is a power of two, and the library never asks for a size near the largest allowed one.
    unsafe { std::alloc::Layout::from_size_align_unchecked(bytes, 64) }
}
#[cfg(feature = "std")]
fn allocate(bytes: usize) -> Option<NonNull<u8>> {
    // SAFETY: `bytes` is not 0, because the library never asks for memory of no bytes.
    NonNull::new(unsafe { std::alloc::alloc_zeroed(layout(bytes)) })
}
#[cfg(feature = "std")]
unsafe fn release(memory: NonNull<u8>, bytes: usize) {
    // SAFETY: the caller frees memory from `allocate`, with the same size.
    unsafe { std::alloc::dealloc(memory.as_ptr(), layout(bytes)) };
}
/// The memory of a build without std and without sites: static blocks. One block is for the list of requests of a transaction, and is never freed.
/// Sixteen smaller blocks are for lists of notices, one for each flip whose functions are being called. `allocate` recognises these two sorts of
/// lists by the number of bytes that they ask for. (No other list asks for that many bytes at once, because a list that grows first asks for room for
/// one entry.) `allocate` refuses all other requests.
#[cfg(not(any(feature = "std", jumplabel_sites)))]
mod block {
    use core::cell::UnsafeCell;
    use core::ptr::NonNull;
    use core::sync::atomic::{AtomicBool, Ordering};

    #[repr(align(64))]
    struct Block(UnsafeCell<[u8; BYTES]>);
    /// 32 requests of six words.
    const BYTES: usize = 32 * 6 * size_of::<usize>();
    // SAFETY: `allocate` gives the block away only once, so only one caller uses it.
    unsafe impl Sync for Block {}
    static BLOCK: Block = Block(UnsafeCell::new([0; BYTES]));
    static IS_GIVEN: AtomicBool = AtomicBool::new(false);

    /// 32 notices of two words.
    const CHANGES: usize = 32 * 2 * size_of::<usize>();
    #[repr(align(64))]
    struct Changes(UnsafeCell<[u8; CHANGES]>, AtomicBool);
    // SAFETY: the flag gives the block to one caller of `allocate` at a time. `release` clears the flag.
    unsafe impl Sync for Changes {}
    static TOLD: [Changes; 16] = [const { Changes(UnsafeCell::new([0; CHANGES]), AtomicBool::new(false)) }; 16];

    pub(super) fn allocate(bytes: usize) -> Option<NonNull<u8>> {
        if bytes == CHANGES {
            let free = TOLD.iter().find(|Changes(_, is_given)| !is_given.swap(true, Ordering::Acquire));
            return free.and_then(|Changes(block, _)| NonNull::new(block.get().cast()));
        }
        let fits = bytes == BYTES && !IS_GIVEN.swap(true, Ordering::Relaxed);
        NonNull::new(BLOCK.0.get().cast()).filter(|_| fits)
    }

    pub(super) unsafe fn release(memory: NonNull<u8>, _bytes: usize) {
        let is_it = |Changes(block, _): &&Changes| core::ptr::eq(block.get().cast(), memory.as_ptr());
        if let Some(Changes(_, is_given)) = TOLD.iter().find(is_it) {
            is_given.store(false, Ordering::Release);
        }
    }
}
#[cfg(not(any(feature = "std", jumplabel_sites)))]
use block::{allocate, release};
/// Always `None`. No flip gets as far as asking for memory, because `lock` refuses it.
#[cfg(all(not(feature = "std"), jumplabel_sites))]
const fn allocate(_bytes: usize) -> Option<NonNull<u8>> {
    None
}
#[cfg(all(not(feature = "std"), jumplabel_sites))]
const unsafe fn release(_memory: NonNull<u8>, _bytes: usize) {}

// SAFETY: only one thread at a time holds the lock, because the lock is taken by a compare-and-swap of `owner`. `open` opens no page.
unsafe impl Platform for Portable {
    fn lock(&self) -> Result<Token, Error> {
        if cfg!(jumplabel_sites) {
            return Err(Error::NoPlatform);
        }
        let me = thread();
        #[cfg(feature = "std")]
        let mut rounds = 0;
        while let Err(owner) = self.owner.compare_exchange_weak(FREE, me, Ordering::Acquire, Ordering::Relaxed) {
            if cfg!(feature = "std") && owner == me {
                return Err(Error::Reentrant);
            }
            // A waiting thread first yields, and sleeps after some rounds. A thread with a real-time priority yields only to threads of its own
            // priority, and the owner of the lock may have a lower one. In WebAssembly without a system the thread never sleeps, because the main
            // thread of a browser must not sleep.
            #[cfg(feature = "std")]
            if rounds < 16 || cfg!(all(target_family = "wasm", target_os = "unknown")) {
                rounds += 1;
                std::thread::yield_now();
            } else {
                std::thread::sleep(Duration::from_micros(50));
            }
            core::hint::spin_loop();
        }
        Ok([0; 2])
    }

    unsafe fn unlock(&self, _token: Token) {
        self.owner.store(FREE, Ordering::Release);
    }

    fn allocate(&self, bytes: usize) -> Option<NonNull<u8>> {
        allocate(bytes)
    }

    unsafe fn release(&self, memory: NonNull<u8>, bytes: usize) {
        // SAFETY: the caller frees memory from `allocate`, with the same size.
        unsafe { release(memory, bytes) };
    }

    fn page_size(&self) -> usize {
        1
    }

    fn writers(&self, _summary: &Summary, _held: &mut Held) -> WriterList {
        WriterList::default()
    }

    unsafe fn open(
        &self,
        _kind: WriterKind,
        _extents: &[Extent],
        _held: &mut Held,
        _body: &mut Body<'_>,
    ) -> Result<WriteReport, Failure> {
        Ok(WriteReport::default())
    }

    fn now(&self) -> Duration {
        now()
    }

    fn thread(&self) -> usize {
        if cfg!(feature = "std") { thread() } else { 0 }
    }
}
