//! Reads the dynamic sections of loaded objects, which must be 64-bit ELF files.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ops::Range;

/// The first members of `struct dl_phdr_info`.
#[repr(C)]
struct Info {
    base: usize,
    name: *const c_char,
    headers: *const Header,
    count: u16,
}

/// A program header: `Elf64_Phdr`.
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

/// A relocation: `Elf64_Rela`.
#[repr(C)]
pub(super) struct Relocation {
    pub(super) offset: usize,
    pub(super) kind: u32,
    pub(super) symbol: u32,
    _addend: i64,
}

/// A symbol: `Elf64_Sym`.
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

/// The parts of an object's dynamic section that [`copied`](super) needs.
pub(super) struct Loaded<'a> {
    pub(super) name: &'a CStr,
    pub(super) base: usize,
    headers: &'a [Header],
    /// The address of the table of symbols; 0 if the object has none. Likewise `names` for the names of symbols, and `hash` for the GNU hash table.
    symbols: usize,
    names: usize,
    hash: usize,
    /// The relocations that name a symbol.
    pub(super) relocations: &'a [Relocation],
    /// Whether the object was linked with -Bsymbolic. If so, its references to a symbol that it defines lead to its own definition.
    pub(super) symbolic: bool,
}

impl<'a> Loaded<'a> {
    /// Reads the dynamic section of the object that `info` describes.
    ///
    /// # Safety
    /// `info` comes from a call of `dl_iterate_phdr` that still runs.
    unsafe fn of(info: &'a Info) -> Loaded<'a> {
        // SAFETY: the loader says that `info.headers` is an array of `count` headers. The object stays loaded while `dl_iterate_phdr` runs.
        let headers = unsafe { core::slice::from_raw_parts(info.headers, usize::from(info.count)) };
        // SAFETY: the loader says that `info.name` is null or a string.
        let name = if info.name.is_null() { c"" } else { unsafe { CStr::from_ptr(info.name) } };
        let mut loaded =
            Loaded { name, base: info.base, headers, symbols: 0, names: 0, hash: 0, relocations: &[], symbolic: false };
        let Some(dynamic) = headers.iter().find(|header| header.kind == 2) else { return loaded };
        let (mut rela, mut bytes, mut relative) = (0, 0, 0);
        let mut at = info.base.wrapping_add(dynamic.address) as *const [usize; 2];
        // SAFETY: the loader has mapped the dynamic section. It is an array of pairs that ends with a tag of 0, where this loop ends.
        while let [tag, value] = unsafe { at.read() }
            && tag != 0
        {
            // The base is added to the address if the loader has not done it: glibc adds it, musl does not.
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
            // SAFETY: the dynamic section says that `bytes` bytes of relocations begin at `rela`, and the loader has mapped them.
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
        // SAFETY: the callers pass numbers from a relocation or from the hash table, so the table of symbols has such an element. Its name is a
        // string among the names of symbols.
        unsafe {
            let symbol = &*(self.symbols as *const Symbol).add(number as usize);
            (symbol, CStr::from_ptr((self.names as *const c_char).add(symbol.name as usize)))
        }
    }

    /// The addresses of the variable or function that the object defines under this name; `None` if it defines none.
    pub(super) fn definition(&self, name: &CStr) -> Option<Range<usize>> {
        let hash =
            name.to_bytes().iter().fold(5381u32, |hash, &byte| hash.wrapping_mul(33).wrapping_add(u32::from(byte)));
        if self.hash == 0 || self.symbols == 0 {
            return None;
        }
        // SAFETY: the reads follow the layout of a GNU hash table, which the loader uses, too: four numbers, a filter of words, the buckets, the
        // hashes of symbols. A chain of hashes ends with one whose lowest bit is 1.
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

/// Calls `visit` with each loaded object until `visit` returns true. The order is the loader's search order for symbols: the program comes first.
pub(super) fn each(mut visit: impl FnMut(&Loaded<'_>) -> bool) {
    type Visit<'a> = &'a mut dyn FnMut(&Loaded<'_>) -> bool;
    unsafe extern "C" fn call(info: *const Info, _: usize, visit: *mut c_void) -> c_int {
        // SAFETY: the loader passes a valid `info`. `visit` is the pointer to the variable `visit` below, which only this function uses meanwhile.
        unsafe { c_int::from((*visit.cast::<Visit<'_>>())(&Loaded::of(&*info))) }
    }
    let mut visit: Visit<'_> = &mut visit;
    // SAFETY: `call` has the type that the loader expects, and uses its arguments only while it runs. The loader's lock is recursive, so a
    // constructor that runs under that lock may call this.
    unsafe { dl_iterate_phdr(call, (&raw mut visit).cast()) };
}
