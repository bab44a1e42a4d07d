//! The machines that kernels of ours boot on.

use anyhow::{Context, Result};

use super::twins::{ONE, TWINS, Twin};
use crate::has;

/// A machine that a kernel boots on.
pub struct Machine {
    pub name: &'static str,
    /// For rustup.
    pub target: &'static str,
    pub program: &'static str,
    pub arguments: &'static str,
    /// Of the distribution.
    pub packages: &'static [&'static str],
    /// What the program says of its status, for a kernel that has passed.
    pub passed: i32,
    /// What rustc is told.
    pub flags: &'static str,
    /// What a module is built with besides: where it can, it has sites of the kernel's keys.
    pub module_flags: &'static str,
    /// Lines that it alone begins.
    pub parts: &'static [&'static str],
    /// The twins that are booted there.
    pub twins: &'static [Twin],
}

/// All of them.
pub const MACHINES: &[Machine] = &[
    Machine {
        name: "riscv64",
        target: "riscv64imac-unknown-none-elf",
        program: "qemu-system-riscv64",
        arguments: "-M virt -bios default",
        packages: &["qemu-system-misc", "opensbi"],
        passed: 0,
        flags: "",
        module_flags: "",
        parts: &[],
        twins: TWINS,
    },
    Machine {
        name: "aarch64",
        target: "aarch64-unknown-none-softfloat",
        program: "qemu-system-aarch64",
        arguments: "-M virt -cpu cortex-a57 -semihosting-config enable=on,target=native",
        packages: &["qemu-system-arm"],
        passed: 0,
        flags: "",
        module_flags: "",
        parts: &[],
        twins: TWINS,
    },
    Machine {
        name: "armv7",
        target: "armv7a-none-eabi",
        program: "qemu-system-arm",
        arguments: "-M virt -cpu cortex-a15 -semihosting-config enable=on,target=native",
        packages: &["qemu-system-arm"],
        passed: 0,
        flags: "",
        module_flags: "",
        parts: &[],
        twins: ONE,
    },
    Machine {
        name: "x86_64",
        target: "x86_64-unknown-none",
        program: "qemu-system-x86_64",
        arguments: "-M q35 -cpu max -device isa-debug-exit,iobase=0xf4,iosize=4",
        packages: &["qemu-system-x86"],
        passed: 33,
        flags: "",
        module_flags: "--cfg jumplabel_dylib",
        parts: &["flips from C"],
        twins: TWINS,
    },
    Machine {
        name: "i686",
        target: "i686-unknown-linux-gnu",
        program: "qemu-system-i386",
        arguments: "-M q35 -cpu max -device isa-debug-exit,iobase=0xf4,iosize=4",
        packages: &["qemu-system-x86"],
        passed: 33,
        flags: "-Crelocation-model=static",
        module_flags: "",
        parts: &[],
        twins: ONE,
    },
];

/// The machine of a name.
pub fn named(name: &str) -> Result<&'static Machine> {
    let known = || MACHINES.iter().map(|machine| machine.name).collect::<Vec<_>>().join(", ");
    MACHINES.iter().find(|machine| machine.name == name).with_context(|| format!("it is none of {}", known()))
}

impl Machine {
    /// Whether its packages are here.
    pub fn is_here(&self) -> bool {
        has(self.program)
    }
}
