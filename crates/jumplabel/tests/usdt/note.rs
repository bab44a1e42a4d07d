//! The notes of this program's file, and the memory to which they lead.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use jumplabel_testing::scenario::emulator;
use object::read::elf::{ElfFile64, FileHeader as _};
use object::{Endianness, Object as _, ObjectSection as _, ObjectSegment as _, elf};

/// The facts of an instruction set: its number in a file, the nop of a note, and the text before and after the offset in a place.
#[cfg(target_arch = "x86_64")]
const HERE: (u16, [u8; 5], [&str; 2]) = (elf::EM_X86_64, [0x0f, 0x1f, 0x44, 0, 0], ["", "(%rax)"]);
#[cfg(target_arch = "aarch64")]
const HERE: (u16, [u8; 4], [&str; 2]) = (elf::EM_AARCH64, [0x1f, 0x20, 0x03, 0xd5], ["[x0, ", "]"]);
#[cfg(target_arch = "riscv64")]
const HERE: (u16, [u8; 2], [&str; 2]) = (elf::EM_RISCV, [1, 0], ["", "(a0)"]);

pub const NOP: [u8; HERE.1.len()] = HERE.1;
pub const PLACE: [&str; 2] = HERE.2;

/// One note. Addresses are those of the process; `offset` and `semaphore_offset` are places in the file.
#[derive(Debug)]
pub struct Note {
    pub provider: String,
    pub name: String,
    pub arguments: String,
    pub address: usize,
    pub base: u64,
    pub semaphore: usize,
    pub offset: u64,
    pub semaphore_offset: u64,
    /// The size of the note with its head, in bytes.
    pub bytes: usize,
    probes: std::ops::Range<u64>,
    in_file: u64,
}

impl Note {
    /// All of them.
    pub fn all() -> Vec<Note> {
        let data = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let file = ElfFile64::<Endianness>::parse(&*data).unwrap();
        assert_eq!(file.elf_header().e_machine(Endianness::Little), HERE.0);
        let section = |name| file.section_by_name(name).unwrap_or_else(|| panic!("no {name}"));
        let (notes, probes) = (section(".note.stapsdt"), section(".probes"));
        let base_section = section(".stapsdt.base").address();
        let probes = probes.address()..probes.address() + probes.size();
        let offset = |address: u64| {
            let segment = file.segments().find(|one| (one.address()..one.address() + one.size()).contains(&address));
            let segment = segment.unwrap_or_else(|| panic!("{address:#x} is not loaded"));
            segment.file_range().0 + (address - segment.address())
        };
        let first = file.segments().next().unwrap().address();
        let bias = bias(first);
        let (mut bytes, mut found) = (notes.data().unwrap(), Vec::new());
        while !bytes.is_empty() {
            let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
            assert_eq!((word(0), word(8), &bytes[12..20]), (8, 3, &b"stapsdt\0"[..]));
            let text = &bytes[20..20 + word(4)];
            let number = |at: usize| u64::from_le_bytes(text[at..at + 8].try_into().unwrap());
            let mut texts = text[24..].split(|&byte| byte == 0).map(|text| String::from_utf8(text.to_vec()).unwrap());
            let (address, base, semaphore) = (number(0), number(8), number(16));
            assert_eq!(base, base_section);
            let mut next = || texts.next().unwrap();
            found.push(Note {
                provider: next(),
                name: next(),
                arguments: next(),
                address: address as usize + bias,
                base,
                semaphore: semaphore as usize + bias,
                offset: offset(address),
                semaphore_offset: offset(semaphore),
                bytes: 20 + word(4).next_multiple_of(4),
                probes: probes.clone(),
                in_file: semaphore,
            });
            bytes = &bytes[20 + word(4).next_multiple_of(4)..];
        }
        found
    }

    pub fn of(provider: &str, name: &str) -> Note {
        Note::all().into_iter().find(|note| note.is(provider, name)).expect("there is such a note")
    }

    pub fn is(&self, provider: &str, name: &str) -> bool {
        self.provider == provider && self.name == name
    }

    /// The bytes at the note's address.
    pub fn nop(&self) -> [u8; NOP.len()] {
        read(self.address)
    }

    pub fn semaphore_is_in_probes(&self) -> bool {
        self.probes.contains(&self.in_file)
    }
}

/// The distance of the program from the addresses in its file, whose first segment has that address.
fn bias(segment: u64) -> usize {
    let path: PathBuf = std::env::current_exe().unwrap();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let first = maps.lines().find(|line| line.ends_with(path.to_str().unwrap())).unwrap();
    usize::from_str_radix(first.split('-').next().unwrap(), 16).unwrap() - (segment as usize & !4095)
}

pub fn read<const N: usize>(address: usize) -> [u8; N] {
    // SAFETY: callers pass addresses of this program.
    unsafe { (address as *const [u8; N]).read_volatile() }
}

/// Writes as a debugger or a tool does. An emulator notices only what the program writes by itself.
pub fn write(address: usize, bytes: &[u8]) {
    if emulator().is_none() {
        let memory = OpenOptions::new().write(true).open("/proc/self/mem").unwrap();
        return memory.write_all_at(bytes, address as u64).unwrap();
    }
    for (number, &byte) in bytes.iter().enumerate() {
        let (address, all) = (address + number, libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC);
        // SAFETY: callers pass addresses of this program.
        unsafe {
            assert_eq!(libc::mprotect((address & !4095) as *mut _, 4096, all), 0);
            (address as *mut u8).write_volatile(byte);
        }
    }
}
