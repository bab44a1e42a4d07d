//! The registers of a naked key's check on x86-64: compilers are told that a call writes eax and nothing else.
#![cfg(all(target_os = "linux", target_arch = "x86_64", jumplabel_sites))]

use std::hint::black_box;

use jumplabel::naked_key;

naked_key! { static KEY: false; }

/// A key's function leaves these alone: every register that a call may write except eax, the flags, and the memory below the stack pointer except
/// the return address. The twin writes ecx and the carry flag.
#[test]
fn a_call_writes_nothing_but_eax() {
    assert!(!black_box(KEY.get()));
    let mut function = 0;
    jumplabel::for_each_site(&KEY, |site| function = site.address).unwrap();
    for on in [true, false] {
        if on { KEY.enable() } else { KEY.disable() }.unwrap();
        let (value, rest) = call(function);
        assert_eq!((value, rest), (u64::from(on), LEFT_ALONE));
    }
    assert_ne!(call(writes_too_much as *const () as usize).1, LEFT_ALONE);
    assert_ne!(call(writes_a_vector as *const () as usize).1, LEFT_ALONE);
}

#[unsafe(naked)]
extern "C" fn writes_too_much() {
    std::arch::naked_asm!("xor eax, eax", "lea ecx, [rcx + 1]", "ret")
}

#[unsafe(naked)]
extern "C" fn writes_a_vector() {
    std::arch::naked_asm!("xor eax, eax", "pcmpeqb xmm7, xmm7", "stc", "ret")
}

/// Ten general registers, the flag, sixteen vectors.
type Registers = ([u64; 9], u64, [u64; 16]);

const LEFT_ALONE: Registers =
    ([1, 2, 3, 4, 5, 6, 7, 8, 9], 1, [10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25]);

/// Calls `function` with known values in all registers. Returns its result in rax, and the values in the other registers.
fn call(function: usize) -> (u64, Registers) {
    let ([mut rcx, mut rdx, mut rsi, mut rdi, mut r8, mut r9, mut r10, mut r11, mut r12], _, vectors) = LEFT_ALONE;
    let (mut rax, mut carry) = (u64::MAX, 0_u64);
    let mut after = [0_u64; 16];
    // SAFETY: the functions called here write registers only, all of which are operands.
    unsafe {
        std::arch::asm!(
            "movq xmm0, [r14]", "movq xmm1, [r14 + 8]", "movq xmm2, [r14 + 16]", "movq xmm3, [r14 + 24]",
            "movq xmm4, [r14 + 32]", "movq xmm5, [r14 + 40]", "movq xmm6, [r14 + 48]", "movq xmm7, [r14 + 56]",
            "movq xmm8, [r14 + 64]", "movq xmm9, [r14 + 72]", "movq xmm10, [r14 + 80]", "movq xmm11, [r14 + 88]",
            "movq xmm12, [r14 + 96]", "movq xmm13, [r14 + 104]", "movq xmm14, [r14 + 112]", "movq xmm15, [r14 + 120]",
            "stc",
            "call r13",
            "mov r13d, 0", "setc r13b",
            "movq [r15], xmm0", "movq [r15 + 8], xmm1", "movq [r15 + 16], xmm2", "movq [r15 + 24], xmm3",
            "movq [r15 + 32], xmm4", "movq [r15 + 40], xmm5", "movq [r15 + 48], xmm6", "movq [r15 + 56], xmm7",
            "movq [r15 + 64], xmm8", "movq [r15 + 72], xmm9", "movq [r15 + 80], xmm10", "movq [r15 + 88], xmm11",
            "movq [r15 + 96], xmm12", "movq [r15 + 104], xmm13", "movq [r15 + 112], xmm14", "movq [r15 + 120], xmm15",
            inout("rax") rax, inout("rcx") rcx, inout("rdx") rdx, inout("rsi") rsi, inout("rdi") rdi,
            inout("r8") r8, inout("r9") r9, inout("r10") r10, inout("r11") r11, inout("r12") r12,
            inout("r13") function as u64 => carry, in("r14") vectors.as_ptr(), in("r15") after.as_mut_ptr(),
            out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _, out("xmm6") _,
            out("xmm7") _, out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _, out("xmm12") _,
            out("xmm13") _, out("xmm14") _, out("xmm15") _,
        );
    }
    (rax, ([rcx, rdx, rsi, rdi, r8, r9, r10, r11, r12], carry, after))
}
