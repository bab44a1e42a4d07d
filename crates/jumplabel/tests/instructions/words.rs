//! Instructions that may be an operation in place where an instruction is a word. The words are an assembler's (llvm-mc) for the text beside them.

use jumplabel_format::arch::aarch64::Aarch64;
use jumplabel_format::arch::riscv64::Riscv64;
use jumplabel_format::{Fault, Op};

type Verdict = Result<(), Fault>;

fn each<A: Op>(all: &[(Verdict, &[(u32, &str)])]) {
    for (verdict, words) in all {
        for (word, text) in *words {
            let bytes = word.to_le_bytes();
            assert_eq!(A::examine(&bytes), *verdict, "{text}");
            // With a byte more or less, it is not one instruction.
            assert_eq!(A::examine(&bytes[..3]), Err(Fault::Length), "{text}");
            assert_eq!(A::examine(&[bytes, bytes].concat()), Err(Fault::Length), "{text}");
            assert_eq!(&A::moved(&bytes, 0x1000, 0x2000)[..], bytes, "{text}");
        }
    }
}

#[test]
fn aarch64() {
    each::<Aarch64>(&[
        (
            Ok(()),
            &[
                (0xb8e1_0062, "ldaddal w1, w2, [x3]"),
                (0xf821_0062, "ldadd x1, x2, [x3]"),
                (0xf8e0_8041, "swpal x0, x1, [x2]"),
                (0x9100_0420, "add x0, x1, #1"),
                (0xb100_043f, "adds xzr, x1, #1"),
                (0xf100_103f, "cmp x1, #4"),
                (0xaa04_03e3, "mov x3, x4"),
                (0xd280_0223, "mov x3, #17"),
                (0xf2a0_0023, "movk x3, #1, lsl #16"),
                (0x9240_1c41, "and x1, x2, #0xff"),
                (0xf240_1c3f, "tst x1, #0xff"),
                (0xaa03_0041, "orr x1, x2, x3"),
                (0x8b03_0041, "add x1, x2, x3"),
                (0x8b23_4041, "add x1, x2, w3, uxtw"),
                (0xf900_0041, "str x1, [x2]"),
                (0xf940_0441, "ldr x1, [x2, #8]"),
                (0xa940_0861, "ldp x1, x2, [x3]"),
                (0xc85f_7c20, "ldxr x0, [x1]"),
                (0x889f_fc41, "stlr w1, [x2]"),
                (0xb8bf_c041, "ldapr w1, [x2]"),
                (0xd503_42df, "msr daifset, #2"),
                (0xd53b_4220, "mrs x0, daif"),
                (0xd51b_4220, "msr daif, x0"),
                (0xd503_3bbf, "dmb ish"),
                (0xd503_3fdf, "isb"),
                (0xd503_201f, "nop"),
                (0xd503_207f, "wfi"),
                (0x9b02_7c20, "mul x0, x1, x2"),
                (0x9a82_0020, "csel x0, x1, x2, eq"),
                (0xd343_1820, "ubfx x0, x1, #3, #4"),
                (0x1e62_2820, "fadd d0, d1, d2"),
                (0x9e66_0041, "fmov x1, d2"),
                (0x9ac2_4c20, "crc32x w0, w1, x2"),
                (0xf980_0020, "prfm pldl1keep, [x1]"),
                (0xd508_871f, "tlbi vmalle1"),
                (0x3dc0_0020, "ldr q0, [x1]"),
            ],
        ),
        (
            Err(Fault::Jumps),
            &[
                (0x1400_0000, "b ."),
                (0x9400_0000, "bl ."),
                (0x5400_0000, "b.eq ."),
                (0xb400_0000, "cbz x0, ."),
                (0x3500_0001, "cbnz w1, ."),
                (0x3618_0000, "tbz x0, #3, ."),
                (0xb708_0000, "tbnz x0, #33, ."),
                (0xd61f_0020, "br x1"),
                (0xd63f_0020, "blr x1"),
                (0xd65f_03c0, "ret"),
                (0xd69f_03e0, "eret"),
                (0xd400_0001, "svc #0"),
                (0xd400_0002, "hvc #0"),
                (0xd400_0003, "smc #0"),
                (0xd420_0020, "brk #1"),
                (0xd440_0020, "hlt #1"),
            ],
        ),
        (
            Err(Fault::Stack),
            &[
                (0xf940_03e0, "ldr x0, [sp]"),
                (0xf900_07e0, "str x0, [sp, #8]"),
                (0xa9bf_07e0, "stp x0, x1, [sp, #-16]!"),
                (0xf821_03e2, "ldadd x1, x2, [sp]"),
                (0x9100_43ff, "add sp, sp, #16"),
                (0xd100_43ff, "sub sp, sp, #16"),
                (0x9100_23e0, "add x0, sp, #8"),
                (0xf100_23ff, "cmp sp, #8"),
                (0x9100_003f, "mov sp, x1"),
                (0x9100_03e1, "mov x1, sp"),
                (0x8b22_403f, "add sp, x1, w2, uxtw"),
                (0x8b21_63e0, "add x0, sp, x1"),
                (0x9240_1c3f, "and sp, x1, #0xff"),
                (0xb240_1c3f, "orr sp, x1, #0xff"),
                (0x3dc0_03e0, "ldr q0, [sp]"),
                (0xf980_03e0, "prfm pldl1keep, [sp]"),
                (0xc85f_7fe0, "ldxr x0, [sp]"),
            ],
        ),
        (
            Err(Fault::Place),
            &[
                (0x1000_0000, "adr x0, ."),
                (0x9000_0000, "adrp x0, ."),
                (0x5800_0000, "ldr x0, ."),
                (0x1800_0000, "ldr w0, ."),
                (0x9c00_0000, "ldr q0, ."),
                (0xd800_0000, "prfm pldl1keep, ."),
            ],
        ),
        (
            Err(Fault::Length),
            &[
                (0x0000_0000, ".word 0"),
                (0x0000_0001, "udf #1"),
                (0x0422_0020, "add z0.b, z1.b, z2.b"),
                (0xa400_a000, "ld1b {z0.b}, p0/z, [x0]"),
            ],
        ),
    ]);
}

#[test]
fn riscv64() {
    each::<Riscv64>(&[
        (
            Ok(()),
            &[
                (0x00b5_202f, "amoadd.w zero, a1, (a0)"),
                (0x06b5_362f, "amoadd.d.aqrl a2, a1, (a0)"),
                (0x1005_a52f, "lr.w a0, (a1)"),
                (0x18d5_a62f, "sc.w a2, a3, (a1)"),
                (0x0055_8513, "addi a0, a1, 5"),
                (0x0055_851b, "addiw a0, a1, 5"),
                (0x00c5_8533, "add a0, a1, a2"),
                (0x40c5_853b, "subw a0, a1, a2"),
                (0x02c5_8533, "mul a0, a1, a2"),
                (0x0000_3537, "lui a0, 3"),
                (0x0070_0513, "li a0, 7"),
                (0x00a5_b423, "sd a0, 8(a1)"),
                (0x0085_b503, "ld a0, 8(a1)"),
                (0x00a5_b427, "fsd fa0, 8(a1)"),
                (0x0085_b107, "fld f2, 8(a1)"),
                (0x1001_6073, "csrsi sstatus, 2"),
                (0x1001_7073, "csrci sstatus, 2"),
                (0x1005_b573, "csrrc a0, sstatus, a1"),
                (0xc010_2573, "csrr a0, time"),
                (0x0ff0_000f, "fence"),
                (0x0000_100f, "fence.i"),
                (0x0310_000f, "fence rw, w"),
                (0x0000_0013, "nop"),
                (0x1050_0073, "wfi"),
                (0x12b5_0073, "sfence.vma a0, a1"),
                (0x0221_7153, "fadd.d f2, f2, f2"),
                (0x1221_7143, "fmadd.d f2, f2, f2, f2"),
                (0xd225_7153, "fcvt.d.l f2, a0"),
                (0xc221_7553, "fcvt.l.d a0, f2"),
                (0xf205_0153, "fmv.d.x f2, a0"),
                (0xa221_2553, "feq.d a0, f2, f2"),
                (0x0025_1513, "slli a0, a0, 2"),
            ],
        ),
        (
            Err(Fault::Jumps),
            &[
                (0x0000_006f, "j ."),
                (0x0000_00ef, "jal ."),
                (0x0005_00e7, "jalr a0"),
                (0x0002_8067, "jr t0"),
                (0x0000_8067, "ret"),
                (0x00b5_0063, "beq a0, a1, ."),
                (0x0005_1063, "bnez a0, ."),
                (0x0000_0073, "ecall"),
                (0x0010_0073, "ebreak"),
                (0x1020_0073, "sret"),
                (0x3020_0073, "mret"),
                (0x7b20_0073, "dret"),
            ],
        ),
        (
            Err(Fault::Stack),
            &[
                (0x0081_3503, "ld a0, 8(sp)"),
                (0x00a1_3423, "sd a0, 8(sp)"),
                (0x0025_3423, "sd sp, 8(a0)"),
                (0x0085_3103, "ld sp, 8(a0)"),
                (0xff01_0113, "addi sp, sp, -16"),
                (0x0101_0513, "addi a0, sp, 16"),
                (0x0005_0113, "mv sp, a0"),
                (0x0025_8533, "add a0, a1, sp"),
                (0x00b5_0133, "add sp, a0, a1"),
                (0x00b1_053b, "addw a0, sp, a1"),
                (0x0015_011b, "addiw sp, a0, 1"),
                (0x00b1_252f, "amoadd.w a0, a1, (sp)"),
                (0x0025_a52f, "amoadd.w a0, sp, (a1)"),
                (0x00a5_a12f, "amoadd.w sp, a0, (a1)"),
                (0x0081_3507, "fld fa0, 8(sp)"),
                (0x00a1_3427, "fsd fa0, 8(sp)"),
                (0x0000_3137, "lui sp, 3"),
                (0xc010_2173, "csrr sp, time"),
                (0x1401_1073, "csrw sscratch, sp"),
                (0xc225_7153, "fcvt.l.d sp, fa0"),
                (0xd221_7553, "fcvt.d.l fa0, sp"),
                (0xf201_0553, "fmv.d.x fa0, sp"),
                (0xe205_0153, "fmv.x.d sp, fa0"),
                (0xa2b5_2153, "feq.d sp, fa0, fa1"),
            ],
        ),
        (Err(Fault::Place), &[(0x0000_3517, "auipc a0, 3")]),
        (
            Err(Fault::Length),
            &[
                (0x0000_0000, ".word 0"),
                (0xffff_ffff, ".word 0xffffffff"),
                (0x00c5_850b, ".insn r 0x0b, 0, 0, a0, a1, a2"),
                (0x0221_80d7, "vadd.vv v1, v2, v3"),
            ],
        ),
    ]);
}
