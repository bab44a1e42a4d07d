//! Decodes the parts of AArch64 instructions that a path needs (Arm ARM C4.1, "A64 instruction set encoding").

use super::{Flow, Instruction};

/// The instruction at an address of this program's code.
#[cfg(target_arch = "aarch64")]
pub fn decode(address: u64) -> Instruction {
    // SAFETY: the address is in code of this program.
    of(address, unsafe { (address as *const u32).read() })
}

/// Decodes `word`, an instruction at the address `at`.
fn of(at: u64, word: u32) -> Instruction {
    // The target of a jump. Its offset is a signed number of words, in `bits` bits from bit `first` on.
    let target = |first: u32, bits: u32| {
        let words = ((word >> first) << (32 - bits)).cast_signed() >> (32 - bits);
        at.wrapping_add_signed(i64::from(words) * 4)
    };
    let flow = match word {
        _ if word >> 26 == 0b00_0101 => Flow::Jump(target(0, 26)),
        _ if word >> 26 == 0b10_0101 => Flow::Call(target(0, 26)),
        // `b.cond`; `cbz`, `cbnz`; `tbz`, `tbnz`.
        _ if word & 0xff00_0000 == 0x5400_0000 || word & 0x7e00_0000 == 0x3400_0000 => Flow::Conditional(target(5, 19)),
        _ if word & 0x7e00_0000 == 0x3600_0000 => Flow::Conditional(target(5, 14)),
        _ if word & 0xffff_fc1f == 0xd65f_0000 => Flow::Return,
        _ if word & 0xffff_fc1f == 0xd63f_0000 => Flow::IndirectCall,
        _ if word & 0xffff_fc1f == 0xd61f_0000 => Flow::Away,
        _ => Flow::Next,
    };
    Instruction { at, bytes: 4, flow, loads: is_load(word), locked: false, pads: false }
}

/// Returns whether the instruction reads memory through a register other than the stack pointer.
fn is_load(word: u32) -> bool {
    let is_memory = word & 0x0a00_0000 == 0x0800_0000;
    let is_literal = word & 0x3b00_0000 == 0x1800_0000;
    // Loads of one register: `opc` 00 is a store, other values are loads. Pairs, exclusive and ordered accesses: bit 22 is set in loads.
    let is_one = word & 0x3800_0000 == 0x3800_0000;
    let reads = if is_one { word >> 22 & 3 != 0 } else { word >> 22 & 1 == 1 };
    let is_of_stack = word >> 5 & 31 == 31;
    is_memory && (is_literal || reads && !is_of_stack)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Instruction words from an assembler.
    #[test]
    fn instructions() {
        let rows = [
            (0xd503_201f, Flow::Next, false),                // nop
            (0x1400_0003, Flow::Jump(0x100c), false),        // b +12
            (0x17ff_ffff, Flow::Jump(0xffc), false),         // b -4
            (0x9400_0002, Flow::Call(0x1008), false),        // bl +8
            (0x54ff_ffe1, Flow::Conditional(0xffc), false),  // b.ne -4
            (0x3500_0048, Flow::Conditional(0x1008), false), // cbnz w8, +8
            (0x3707_fff0, Flow::Conditional(0xffc), false),  // tbnz w16, #0, -4
            (0xd65f_03c0, Flow::Return, false),              // ret
            (0xd63f_0100, Flow::IndirectCall, false),        // blr x8
            (0xd61f_0100, Flow::Away, false),                // br x8
            (0x3940_0108, Flow::Next, true),                 // ldrb w8, [x8]
            (0x3900_0108, Flow::Next, false),                // strb w8, [x8]
            (0x08df_fd08, Flow::Next, true),                 // ldarb w8, [x8]
            (0xf940_07e8, Flow::Next, false),                // ldr x8, [sp, #8]
            (0xa940_2508, Flow::Next, true),                 // ldp x8, x9, [x8]
            (0x5800_0048, Flow::Next, true),                 // ldr x8, +8
            (0x9b08_7d08, Flow::Next, false),                // mul x8, x8, x8
            (0x9100_0508, Flow::Next, false),                // add x8, x8, #1
        ];
        for (word, flow, loads) in rows {
            let found = of(0x1000, word);
            assert_eq!((found.flow, found.loads, found.next()), (flow, loads, 0x1004), "{word:#x}");
        }
    }
}
