//! The functions of the arrays (see `sites`), in the assembler of each instruction set: what is not the same for all.
//!
//! | item | meaning |
//! |---|---|
//! | `number_asm!` | code that returns `.Ltorture_number`: 0 to 32767, and known to the assembler only |
//! | `LENGTH` | the bytes of that code |
//! | `TRAP` | an instruction that traps, of the size that all are multiples of |
//!
//! The code is written in numbers: the assembler takes such symbols for data, but for few operands of instructions.

pub(crate) use machine::number_asm;
pub use machine::{LENGTH, TRAP};

#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
mod machine {
    pub const LENGTH: usize = 6;
    pub const TRAP: u32 = 0xcc; // int3
    macro_rules! number_asm {
        () => {
            concat!(
                ".byte 0xb8\n", // mov eax, imm32
                ".long .Ltorture_number\n",
                "ret\n",
            )
        };
    }
    pub(crate) use number_asm;
}

#[cfg(target_arch = "aarch64")]
mod machine {
    pub const LENGTH: usize = 8;
    pub const TRAP: u32 = 0xd420_0000; // brk #0
    macro_rules! number_asm {
        () => {
            concat!(
                ".inst 0x52800000 | (.Ltorture_number << 5)\n", // mov w0, #imm16
                "ret\n",
            )
        };
    }
    pub(crate) use number_asm;
}

#[cfg(target_arch = "riscv64")]
mod machine {
    pub const LENGTH: usize = 12;
    pub const TRAP: u32 = 0x0010_0073; // ebreak
    macro_rules! number_asm {
        () => {
            concat!(
                ".long 0x537 | ((.Ltorture_number + 0x800) & 0xfffff000)\n", // lui a0, imm20
                ".long 0x50513 | ((.Ltorture_number & 0xfff) << 20)\n",      // addi a0, a0, imm12, which has a sign
                ".long 0x8067\n",                                            // ret, not compressed
            )
        };
    }
    pub(crate) use number_asm;
}

#[cfg(target_arch = "arm")]
mod machine {
    pub const LENGTH: usize = 8;
    pub const TRAP: u32 = 0xe7f0_00f0; // udf #0
    macro_rules! number_asm {
        () => {
            concat!(
                // movw r0, #imm16
                ".inst 0xe3000000 | ((.Ltorture_number & 0xf000) << 4) | (.Ltorture_number & 0xfff)\n",
                "bx lr\n",
            )
        };
    }
    pub(crate) use number_asm;
}

#[cfg(target_arch = "powerpc64")]
mod machine {
    pub const LENGTH: usize = 8;
    pub const TRAP: u32 = 0x7fe0_0008; // trap
    macro_rules! number_asm {
        () => {
            concat!(
                ".long 0x38600000 | .Ltorture_number\n", // li 3, imm16
                "blr\n",
            )
        };
    }
    pub(crate) use number_asm;
}

#[cfg(target_arch = "s390x")]
mod machine {
    pub const LENGTH: usize = 6;
    pub const TRAP: u32 = 0x0001; // what debuggers use: no operation has this code
    macro_rules! number_asm {
        () => {
            concat!(
                ".short 0xa729, .Ltorture_number\n", // lghi %r2, imm16
                "br %r14\n",
            )
        };
    }
    pub(crate) use number_asm;
}

#[cfg(target_arch = "loongarch64")]
mod machine {
    pub const LENGTH: usize = 12;
    pub const TRAP: u32 = 0x002a_0000; // break 0
    macro_rules! number_asm {
        () => {
            concat!(
                ".long 0x14000004 | ((.Ltorture_number >> 12) << 5)\n", // lu12i.w $a0, imm20
                ".long 0x03800084 | ((.Ltorture_number & 0xfff) << 10)\n", // ori $a0, $a0, imm12
                "ret\n",
            )
        };
    }
    pub(crate) use number_asm;
}
