//! A sketch of Windows, to see that the contract is not Linux's alone. `make lint` compiles it for x86_64-pc-windows-gnu. Nobody has
//! run it: there are no sites on that system yet, and the platform there is `portable`. Comments below say what is missing.
//!
//! | contract | here |
//! |---|---|
//! | lock | a word with the owner's thread; instances of the library would share it by a named section |
//! | memory, pages | `VirtualAlloc`, `GetSystemInfo` |
//! | writer | `VirtualProtect` there and back around plain stores, `FlushInstructionCache` |
//! | core sync | `FlushProcessWriteBuffers` interrupts all processors that run the process; that they serialise is not promised |
//! | bounds of objects | the headers of the module that the record is in |

#![allow(dead_code)] // Nobody takes it for a platform.

use core::ffi::c_void;
use core::ops::Range;
use core::ptr::{NonNull, null, null_mut};
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;

use super::{
    Body, Extent, Failure, Held, Image, Place, Platform, Summary, Token, Warnings, Write, WriteReport, Writer,
    WriterKind, WriterList,
};
use crate::error::{Error, Refusal};

#[link(name = "kernel32")]
unsafe extern "system" {
    safe fn GetCurrentThreadId() -> u32;
    safe fn GetCurrentProcess() -> *mut c_void;
    safe fn GetLastError() -> u32;
    safe fn FlushProcessWriteBuffers();
    safe fn SwitchToThread() -> i32;
    safe fn GetTickCount64() -> u64;
    fn GetSystemInfo(info: *mut SystemInfo);
    fn VirtualAlloc(address: *mut c_void, bytes: usize, kind: u32, protection: u32) -> *mut c_void;
    fn VirtualFree(address: *mut c_void, bytes: usize, kind: u32) -> i32;
    fn VirtualProtect(address: *mut c_void, bytes: usize, protection: u32, old: *mut u32) -> i32;
    fn FlushInstructionCache(process: *mut c_void, address: *const c_void, bytes: usize) -> i32;
    fn GetModuleHandleExW(flags: u32, address: *const c_void, module: *mut *mut c_void) -> i32;
    fn GetModuleHandleW(name: *const u16) -> *mut c_void;
}

#[repr(C)]
struct SystemInfo {
    architecture: u32,
    page_size: u32,
    rest: [usize; 6],
    more: [u32; 2],
}

const COMMIT_RESERVE: u32 = 0x3000;
const RELEASE: u32 = 0x8000;
const READ_WRITE: u32 = 4;
const EXECUTE_READ_WRITE: u32 = 0x40;
const FROM_ADDRESS_UNCHANGED: u32 = 6;

struct Windows {
    owner: AtomicU32,
}

static PLATFORM: Windows = Windows { owner: AtomicU32::new(0) };

/// What the last call met.
fn errno() -> Refusal {
    Refusal::errno(GetLastError() as i32)
}

/// Changes the protection of an extent; what it was.
fn protect(extent: &Extent, protection: u32) -> Result<u32, Refusal> {
    let mut old = 0;
    // SAFETY: pages of text, executable before and after.
    let done =
        unsafe { VirtualProtect(extent.first as *mut c_void, extent.end - extent.first, protection, &raw mut old) };
    if done != 0 { Ok(old) } else { Err(errno()) }
}

// SAFETY: the owner word excludes; what is opened is closed; none of the calls runs code of the program's.
unsafe impl Platform for Windows {
    fn lock(&self) -> Result<Token, Error> {
        let me = GetCurrentThreadId();
        while let Err(owner) = self.owner.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed) {
            if owner == me {
                return Err(Error::Reentrant);
            }
            SwitchToThread();
        }
        Ok([0; 2])
    }

    unsafe fn unlock(&self, _: Token) {
        self.owner.store(0, Ordering::Release);
    }

    fn allocate(&self, bytes: usize) -> Option<NonNull<u8>> {
        // SAFETY: new memory, wherever there is room.
        NonNull::new(unsafe { VirtualAlloc(null_mut(), bytes, COMMIT_RESERVE, READ_WRITE) }.cast())
    }

    unsafe fn release(&self, memory: NonNull<u8>, _: usize) {
        // SAFETY: from `allocate`, by the contract.
        unsafe { VirtualFree(memory.as_ptr().cast(), 0, RELEASE) };
    }

    fn page_size(&self) -> usize {
        let mut info = SystemInfo { architecture: 0, page_size: 0, rest: [0; 6], more: [0; 2] };
        // SAFETY: as large as the system's.
        unsafe { GetSystemInfo(&raw mut info) };
        info.page_size as usize
    }

    fn now(&self) -> Duration {
        Duration::from_millis(GetTickCount64())
    }

    fn writers(&self, _: &Summary, _: &mut Held) -> WriterList {
        WriterList::of(&[WriterKind::Custom])
    }

    unsafe fn open(
        &self,
        _: WriterKind,
        extents: &[Extent],
        _: &mut Held,
        body: &mut Body<'_>,
    ) -> Result<WriteReport, Failure> {
        // A list of the protections that there were, as `mprotect` of Linux has it, is missing: text is taken for r-x.
        const EXECUTE_READ: u32 = 0x20;
        let opened = extents.iter().position(|extent| protect(extent, EXECUTE_READ_WRITE).is_err());
        let (open, refused) =
            (extents.get(..opened.unwrap_or(extents.len())).unwrap_or_default(), opened.map(|_| errno()));
        let result = refused.map_or_else(|| body(&mut Stores), |errno| Err(Failure::Refused(errno)));
        let closed = open.iter().map(|extent| protect(extent, EXECUTE_READ)).filter(Result::is_err).count() == 0;
        result.map(|()| WriteReport { warnings: Warnings { left_writable: !closed }, ..WriteReport::default() })
    }

    fn core_sync(&self, _: &mut Held) -> Result<(), Refusal> {
        FlushProcessWriteBuffers();
        Ok(())
    }

    fn place(&self, record: usize) -> Place {
        let mut module = null_mut();
        // SAFETY: asks which module an address is in; nobody is made to stay.
        unsafe { GetModuleHandleExW(FROM_ADDRESS_UNCHANGED, record as *const c_void, &raw mut module) };
        // SAFETY: asks for the program.
        let in_program = module == unsafe { GetModuleHandleW(null()) };
        Place { words: [module as usize, 0, 0], in_program, guarded: false }
    }

    unsafe fn image(&self, [base, ..]: [usize; 3]) -> Option<Image> {
        // SAFETY: headers of a module that is loaded.
        let word = |at: usize| unsafe { ((base + at) as *const u32).read_unaligned() };
        if base == 0 {
            return None;
        }
        let header = word(0x3c) as usize;
        let (sections, optional) = (word(header + 6) as usize & 0xffff, word(header + 20) as usize & 0xffff);
        let segment = |number: usize| {
            let section = header + 24 + optional + number * 40;
            let start = base + word(section + 12) as usize;
            ((start, start + word(section + 8) as usize), word(section + 36) & 0x2000_0000 != 0)
        };
        Image::of((0..sections).map(segment))
    }

    fn unload(&self, _: &Range<usize>, _: &mut Held) {}
}

/// Stores to pages that are open.
struct Stores;

impl Writer for Stores {
    unsafe fn write(&mut self, writes: &[Write]) -> Result<(), (usize, Refusal)> {
        for write in writes {
            // SAFETY: on pages that are open.
            unsafe {
                write.store();
                FlushInstructionCache(GetCurrentProcess(), write.address as *const c_void, write.bytes().len());
            }
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Refusal> {
        FlushProcessWriteBuffers();
        Ok(())
    }
}
