//! Reads the PE headers of loaded modules: where the modules lie, and which instance of this library each of them uses. (The format:
//! learn.microsoft.com, "PE Format".)
//!
//! A module with keys or sites has the section `.jumplbl`. The section begins with 12 bytes, `jumplabel` and three zeros, and a word that leads to
//! the [`Runtime`] of the module's instance.
//!
//! A module with sites registers itself, by a constructor and a destructor that the loader calls. So the library does not ask the loader for
//! notifications of all modules (`LdrRegisterDllNotification`).

use super::kernel32::{self, PIN_BY_ADDRESS};
use super::pages::Region;
use crate::format::pe::{OBJECT_SECTION, SIGNATURE};
use crate::format::{MAGIC, Runtime, VERSION};
use crate::platform::instances::RUNTIME;
use crate::platform::{Image, Place};

const EXECUTABLE: u32 = 0x2000_0000; // IMAGE_SCN_MEM_EXECUTE

/// An entry of a module's table of sections (`IMAGE_SECTION_HEADER`).
#[repr(C)]
#[derive(Clone, Copy)]
struct Section {
    name: [u8; 8],
    bytes: u32,
    address: u32,
    in_file: [u32; 4],
    counts: u32,
    characteristics: u32,
}

/// The headers of a loaded module.
#[derive(Clone, Copy)]
struct Headers {
    base: usize,
    sections: &'static [Section],
}

impl Headers {
    /// The headers of the module at `base`. `None` if there are no valid ones.
    ///
    /// # Safety
    /// `base` is 0 or the address of a module, which stays loaded while the result is used.
    unsafe fn of(base: usize) -> Option<Headers> {
        const MZ: u16 = 0x5a4d;
        const PE: u32 = 0x4550;
        const OPTIONAL: usize = 24; // The optional header comes after the signature and the file header.
        // The region at the module's address contains its headers, on one page or more. So this reads only up to the end of that region.
        let end = Region::at(base).filter(|region| base != 0 && region.can_be_read())?.end;
        let holds = |address: usize, bytes: usize| address.checked_add(bytes).is_some_and(|last| last <= end);
        // SAFETY: the caller guarantees that a module is loaded at `base`. Each read is of bytes in the readable region at `base`, which `holds`
        // checks.
        unsafe {
            if !holds(base, 64) || (base as *const u16).read() != MZ {
                return None;
            }
            let header = base.checked_add(((base + 60) as *const u32).read() as usize)?;
            if !holds(header, OPTIONAL) || (header as *const u32).read_unaligned() != PE {
                return None;
            }
            let count = ((header + 6) as *const u16).read_unaligned().into();
            let size: usize = ((header + 20) as *const u16).read_unaligned().into();
            let table = header + OPTIONAL + size;
            let is_whole = table.is_multiple_of(align_of::<Section>()) && holds(table, count * size_of::<Section>());
            is_whole.then(|| Headers { base, sections: core::slice::from_raw_parts(table as *const Section, count) })
        }
    }

    /// The sections of the module. For each section: the addresses at which it begins and ends, and whether it is executable.
    fn segments(self) -> impl Iterator<Item = ((usize, usize), bool)> {
        self.sections.iter().map(move |section| {
            let start = self.base + section.address as usize;
            ((start, start + section.bytes as usize), section.characteristics & EXECUTABLE != 0)
        })
    }

    /// The instance of this library that the module uses. `None` if the module has no keys and no sites, or if the instance has another version.
    fn runtime(self) -> Option<&'static Runtime> {
        let section = self.sections.iter().find(|section| section.name == OBJECT_SECTION.as_bytes())?;
        let start = self.base + section.address as usize;
        if section.bytes < 16 {
            return None;
        }
        // SAFETY: the loader has mapped the section, which has at least 16 bytes. After the signature, the word there is the distance to a `Runtime`.
        // The code reads the `Runtime` only if all of it lies in a section of this module. A `Runtime` of any version begins with the magic and the
        // version.
        unsafe {
            let word = (start + SIGNATURE.len()) as *const i32;
            if (start as *const [u8; 12]).read() != *SIGNATURE {
                return None;
            }
            let at = (word as usize).checked_add_signed(word.read_unaligned() as isize)?;
            let inside = self.segments().any(|((start, end), _)| start <= at && at + size_of::<Runtime>() <= end);
            let runtime = &*(inside && at.is_multiple_of(align_of::<Runtime>())).then_some(at as *const Runtime)?;
            (runtime.magic == MAGIC && runtime.version == VERSION).then_some(runtime)
        }
    }
}

/// The position in memory of the module that contains `address`. Its words are 0 if there is no such module.
pub(super) fn place(address: usize) -> Place {
    let base = Region::at(address).map_or(0, |region| region.module);
    // SAFETY: the caller passes the address of the record of a loaded module.
    let Some(Headers { base, sections }) = (unsafe { Headers::of(base) }) else {
        return Place { words: [0; 3], in_program: false, guarded: false };
    };
    // SAFETY: with a null name, the call only returns the address of the program's module.
    let in_program = base == unsafe { kernel32::GetModuleHandleW(core::ptr::null()) } as usize;
    Place { words: [base, sections.as_ptr() as usize, sections.len()], in_program, guarded: false }
}

/// The bounds of the module whose [`Place`] has these words. `None` if the words are 0.
///
/// # Safety
/// The words are 0, or the module is still loaded.
pub(super) unsafe fn image([base, sections, count]: [usize; 3]) -> Option<Image> {
    if sections == 0 {
        return None;
    }
    // SAFETY: the caller guarantees that the module is loaded. Its headers stay mapped that long, and the words are the address and the length of its
    // table of sections.
    let sections = unsafe { core::slice::from_raw_parts(sections as *const Section, count) };
    Image::of(Headers { base, sections }.segments())
}

/// Whether `address` lies in a module that has a record.
pub(super) fn has_record(address: usize) -> bool {
    let Some(base) = Region::at(address).map(|region| region.module).filter(|&base| base != 0) else { return false };
    // SAFETY: the caller uses the key at `address`, so it keeps that module loaded during this call.
    unsafe { Headers::of(base) }
        .is_some_and(|headers| headers.sections.iter().any(|section| section.name == OBJECT_SECTION.as_bytes()))
}

/// Keeps the module of this instance loaded until the process ends. Calls the loader.
pub(super) fn keep_loaded() {
    let mut module = core::ptr::null();
    // SAFETY: the flags demand an address in a module, which that of `RUNTIME` is. The call writes only to `module`.
    unsafe { kernel32::GetModuleHandleExW(PIN_BY_ADDRESS, (&raw const RUNTIME).cast(), &raw mut module) };
}

/// Another instance in this process: that of the first module on the process's list of modules that uses another one. `None` if there is no other.
///
/// The function reads the list from the process environment block, which Microsoft documents (`PEB`, `PEB_LDR_DATA` in winternl.h).
/// `EnumProcessModules` reads the same list, but belongs to another library of the system.
///
/// # Safety
/// This thread holds the loader's lock: the loader is calling a constructor of this module.
pub(super) unsafe fn find_other() -> Option<&'static Runtime> {
    // SAFETY: Microsoft documents the layout of the list. The caller holds the loader's lock, so no module is loaded or unloaded while this function
    // reads the list.
    unsafe {
        let list = process_environment_block().loader.as_ref()?;
        let end = &raw const list.modules;
        let mut link = list.modules.next;
        while link.cast() != end && !link.is_null() {
            let other = Headers::of((*link).base).and_then(Headers::runtime);
            if other.is_some_and(|other| !core::ptr::eq(other, &raw const RUNTIME)) {
                return other;
            }
            link = (*link).next;
        }
        None
    }
}

#[repr(C)]
struct ProcessEnvironmentBlock {
    reserved: [usize; 3],
    loader: *const LoaderData,
}

/// The documented part of `PEB_LDR_DATA`.
#[repr(C)]
struct LoaderData {
    reserved: [usize; 4],
    modules: Link,
}

/// `LIST_ENTRY`, as the head of the list in `PEB_LDR_DATA`.
#[repr(C)]
struct Link {
    next: *const Module,
    previous: *const Module,
}

/// `LDR_DATA_TABLE_ENTRY` from its `InMemoryOrderLinks` on.
#[repr(C)]
struct Module {
    next: *const Module,
    previous: *const Module,
    reserved: [usize; 2],
    base: usize,
}

fn process_environment_block() -> &'static ProcessEnvironmentBlock {
    let block: *const ProcessEnvironmentBlock;
    // SAFETY: this word of the thread environment block contains the address of the process environment block, which exists as long as the process.
    unsafe {
        core::arch::asm!("mov {}, qword ptr gs:[0x60]", out(reg) block, options(nostack, preserves_flags, readonly, pure));
        &*block
    }
}
