//! Loaded objects: what their dynamic sections say. ELF of 64 bits.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ops::Range;

/// `struct dl_phdr_info`, its beginning.
#[repr(C)]
struct Info {
    base: usize,
    name: *const c_char,
    headers: *const Header,
    count: u16,
}

/// `Elf64_Phdr`.
#[repr(C)]
struct Header {
    kind: u32,
    flags: u32,
    _offset: u64,
    address: usize,
    _physical: usize,
    _bytes: u64,
    memory: usize,
    _align: u64,
}

/// `Elf64_Rela`.
#[repr(C)]
pub(super) struct Relocation {
    pub(super) offset: usize,
    pub(super) kind: u32,
    pub(super) symbol: u32,
    _addend: i64,
}

/// `Elf64_Sym`.
#[repr(C)]
pub(super) struct Symbol {
    name: u32,
    _info: u8,
    _other: u8,
    section: u16,
    value: usize,
    pub(super) size: usize,
}

unsafe extern "C" {
    fn dl_iterate_phdr(
        visit: unsafe extern "C" fn(*const Info, usize, *mut c_void) -> c_int,
        data: *mut c_void,
    ) -> c_int;
}

/// What the dynamic section of an object says.
pub(super) struct Loaded<'a> {
    pub(super) name: &'a CStr,
    pub(super) base: usize,
    headers: &'a [Header],
    /// The tables of symbols and their names, and that by which a symbol is found. 0: there is none.
    symbols: usize,
    names: usize,
    hash: usize,
    /// Those that have a symbol.
    pub(super) relocations: &'a [Relocation],
    /// Its references to what it defines stay in it.
    pub(super) symbolic: bool,
}

impl<'a> Loaded<'a> {
    /// # Safety
    /// From `dl_iterate_phdr`, during the call.
    unsafe fn of(info: &'a Info) -> Loaded<'a> {
        // SAFETY: the loader's.
        let headers = unsafe { core::slice::from_raw_parts(info.headers, usize::from(info.count)) };
        // SAFETY: the loader gives a string, or null.
        let name = if info.name.is_null() { c"" } else { unsafe { CStr::from_ptr(info.name) } };
        let mut loaded =
            Loaded { name, base: info.base, headers, symbols: 0, names: 0, hash: 0, relocations: &[], symbolic: false };
        let Some(dynamic) = headers.iter().find(|header| header.kind == 2) else { return loaded };
        let (mut rela, mut bytes, mut relative) = (0, 0, 0);
        let mut at = info.base.wrapping_add(dynamic.address) as *const [usize; 2];
        // SAFETY: the section ends with 0.
        while let [tag, value] = unsafe { at.read() }
            && tag != 0
        {
            // glibc has added the base, musl has not.
            let address = if value < info.base { value.wrapping_add(info.base) } else { value };
            match tag {
                5 => loaded.names = address,
                6 => loaded.symbols = address,
                7 => rela = address,
                8 => bytes = value,
                16 => loaded.symbolic = true,
                30 => loaded.symbolic |= value & 2 != 0,
                0x6fff_fef5 => loaded.hash = address,
                0x6fff_fff9 => relative = value,
                _ => {}
            }
            at = at.wrapping_add(1);
        }
        let count = bytes / size_of::<Relocation>();
        if rela != 0 && relative < count {
            // SAFETY: the section says so.
            let all = unsafe { core::slice::from_raw_parts(rela as *const Relocation, count) };
            loaded.relocations = &all[relative..];
        }
        loaded
    }

    pub(super) fn holds(&self, address: usize, bytes: usize) -> bool {
        let holds = |header: &Header| {
            let start = self.base.wrapping_add(header.address);
            header.kind == 1
                && header.flags & 4 != 0
                && start <= address
                && address.saturating_add(bytes) <= start.saturating_add(header.memory)
        };
        self.headers.iter().any(holds)
    }

    pub(super) fn symbol(&self, number: u32) -> (&'a Symbol, &'a CStr) {
        // SAFETY: relocations and the hash table have numbers of symbols.
        unsafe {
            let symbol = &*(self.symbols as *const Symbol).add(number as usize);
            (symbol, CStr::from_ptr((self.names as *const c_char).add(symbol.name as usize)))
        }
    }

    /// Where the object has what it defines by this name.
    pub(super) fn definition(&self, name: &CStr) -> Option<Range<usize>> {
        let hash =
            name.to_bytes().iter().fold(5381u32, |hash, &byte| hash.wrapping_mul(33).wrapping_add(u32::from(byte)));
        if self.hash == 0 || self.symbols == 0 {
            return None;
        }
        // SAFETY: the loader has found symbols by it: four numbers, a filter of words, the buckets, the hashes of symbols.
        unsafe {
            let words = self.hash as *const u32;
            let [buckets, first, filter] = [0, 1, 2].map(|number| words.add(number).read());
            let bucket = words.add(4 + 2 * filter as usize);
            let chain = bucket.add(buckets as usize);
            let mut number = bucket.add((hash % buckets.max(1)) as usize).read();
            while number >= first {
                let found = chain.add((number - first) as usize).read();
                let (symbol, called) = self.symbol(number);
                if found | 1 == hash | 1 && called == name && symbol.section != 0 {
                    let start = self.base.wrapping_add(symbol.value);
                    return Some(start..start.saturating_add(symbol.size));
                }
                if found & 1 != 0 {
                    break;
                }
                number += 1;
            }
        }
        None
    }
}

/// Calls `visit` with the objects in the order in which the loader looks for symbols, the program first, as long as it returns false.
pub(super) fn each(mut visit: impl FnMut(&Loaded<'_>) -> bool) {
    type Visit<'a> = &'a mut dyn FnMut(&Loaded<'_>) -> bool;
    unsafe extern "C" fn call(info: *const Info, _: usize, visit: *mut c_void) -> c_int {
        // SAFETY: the loader's argument, and that of the call below.
        unsafe { c_int::from((*visit.cast::<Visit<'_>>())(&Loaded::of(&*info))) }
    }
    let mut visit: Visit<'_> = &mut visit;
    // SAFETY: the callback keeps to its arguments. The loader's lock is recursive: a constructor may have it.
    unsafe { dl_iterate_phdr(call, (&raw mut visit).cast()) };
}
