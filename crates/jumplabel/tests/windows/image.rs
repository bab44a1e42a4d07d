//! Tests the file of this program: the contents of its sections, and the work that its loader has to do.

use jumplabel::format::Object;
use jumplabel::{
    OrLoadKey, RawKey, StaticKey, for_each_site, static_branch_likely, static_branch_unlikely, static_key,
};

/// A section: its name, address and bytes.
struct Section<'file> {
    name: &'file [u8],
    address: u32,
    bytes: &'file [u8],
}

fn word(file: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(file[at..at + 4].try_into().unwrap())
}

fn half(file: &[u8], at: usize) -> usize {
    u16::from_le_bytes(file[at..at + 2].try_into().unwrap()).into()
}

fn sections(file: &[u8]) -> Vec<Section<'_>> {
    let header = word(file, 60) as usize;
    assert_eq!(&file[header..header + 4], b"PE\0\0");
    let table = header + 24 + half(file, header + 20);
    let rows = (0..half(file, header + 6)).map(|number| table + 40 * number);
    let section = |at: usize| {
        let (virtual_bytes, in_file, start) = (word(file, at + 8), word(file, at + 16), word(file, at + 20) as usize);
        Section {
            name: file[at..at + 8].split(|byte| *byte == 0).next().unwrap(),
            address: word(file, at + 12),
            bytes: &file[start..start + virtual_bytes.min(in_file) as usize],
        }
    };
    rows.map(section).collect()
}

fn find<'all, 'file>(all: &'all [Section<'file>], name: &str) -> &'all Section<'file> {
    all.iter().find(|section| section.name == name.as_bytes()).expect(name)
}

/// The addresses that the loader has to relocate (PE format, "The .reloc Section").
fn relocations(section: &Section<'_>) -> Vec<u32> {
    let (mut found, mut at) = (Vec::new(), 0);
    while at + 8 <= section.bytes.len() {
        let (page, size) = (word(section.bytes, at), word(section.bytes, at + 4) as usize);
        let entries = (at + 8..at + size).step_by(2).map(|entry| half(section.bytes, entry));
        found.extend(entries.filter(|entry| entry >> 12 != 0).map(|entry| page + (entry & 0xfff) as u32));
        at += size;
    }
    found
}

static_key! { static KEY: false; static ON: true; static LOADS: false, or_load; }

#[inline(never)]
fn checks() -> [bool; 4] {
    [
        static_branch_unlikely!(KEY),
        static_branch_likely!(KEY),
        static_branch_unlikely!(ON),
        static_branch_unlikely!(LOADS),
    ]
}

/// The distance of an address from the beginning of the program's module. PE files call it a relative virtual address.
pub fn address_in_file(address: usize) -> u32 {
    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn GetModuleHandleW(name: *const u16) -> usize;
    }
    // SAFETY: asks for the program's own module.
    (address - unsafe { GetModuleHandleW(std::ptr::null()) }) as u32
}

/// Neither tables and records nor sites need relocations: with more sites, the loader has no more to do.
#[test]
fn no_relocation_for_a_site() {
    let file = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let sections = sections(&file);
    let relocations = relocations(find(&sections, ".reloc"));
    assert!(relocations.len() > 100, "{}", relocations.len());
    for name in [".rsrc_jt", ".vectors", ".jumplbl"] {
        let section = find(&sections, name);
        assert!(!section.bytes.is_empty(), "{name}");
        let range = section.address..section.address + section.bytes.len() as u32;
        assert_eq!(relocations.iter().filter(|address| range.contains(address)).count(), 0, "{name}");
    }
    // The control: pointers to functions are relocated, and found.
    static POINTER: &[fn() -> [bool; 4]] = &[checks];
    let pointer = address_in_file(POINTER.as_ptr() as usize);
    assert!(relocations.contains(&pointer));

    let mut sites = 0;
    for key in [&KEY as &RawKey, &ON, &LOADS] {
        let visit = |site: jumplabel::Site| {
            let here = address_in_file(site.address);
            assert!(!relocations.iter().any(|address| (here - 8..here + 8).contains(address)), "{site}");
            sites += 1;
        };
        for_each_site(key, visit).unwrap();
    }
    assert_eq!(sites, 4);
    assert!(!checks()[0]);
}

/// A check is one nop of five bytes, or one jump, without a prefix; and 16 bytes of table. The sites are in the order in which `checks` has them.
#[test]
fn what_a_check_is() {
    let mut sites = Vec::new();
    for key in [&KEY as &RawKey, &LOADS] {
        for_each_site(key, |site| sites.push((site.address, site.bytes))).unwrap();
    }
    let firsts = sites.iter().map(|(_, bytes)| bytes.as_ref()[0]).collect::<Vec<_>>();
    assert_eq!((sites[0].1.as_ref(), &firsts[..]), (&[0x0f, 0x1f, 0x44, 0, 0][..], &[0x0f, 0xe9, 0xe9][..]));
    assert!(sites.iter().all(|(_, bytes)| bytes.as_ref().len() == 5));
    let object = object();
    for (address, _) in sites {
        let entry = object.table().iter().find(|entry| entry.code() == address).unwrap();
        let words = std::ptr::from_ref(entry).cast::<[u32; 4]>();
        assert_eq!(size_of_val(entry), 16);
        // SAFETY: an entry is four words.
        assert_eq!(unsafe { (*words)[3] } & jumplabel::format::PREFIXED, 0);
    }
}

/// The object record of this program.
pub fn object() -> &'static Object {
    unsafe extern "C" {
        static __jumplabel_object: std::cell::UnsafeCell<Object>;
    }
    // SAFETY: the library has the record, and changes it only by atomics.
    unsafe { &*__jumplabel_object.get() }
}

static DROPPED: StaticKey<false> = StaticKey::new();
static UNUSED: OrLoadKey<false> = StaticKey::new();

// Only the table refers to this function: GNU ld drops it, lld does not.
std::arch::global_asm!(
    ".pushsection .text$dropped,\"xr\"",
    "2: .byte 0x0f, 0x1f, 0x44, 0, 0",
    "3: ret",
    ".pushsection .rsrc_jt$m,\"dr\"",
    ".balign 4",
    ".long 2b - ., 3b - ., {dropped} - ., 0x80000000",
    ".long 2b - ., 3b - ., {unused} - ., 0x80000000",
    ".popsection",
    ".popsection",
    dropped = sym DROPPED,
    unused = sym UNUSED,
);

/// The number of sites that the function has in the linked file.
const KEPT: usize = if cfg!(any(target_abi = "llvm", target_env = "msvc")) { 1 } else { 0 };

/// GNU ld drops the code, and keeps its entries: they belong to no key, and disturb no flip. lld keeps both.
#[test]
fn code_that_the_linker_dropped() {
    let file = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let table = find(&sections(&file), ".rsrc_jt").bytes.to_vec();
    let dropped = table.chunks_exact(16).filter(|entry| word(entry, 12) == 0x8000_0000).collect::<Vec<_>>();
    assert_eq!(dropped.len(), 2);
    let is_kept = |entry: &[u8]| word(entry, 0) != 0 && word(entry, 4) != 0;
    let is_zero = |entry: &[u8]| word(entry, 0) == 0 && word(entry, 4) == 0;
    assert!(dropped.iter().all(|entry| if KEPT == 1 { is_kept(entry) } else { is_zero(entry) }), "{dropped:x?}");
    let outcome = DROPPED.enable().unwrap();
    assert_eq!((outcome.sites, for_each_site(&DROPPED, |_| ())), (KEPT, Ok(KEPT)));
    assert!(DROPPED.is_enabled());
    jumplabel::verify().unwrap();
}

static_key! { static LEFT: false; static RIGHT: false; }

#[inline(never)]
fn left() -> u32 {
    if static_branch_unlikely!(LEFT) { 3 } else { 4 }
}

#[inline(never)]
fn right() -> u32 {
    if static_branch_unlikely!(RIGHT) { 3 } else { 4 }
}

/// Functions that differ only in their keys. In optimised builds for MSVC, lld-link merges functions with the same code.
#[test]
fn functions_that_look_alike() {
    for (key, expected) in [(&LEFT, (3, 4)), (&RIGHT, (4, 3))] {
        key.enable().unwrap();
        assert_eq!((left(), right()), expected);
        key.disable().unwrap();
        assert_eq!((left(), right()), (4, 4));
    }
    assert_ne!(left as *const (), right as *const ());
}
