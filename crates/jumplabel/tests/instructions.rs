//! Instructions that may be an operation in place on x86-64: lengths, displacements and unfit instructions, compared with another decoder.

#[path = "instructions/words.rs"]
mod words;

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, Register,
};
use jumplabel_format::arch::x86::X86;
use jumplabel_format::{Alternative, Fault, Op};
use proptest::prelude::*;

type X64 = X86<64>;

/// Ten million cases found nothing.
const CASES: u32 = 20_000;

fn decoded(bytes: &[u8]) -> Instruction {
    Decoder::with_ip(64, bytes, 0x40_0000, DecoderOptions::NONE).decode()
}

fn uses_stack(instruction: &Instruction) -> bool {
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info(instruction);
    let is_stack = |register: Register| register.full_register() == Register::RSP;
    info.used_registers().iter().any(|used| used.access() != OpAccess::None && is_stack(used.register()))
        || info.used_memory().iter().any(|used| is_stack(used.base()))
        || is_stack(instruction.memory_base())
}

/// Compares the library's answer with the one that follows from the other decoder.
fn agrees(bytes: &[u8]) -> Result<(), TestCaseError> {
    let instruction = decoded(bytes);
    let len = instruction.len();
    if instruction.is_invalid() || len < 5 {
        return Ok(());
    }
    let bytes = &bytes[..len];
    let verdict = X64::examine(bytes);
    let jumps = instruction.flow_control() != FlowControl::Next && instruction.flow_control() != FlowControl::Interrupt;
    if jumps || uses_stack(&instruction) {
        prop_assert!(verdict.is_err(), "{bytes:02x?} {instruction} is taken");
    }
    if verdict.is_ok() {
        // With a byte more or less, it is not one instruction.
        prop_assert_eq!(X64::examine(&[bytes, &[0x90]].concat()), Err(Fault::Length));
        prop_assert!(X64::examine(&bytes[..len - 1]).is_err());
        let to = 0x12_3456_789a;
        let moved = X64::moved(bytes, 0x40_0000, to);
        let mut whole = bytes.to_vec();
        whole[..5].copy_from_slice(&moved);
        if instruction.is_ip_rel_memory_operand() {
            let mut decoder = Decoder::with_ip(64, bytes, 0x40_0000, DecoderOptions::NONE);
            let one = decoder.decode();
            let place = decoder.get_constant_offsets(&one);
            // Only the first five bytes change. The bytes of the displacement after them stay as they are in the site.
            let at = place.displacement_offset();
            let distance = i32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
            let new = distance.wrapping_sub((to - 0x40_0000) as i32).to_le_bytes();
            for number in 0..4 {
                if at + number < 5 {
                    prop_assert_eq!(whole[at + number], new[number], "{:02x?}", bytes);
                }
            }
        } else {
            prop_assert_eq!(&whole, bytes);
        }
    }
    Ok(())
}

/// An instruction of an alternative means the same in its new place, and a nop follows it.
fn keeps_its_meaning(bytes: &[u8]) -> Result<(), TestCaseError> {
    const TO: usize = 0x41_2345;
    let old = decoded(bytes);
    if old.is_invalid() || old.len() > 7 {
        return Ok(());
    }
    let sequence = [&bytes[..old.len()], &[0x90]].concat();
    // If the instruction is refused, it does no harm.
    let code = X64::placed(&sequence[..sequence.len().min(7)], 0x40_0000, TO, 7);
    let Some(code) = code else { return Ok(()) };
    let mut decoder = Decoder::with_ip(64, &code, TO as u64, DecoderOptions::NONE);
    let new = decoder.decode();
    prop_assert_eq!((new.code(), new.len()), (old.code(), old.len()), "{:02x?} {} {}", bytes, old, new);
    if old.is_ip_rel_memory_operand() {
        prop_assert_eq!(new.ip_rel_memory_address(), old.ip_rel_memory_address(), "{}", old);
    }
    if old.near_branch_target() != 0 {
        // A jump leads into the sequence, or to its old target.
        let inside =
            new.near_branch_target().wrapping_sub(TO as u64) == old.near_branch_target().wrapping_sub(0x40_0000);
        prop_assert!(
            new.near_branch_target() == old.near_branch_target()
                || inside && old.near_branch_target() - 0x40_0000 <= sequence.len() as u64,
            "{old} {new}"
        );
    }
    while decoder.can_decode() {
        prop_assert_eq!(decoder.decode().mnemonic(), Mnemonic::Nop, "{:02x?}", code);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(bytes in proptest::array::uniform16(any::<u8>())) {
        agrees(&bytes)?;
        keeps_its_meaning(&bytes)?;
    }

    /// Instructions with prefixes and escapes that random bytes seldom have.
    #[test]
    fn likely_bytes(
        prefixes in proptest::collection::vec(prop_oneof![Just(0x66_u8), Just(0xf0), Just(0xf2), Just(0xf3), Just(0x2e), Just(0x65)], 0..3),
        rex in proptest::option::of(0x40_u8..0x50),
        escape in prop_oneof![Just(&[][..]), Just(&[0x0f][..]), Just(&[0x0f, 0x38][..]), Just(&[0x0f, 0x38, 0xf8][..]),
            Just(&[0x0f, 0x3a][..]), Just(&[0x62][..]), Just(&[0x62, 0xf1][..]), Just(&[0x62, 0xd2][..]), Just(&[0x62, 0xf3][..])],
        rest in proptest::array::uniform12(any::<u8>()),
    ) {
        let bytes: Vec<u8> = prefixes.into_iter().chain(rex).chain(escape.iter().copied()).chain(rest).collect();
        agrees(&bytes)?;
        keeps_its_meaning(&bytes)?;
    }
}

/// The bytes in front of an opcode, in many combinations: prefixes, REX, and the bytes that choose a table of opcodes. Some of the combinations extend
/// the number 4 of a register, so that it does not name the stack pointer.
fn openings() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for prefix in [0x2e, 0x66, 0xf2, 0xf3] {
        for rex in [&[][..], &[0x40], &[0x41], &[0x44], &[0x48], &[0x4d]] {
            for escape in [&[][..], &[0x0f], &[0x0f, 0x38], &[0x0f, 0x3a]] {
                all.push([&[0x2e, 0x2e, 0x2e, prefix], rex, escape].concat());
            }
        }
    }
    for last in 0..4 {
        for map in [1, 2, 3, 5] {
            for extends in [0, 0x20, 0x80, 0xa0] {
                // The third register is 4, or 15, which means none in most instructions.
                for third in [0x58, 0x78, 0x00] {
                    for wide in [0, 0x80] {
                        all.push(vec![0x2e, 0xc4, map | 0xe0 ^ extends, last | third | wide]);
                        all.push(vec![0x62, map | 0xf0 ^ extends, last | 0x04 | third | wide, 0x08]);
                    }
                }
            }
        }
    }
    all
}

/// An instruction is refused if an operand is the stack pointer, but not if an operand is another register with the number 4.
#[test]
fn registers_with_number_four() {
    let (mut refused, mut taken) = (0, 0);
    for opening in openings() {
        for opcode in 0..=255 {
            for modrm in (0xc4..=0xff).step_by(8).chain([0xe0, 0xc0, 0x20, 0x00]) {
                let bytes = [&opening[..], &[opcode, modrm, 0, 0, 0, 0, 0, 0, 0, 0]].concat();
                let instruction = decoded(&bytes);
                if instruction.is_invalid() || instruction.len() < 5 {
                    continue;
                }
                agrees(&bytes).unwrap();
                let verdict = X64::examine(&bytes[..instruction.len()]);
                let is_stack = verdict == Err(Fault::Stack);
                // Reserved forms of `nop` and of fences, which no assembler makes, count as if they named a register.
                let is_reserved = matches!(
                    instruction.mnemonic(),
                    Mnemonic::Reservednop | Mnemonic::Lfence | Mnemonic::Mfence | Mnemonic::Sfence
                );
                let is_right = !is_stack || is_reserved || uses_stack(&instruction);
                assert!(is_right, "{bytes:02x?} {instruction} is refused");
                refused += usize::from(is_stack);
                taken += usize::from(verdict.is_ok());
            }
        }
    }
    assert!(refused > 1000 && taken > 10_000, "{refused} refused, {taken} taken");
}

/// Ordinary instructions have an alternative, padded. Those that a short jump leaves have none.
#[test]
fn ordinary_alternatives() {
    let placed = |bytes: &[u8]| X64::placed(bytes, 0x1000, 0x2000, 7).map(|code| code.to_vec());
    for (bytes, expected) in [
        (&[][..], &[0x0f, 0x1f, 0x80, 0, 0, 0, 0][..]),
        (&[0xf3, 0x0f, 0xb8, 0xc7], &[0xf3, 0x0f, 0xb8, 0xc7, 0x0f, 0x1f, 0]),
        (&[0xe8, 0, 0x20, 0, 0], &[0xe8, 0, 0x10, 0, 0, 0x66, 0x90]),
        (&[0x48, 0x8b, 0x05, 0, 0x20, 0, 0], &[0x48, 0x8b, 0x05, 0, 0x10, 0, 0]),
        (&[0x50, 0x58, 0xf3, 0xa4, 0x0f, 0x05], &[0x50, 0x58, 0xf3, 0xa4, 0x0f, 0x05, 0x90]),
        // vmovaps zmm0, [rdi]; vpternlogd; movdir64b.
        (&[0x62, 0xf1, 0x7c, 0x48, 0x28, 0x07], &[0x62, 0xf1, 0x7c, 0x48, 0x28, 0x07, 0x90]),
        (&[0x62, 0xf3, 0x7d, 0x48, 0x25, 0xc0, 0xff], &[0x62, 0xf3, 0x7d, 0x48, 0x25, 0xc0, 0xff]),
        (&[0x66, 0x0f, 0x38, 0xf8, 0x07], &[0x66, 0x0f, 0x38, 0xf8, 0x07, 0x66, 0x90]),
        (&[0xe3, 0x02, 0x50, 0x58], &[0xe3, 0x02, 0x50, 0x58, 0x0f, 0x1f, 0]),
    ] {
        assert_eq!(placed(bytes).as_deref(), Some(expected), "{bytes:02x?}");
    }
    for bytes in [&[0xeb, 0x10][..], &[0xe3, 0xf0], &[0x75, 1], &[0x62, 0xf4, 0x7c, 0x48, 0x28, 0x07], &[0xe8, 0, 0]] {
        assert_eq!(placed(bytes), None, "{bytes:02x?}");
    }
    // Only the first five bytes, which change, are returned.
    let long = [0x48, 0x8b, 0x05, 0, 0x20, 0, 0, 0x90, 0xeb, 0x10];
    assert_eq!(X64::placed(&long, 0x1000, 0x2000, 5).unwrap()[..], [0x48, 0x8b, 0x05, 0, 0x10]);
}

/// Instructions that programs use are fit. Others are refused for the right reason.
#[test]
fn ordinary_instructions_are_fit() {
    for (bytes, why) in [
        (&[0x3e, 0xf0, 0xff, 0x00, 0x90][..], Some(Fault::Length)),
        (&[0xf0, 0xff, 0x80, 0, 0, 0, 0], None),
        (&[0x66, 0xff, 0x87, 0, 0, 0, 0], None),
        (&[0xf0, 0x83, 0x44, 0x24, 0x08, 1], Some(Fault::Stack)),
        (&[0x48, 0x8b, 0x84, 0x24, 0, 0, 0, 0], Some(Fault::Stack)),
        (&[0x49, 0x8b, 0x84, 0x24, 0, 0, 0, 0], None),
        (&[0xe8, 0, 0, 0, 0], Some(Fault::Jumps)),
        (&[0xff, 0x15, 0, 0, 0, 0], Some(Fault::Jumps)),
        (&[0x0f, 0x84, 0, 0, 0, 0], Some(Fault::Jumps)),
        (&[0x90, 0x90, 0x90, 0x90, 0x90], Some(Fault::Length)),
        (&[0x0f, 0x1f, 0x44, 0, 0], None),
        (&[0xb8, 0, 0, 0, 0], None),
        (&[0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0], None),
        (&[0xc7, 0x07, 0, 0, 0, 0], None),
        (&[0xc5, 0xf8, 0x10, 0x87, 0, 0, 0, 0], None),
        (&[0xc4, 0xe2, 0x7d, 0x18, 0x87, 0, 0, 0, 0], None),
        (&[0xff, 0x05, 0, 0, 0, 0], None),
        (&[0x62, 0xf1, 0x7c, 0x48, 0x28, 0x07], None),
        (&[0x62, 0xf1, 0x7c, 0x48, 0x28, 0x04, 0x24], Some(Fault::Stack)),
        (&[0x66, 0x0f, 0x38, 0xf8, 0x07], None),
        (&[0x66, 0x0f, 0x38, 0xf8, 0x27], Some(Fault::Stack)),
        (&[0x8d, 0xa0, 0, 0, 0, 0], Some(Fault::Stack)),
        // add spl, 1 and add ah, 1; imul rsp, [0] and imul r12, [0]; bswap rsp; setz spl.
        (&[0x2e, 0x40, 0x80, 0xc4, 1], Some(Fault::Stack)),
        (&[0x2e, 0x2e, 0x80, 0xc4, 1], None),
        (&[0x48, 0x0f, 0xaf, 0x24, 0x25, 0, 0, 0, 0], Some(Fault::Stack)),
        (&[0x4c, 0x0f, 0xaf, 0x24, 0x25, 0, 0, 0, 0], None),
        (&[0x2e, 0x2e, 0x48, 0x0f, 0xcc], Some(Fault::Stack)),
        (&[0x2e, 0x40, 0x0f, 0x94, 0xc4], Some(Fault::Stack)),
        // movups xmm4, [rdi]; movd xmm0, esp; andn eax, esp, [rdi]; vmovd esp, xmm0.
        (&[0x0f, 0x10, 0xa7, 0, 0, 0, 0], None),
        (&[0x2e, 0x66, 0x0f, 0x6e, 0xc4], Some(Fault::Stack)),
        (&[0xc4, 0xe2, 0x58, 0xf2, 0x07], Some(Fault::Stack)),
        (&[0x2e, 0xc5, 0xf9, 0x7e, 0xc4], Some(Fault::Stack)),
    ] {
        let instruction = decoded(bytes);
        assert_eq!(X64::examine(bytes).err(), why, "{bytes:02x?} {instruction}");
    }
    // No instruction of fewer than five bytes is fit.
    for len in 0..5 {
        assert!(X64::examine(&[0x0f, 0x1f, 0x44, 0][..len.min(4)]).is_err());
    }
}
