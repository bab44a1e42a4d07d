//! Finds the function that a jump reaches, also through a stub that the linker made.

use crate::image::Image;
use crate::image::relocations::Slot;
use crate::machine::Machine;

/// The function that a jump to `address` reaches.
pub fn function_at(image: &Image, address: u64) -> u64 {
    let behind = match image.machine {
        Machine::Riscv64 => behind_tail(image, address),
        Machine::X86_64 => behind_plt(image, address),
        _ => None,
    };
    behind.unwrap_or(address)
}

/// The target of a stub of riscv64: `auipc t1, high; jr low(t1)`.
fn behind_tail(image: &Image, address: u64) -> Option<u64> {
    let (first, second) = (read_code(image, address)?, read_code(image, address.wrapping_add(4))?);
    (first & 0xfff == 0x317 && second & 0xf_ffff == 0x3_0067).then(|| {
        let high = i64::from((first & 0xffff_f000).cast_signed());
        address.wrapping_add_signed(high + i64::from(second.cast_signed() >> 20))
    })
}

/// The target of a stub of x86-64 for a function that another object may replace: `endbr64; bnd jmp [slot]`. `endbr64` and `bnd` may be missing.
fn behind_plt(image: &Image, address: u64) -> Option<u64> {
    let mut at = address;
    for prefix in [&[0xf3, 0x0f, 0x1e, 0xfa][..], &[0xf2]] {
        at += if image.slice(at, prefix.len())? == prefix { prefix.len() as u64 } else { 0 };
    }
    if image.slice(at, 2)? != [0xff, 0x25] {
        return None;
    }
    let distance = read_code(image, at + 2)?.cast_signed();
    match image.slots().get(image, (at + 6).wrapping_add_signed(distance.into()))? {
        Slot::Here(address) => Some(address),
        Slot::Import(_) => None,
    }
}

/// Reads four bytes of code. Instructions are little endian.
fn read_code(image: &Image, address: u64) -> Option<u32> {
    image.array(address).map(u32::from_le_bytes)
}
