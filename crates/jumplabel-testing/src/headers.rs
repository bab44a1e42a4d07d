//! Changes the program headers of an ELF file (64-bit, little-endian) as some linkers, and BOLT 22, do.

const PT_NULL: u32 = 0;
const PT_LOAD: u32 = 1;
const PT_GNU_STACK: u32 = 0x6474_e551;
const EXECUTABLE: u32 = 1;

/// Removes PT_GNU_STACK, as `-z nognustack` does.
///
/// # Panics
/// If the file has no such header. [`code_for_stack`] panics then, too.
pub fn without_stack(file: &mut [u8]) {
    let stack = places(file).find(|&place| kind(file, place) == PT_GNU_STACK).expect("PT_GNU_STACK");
    put(file, stack, PT_NULL.into(), 4);
}

/// Replaces PT_GNU_STACK by a second segment of code, as `llvm-bolt --use-gnu-stack` does. The second segment has the bytes of the first one, at
/// addresses after all other segments.
pub fn code_for_stack(file: &mut [u8]) {
    const FAR: u64 = 2 << 20;
    let loaded = || places(file).filter(|&place| kind(file, place) == PT_LOAD);
    let end = loaded().map(|place| word(file, place + 16, 8) + word(file, place + 40, 8)).max().expect("PT_LOAD");
    let code = loaded().find(|&place| word(file, place + 4, 4) as u32 & EXECUTABLE != 0).expect("code");
    let code = file[code..code + 56].to_vec();
    let stack = places(file).find(|&place| kind(file, place) == PT_GNU_STACK).expect("PT_GNU_STACK");
    file[stack..stack + 56].copy_from_slice(&code);
    let offset = word(file, stack + 8, 8);
    let address = end.next_multiple_of(FAR) + offset % FAR;
    put(file, stack + 16, address, 8);
    put(file, stack + 24, address, 8);
}

fn places(file: &[u8]) -> impl Iterator<Item = usize> + use<> {
    let [start, bytes, count] = [(32, 8), (54, 2), (56, 2)].map(|(at, bytes)| word(file, at, bytes) as usize);
    (0..count).map(move |number| start + number * bytes)
}

fn kind(file: &[u8], place: usize) -> u32 {
    word(file, place, 4) as u32
}

fn word(file: &[u8], at: usize, bytes: usize) -> u64 {
    let mut word = [0; 8];
    word[..bytes].copy_from_slice(&file[at..at + bytes]);
    u64::from_le_bytes(word)
}

fn put(file: &mut [u8], at: usize, value: u64, bytes: usize) {
    file[at..at + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
}
