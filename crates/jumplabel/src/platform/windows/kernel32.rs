//! The functions and types of kernel32 that this platform uses. Windows has had all of them since Windows 7. The library declares them itself,
//! because programs without std use this platform, too.

use core::ffi::c_void;

/// `MEMORY_BASIC_INFORMATION` of a 64-bit process, which describes a row of pages with the same attributes.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct MemoryInformation {
    pub(super) base: usize,
    /// The address at which the allocation that contains the pages begins. For pages of a module, this is the address of the module.
    pub(super) allocation_base: usize,
    pub(super) allocation_protection: u32,
    pub(super) partition: u16,
    pub(super) bytes: usize,
    pub(super) state: u32,
    pub(super) protection: u32,
    pub(super) kind: u32,
}

pub(super) const MEM_COMMIT: u32 = 0x1000;
pub(super) const MEM_RESERVE: u32 = 0x2000;
pub(super) const MEM_RELEASE: u32 = 0x8000;
pub(super) const MEM_IMAGE: u32 = 0x0100_0000;

pub(super) const PAGE_READONLY: u32 = 0x02;
pub(super) const PAGE_READWRITE: u32 = 0x04;
pub(super) const PAGE_WRITECOPY: u32 = 0x08;
pub(super) const PAGE_EXECUTE: u32 = 0x10;
pub(super) const PAGE_EXECUTE_READ: u32 = 0x20;
pub(super) const PAGE_EXECUTE_READWRITE: u32 = 0x40;
pub(super) const PAGE_EXECUTE_WRITECOPY: u32 = 0x80;
pub(super) const PAGE_GUARD: u32 = 0x100;
/// A flag that is added to an executable protection. It makes Control Flow Guard keep its list of legal targets of indirect calls. Without this flag,
/// every address on the page becomes a legal target.
pub(super) const PAGE_TARGETS_NO_UPDATE: u32 = 0x4000_0000;

pub(super) const ERROR_NOT_ENOUGH_MEMORY: u32 = 8;
pub(super) const ERROR_INVALID_PARAMETER: u32 = 87;
pub(super) const ERROR_INVALID_ADDRESS: u32 = 487;

pub(super) const SYNCHRONIZE: u32 = 0x0010_0000;
pub(super) const THREAD_QUERY_LIMITED_INFORMATION: u32 = 0x0800;
pub(super) const WAIT_OBJECT_0: u32 = 0;

/// The flags of `GetModuleHandleEx` that name a module by an address in it, and keep the module loaded until the process ends.
pub(super) const PIN_BY_ADDRESS: u32 = 0x4 | 0x1;

/// `SYSTEM_INFO`. This platform uses only the size of a page.
#[repr(C)]
pub(super) struct SystemInfo {
    pub(super) architecture: u32,
    pub(super) page_size: u32,
    pub(super) rest: [usize; 5],
}

/// The type of an `SRWLOCK` and of a `CONDITION_VARIABLE`. Zero is the first state of both.
pub(super) type Word = *mut c_void;

#[link(name = "kernel32")]
unsafe extern "system" {
    pub(super) fn VirtualAlloc(address: *mut c_void, bytes: usize, kind: u32, protection: u32) -> *mut c_void;
    pub(super) fn VirtualFree(address: *mut c_void, bytes: usize, kind: u32) -> i32;
    pub(super) fn VirtualProtect(address: *mut c_void, bytes: usize, protection: u32, old: *mut u32) -> i32;
    pub(super) fn VirtualQuery(address: *const c_void, information: *mut MemoryInformation, bytes: usize) -> usize;
    pub(super) fn FlushInstructionCache(process: isize, address: *const c_void, bytes: usize) -> i32;
    pub(super) safe fn FlushProcessWriteBuffers();
    pub(super) safe fn GetCurrentProcess() -> isize;
    pub(super) safe fn GetCurrentProcessId() -> u32;
    pub(super) safe fn GetCurrentThreadId() -> u32;
    pub(super) safe fn GetLastError() -> u32;
    pub(super) fn GetSystemInfo(information: *mut SystemInfo);
    pub(super) fn QueryPerformanceCounter(count: *mut i64) -> i32;
    pub(super) fn QueryPerformanceFrequency(frequency: *mut i64) -> i32;
    pub(super) fn AcquireSRWLockExclusive(lock: *mut Word);
    pub(super) fn ReleaseSRWLockExclusive(lock: *mut Word);
    pub(super) fn SleepConditionVariableSRW(
        condition: *mut Word,
        lock: *mut Word,
        milliseconds: u32,
        flags: u32,
    ) -> i32;
    pub(super) fn WakeConditionVariable(condition: *mut Word);
    pub(super) safe fn OpenThread(access: u32, inherit: i32, thread: u32) -> isize;
    pub(super) fn GetProcessIdOfThread(thread: isize) -> u32;
    pub(super) fn WaitForSingleObject(handle: isize, milliseconds: u32) -> u32;
    pub(super) fn CloseHandle(handle: isize) -> i32;
    pub(super) fn GetModuleHandleW(name: *const u16) -> *const c_void;
    pub(super) fn GetModuleHandleExW(flags: u32, address: *const c_void, module: *mut *const c_void) -> i32;
    pub(super) fn GetEnvironmentVariableA(name: *const u8, value: *mut u8, bytes: u32) -> u32;
}
