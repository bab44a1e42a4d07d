//! The machines on which the project's kernels boot.

use anyhow::{Context, Result};

use super::twins::{OF_32_BITS, OF_BARE, ONE, TWINS, Twin};
use crate::has;

/// A machine on which a kernel boots.
pub struct Machine {
    pub name: &'static str,
    /// The target's name for rustup.
    pub target: &'static str,
    pub program: &'static str,
    pub arguments: &'static str,
    /// The Debian packages that contain the program.
    pub packages: &'static [&'static str],
    /// The exit status of the program if the kernel has passed.
    pub passed: i32,
    /// The flags for rustc.
    pub flags: &'static str,
    /// Further flags for the module. Where possible, they make the module have sites of the kernel's keys.
    pub module_flags: &'static str,
    /// The kernel that boots on this machine.
    pub kernel: Kernel,
    /// Beginnings of lines that the kernel prints only on this machine.
    pub parts: &'static [&'static str],
    /// The broken kernels that boot on this machine.
    pub twins: &'static [Twin],
}

/// A kernel of the project.
pub struct Kernel {
    pub package: &'static str,
    pub file: &'static str,
    /// The beginning of the first line that the kernel prints.
    pub begins: &'static str,
    /// Beginnings of lines that the kernel prints on each machine. Each line names a thing that the kernel has just done, or that was refused as it
    /// must be.
    pub parts: &'static [&'static str],
    pub has_module: bool,
}

const KERNEL: Kernel =
    Kernel { package: "kernels", file: "kernel", begins: "before start: ", parts: PARTS, has_module: true };

const BARE: Kernel = Kernel {
    package: "bare",
    file: "bare",
    begins: "early: flips",
    parts: &[
        "200 flips, ",
        "four harts have flipped at once",
        "the timer ticks on all harts, beside requests",
        "10 requests are no ticks, ",
        "stacks of 4096 bytes: ",
    ],
    has_module: false,
};

/// The values that most machines share.
const USUAL: Machine = Machine {
    name: "",
    target: "",
    program: "",
    arguments: "",
    packages: &[],
    passed: 0,
    flags: "",
    module_flags: "",
    kernel: KERNEL,
    parts: &[],
    twins: TWINS,
};

/// All machines.
pub const MACHINES: &[Machine] = &[
    Machine {
        name: "riscv64",
        target: "riscv64imac-unknown-none-elf",
        program: "qemu-system-riscv64",
        arguments: "-M virt -bios default -smp 2",
        packages: &["qemu-system-misc", "opensbi"],
        ..USUAL
    },
    Machine {
        name: "aarch64",
        target: "aarch64-unknown-none-softfloat",
        program: "qemu-system-aarch64",
        arguments: "-M virt -cpu cortex-a57 -semihosting-config enable=on,target=native -smp 2",
        packages: &["qemu-system-arm"],
        ..USUAL
    },
    Machine {
        name: "armv7",
        target: "armv7a-none-eabi",
        program: "qemu-system-arm",
        arguments: "-M virt -cpu cortex-a15 -semihosting-config enable=on,target=native -smp 2",
        packages: &["qemu-system-arm"],
        twins: ONE,
        ..USUAL
    },
    Machine {
        name: "x86_64",
        target: "x86_64-unknown-none",
        program: "qemu-system-x86_64",
        arguments: "-M q35 -cpu max -device isa-debug-exit,iobase=0xf4,iosize=4 -smp 2",
        packages: &["qemu-system-x86"],
        passed: 33,
        module_flags: "--cfg jumplabel_dylib",
        parts: &["flips from C"],
        ..USUAL
    },
    Machine {
        name: "i686",
        target: "i686-unknown-linux-gnu",
        program: "qemu-system-i386",
        arguments: "-M q35 -cpu max -device isa-debug-exit,iobase=0xf4,iosize=4 -smp 2",
        packages: &["qemu-system-x86"],
        passed: 33,
        flags: "-Crelocation-model=static",
        twins: ONE,
        ..USUAL
    },
    Machine {
        name: "riscv64-bare",
        target: "riscv64gc-unknown-none-elf",
        program: "qemu-system-riscv64",
        arguments: "-M virt -bios none -smp 4",
        packages: &["qemu-system-misc"],
        kernel: BARE,
        twins: OF_BARE,
        ..USUAL
    },
    Machine {
        name: "riscv32-bare",
        target: "riscv32imac-unknown-none-elf",
        program: "qemu-system-riscv32",
        arguments: "-M virt -bios none -smp 4",
        packages: &["qemu-system-misc"],
        kernel: BARE,
        parts: &[
            "refused writes: checks load",
            "stack in bytes, and the most that it may be, on one CPU:",
            "14 tests of keys, 6 of naked keys; switches, operations, calls",
            "stack in bytes, and the most that it may be, beside other CPUs:",
        ],
        twins: OF_32_BITS,
        ..USUAL
    },
];

/// The machine with this name.
pub fn named(name: &str) -> Result<&'static Machine> {
    let known = || MACHINES.iter().map(|machine| machine.name).collect::<Vec<_>>().join(", ");
    MACHINES.iter().find(|machine| machine.name == name).with_context(|| format!("it is none of {}", known()))
}

impl Machine {
    /// Returns whether the machine's program is installed.
    pub fn is_here(&self) -> bool {
        has(self.program)
    }
}

const PARTS: &[&str] = &[
    "before start: ",
    "kernel without bounds: ",
    "memory is full: ",
    "a second start: ",
    "damaged table: ",
    "early: flips, operations",
    "stack in bytes, and the most that it may be, on one CPU:",
    "stack in bytes, and the most that it may be, beside another CPU:",
    "text is read-only: flips, static calls, operations",
    "init text is freed",
    "the other CPU came after ",
    "a CPU went offline and came again 4 times",
    "a module: loaded, flipped, unloaded beside the other CPU",
    "a CPU too many: ",
    "in a handler, while locked: ",
    "a CPU that does not answer: ",
    "it waited ",
    "foreign bytes: ",
    "after the end: ",
];
