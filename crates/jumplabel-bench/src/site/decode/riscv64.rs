//! Decodes the parts of RV64 instructions that a path needs (The RISC-V Instruction Set Manual, volume I, "RV32/64G Instruction Set Listings" and the
//! extension "C").

use super::{Flow, Instruction};

/// The instruction at an address of this program's code.
#[cfg(target_arch = "riscv64")]
pub fn decode(address: u64) -> Instruction {
    // SAFETY: the address and the four bytes before it are in this program's text. (The first of the two instructions of a call may be in those
    // bytes.)
    let half = |at: u64| u32::from(unsafe { (at as *const u16).read() });
    let word = |at: u64| if half(at) & 3 == 3 { half(at) | half(at + 2) << 16 } else { half(at) };
    of(address, word(address), half(address - 4) | half(address - 2) << 16)
}

/// Decodes `word`, an instruction at the address `at`. `before` is the word four bytes before it.
fn of(at: u64, word: u32, before: u32) -> Instruction {
    let instruction = |bytes, flow, loads| Instruction { at, bytes, flow, loads, locked: false, pads: word == 1 };
    if word & 3 != 3 {
        return instruction(2, compressed(at, word), loads_compressed(word));
    }
    let (to, from) = (word >> 7 & 31, word >> 15 & 31);
    let signed = word.cast_signed();
    let flow = match word & 0x7f {
        0x6f => {
            let offset = signed >> 31 << 20
                | (word & 0xf_f000 | (word >> 20 & 1) << 11 | (word >> 21 & 0x3ff) << 1).cast_signed();
            let target = at.wrapping_add_signed(offset.into());
            if to == 0 { Flow::Jump(target) } else { Flow::Call(target) }
        }
        0x63 => {
            let offset = signed >> 31 << 12
                | ((word >> 7 & 1) << 11 | (word >> 25 & 0x3f) << 5 | (word >> 8 & 0xf) << 1).cast_signed();
            Flow::Conditional(at.wrapping_add_signed(offset.into()))
        }
        0x67 => {
            // The target is known if an `auipc` to the same register comes before.
            let is_near = before & 0x7f == 0x17 && before >> 7 & 31 == from;
            let upper = i64::from((before & 0xffff_f000).cast_signed());
            let target = (at - 4).wrapping_add_signed(upper + i64::from(signed >> 20));
            match (to, from) {
                (0, 1 | 5) if !is_near => Flow::Return,
                (0, _) if is_near => Flow::Jump(target),
                (0, _) => Flow::Away,
                _ if is_near => Flow::Call(target),
                _ => Flow::IndirectCall,
            }
        }
        _ => Flow::Next,
    };
    // Loads of integers and floating-point numbers, `lr`, and other atomic instructions.
    let loads = matches!(word & 0x7f, 0x03 | 0x07 | 0x2f) && from != 2;
    instruction(4, flow, loads)
}

fn compressed(at: u64, word: u32) -> Flow {
    let bit = |from: u32, to: u32| ((word >> from & 1) << to).cast_signed();
    // Bit 12 is the highest bit of the number, which is its sign.
    let sign = |place: u32| -((word >> 12 & 1).cast_signed() << place);
    let to = |offset: i32| at.wrapping_add_signed(offset.into());
    let first = word >> 7 & 31;
    match (word & 3, word >> 13 & 7) {
        (1, 5) => Flow::Jump(to(sign(11)
            | bit(8, 10)
            | (word >> 9 & 3).cast_signed() << 8
            | bit(6, 7)
            | bit(7, 6)
            | bit(2, 5)
            | bit(11, 4)
            | (word >> 3 & 7).cast_signed() << 1)),
        (1, 6 | 7) => Flow::Conditional(to(sign(8)
            | (word >> 5 & 3).cast_signed() << 6
            | bit(2, 5)
            | (word >> 10 & 3).cast_signed() << 3
            | (word >> 3 & 3).cast_signed() << 1)),
        (2, 4) if word >> 2 & 31 == 0 && first != 0 => match (word >> 12 & 1, first) {
            (0, 1 | 5) => Flow::Return,
            (0, _) => Flow::Away,
            _ => Flow::IndirectCall,
        },
        _ => Flow::Next,
    }
}

/// Returns whether the instruction is `c.lw`, `c.ld` or `c.fld`. The same loads through the stack pointer do not count.
fn loads_compressed(word: u32) -> bool {
    // `c.lbu` and other loads of the extension "Zcb" count, too.
    matches!((word & 3, word >> 13 & 7), (0, 1..=3)) || word & 3 == 0 && matches!(word >> 10 & 0x3f, 0x20 | 0x21)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Instruction words from an assembler.
    #[test]
    fn instructions() {
        let rows = [
            (0x0000_0013, Flow::Next, false, 4),                // nop
            (0x0080_006f, Flow::Jump(0x1008), false, 4),        // j +8
            (0xffdf_f0ef, Flow::Call(0xffc), false, 4),         // jal ra, -4
            (0xfe05_1ee3, Flow::Conditional(0xffc), false, 4),  // bnez a0, -4
            (0x0005_0463, Flow::Conditional(0x1008), false, 4), // beqz a0, +8
            (0x0000_8067, Flow::Return, false, 4),              // ret
            (0x0005_00e7, Flow::IndirectCall, false, 4),        // jalr ra, 0(a0)
            (0x0005_0067, Flow::Away, false, 4),                // jr a0
            (0x0005_0503, Flow::Next, true, 4),                 // lb a0, 0(a0)
            (0x0081_3503, Flow::Next, false, 4),                // ld a0, 8(sp)
            (0x00a5_0023, Flow::Next, false, 4),                // sb a0, 0(a0)
            (0x0001, Flow::Next, false, 2),                     // c.nop
            (0x8082, Flow::Return, false, 2),                   // ret
            (0x6108, Flow::Next, true, 2),                      // c.ld a0, 0(a0)
            (0x60a2, Flow::Next, false, 2),                     // c.ldsp ra, 8(sp)
            (0xa001, Flow::Jump(0x1000), false, 2),             // c.j +0
            (0xbffd, Flow::Jump(0xffe), false, 2),              // c.j -2
            (0xfd7d, Flow::Conditional(0xffe), false, 2),       // c.bnez a0, -2
            (0xc111, Flow::Conditional(0x1004), false, 2),      // c.beqz a0, +4
            (0x9502, Flow::IndirectCall, false, 2),             // c.jalr a0
        ];
        for (word, flow, loads, bytes) in rows {
            let found = of(0x1000, word, 0x0000_0013);
            assert_eq!((found.flow, found.loads, found.bytes), (flow, loads, bytes), "{word:#x}");
            assert_eq!(found.pads, word == 0x0001, "{word:#x}");
        }
        // `auipc ra, 1`, `jalr -6(ra)`; `auipc t0, 0`, `jr 4(t0)`.
        assert_eq!(of(0x1004, 0xffa0_80e7, 0x0000_1097).flow, Flow::Call(0x1ffa));
        assert_eq!(of(0x1004, 0x0042_8067, 0x0000_0297).flow, Flow::Jump(0x1004));
    }
}
