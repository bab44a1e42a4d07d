//! Kernels that are broken on purpose. The tests of kernels must find each of them out.

use anyhow::{Result, ensure};

/// A kernel that is broken in one file: at each place, `changes` has the old text and the text that replaces it. `found_by` is a part of the panic's
/// message.
pub struct Twin {
    pub what: &'static str,
    pub file: &'static str,
    changes: &'static [(&'static str, &'static str)],
    pub found_by: &'static str,
    /// True if a flip of this kernel waits until it gives up. Then the kernel is built to give up soon.
    pub waits_in_vain: bool,
}

pub const TWINS: &[Twin] = &[
    Twin {
        what: "checks no bytes",
        file: "crates/jumplabel/src/patch/patchable/comparison.rs",
        changes: &[
            // The twin checks neither the bytes in front of a site nor those of the site.
            ("if unsafe { front::foreign_byte(entry) }.is_some() {", "if false {"),
            (
                ".or_else(|| torn(kind, entry, code)).ok_or(now)?;",
                ".or_else(|| torn(kind, entry, code)).unwrap_or(State::JUMP);",
            ),
        ],
        found_by: "Error::ForeignBytes",
        waits_in_vain: false,
    },
    Twin {
        what: "loses a serialisation",
        file: "crates/jumplabel-kernel/src/rendezvous.rs",
        changes: &[(
            "            machine.serialise();\n            acknowledged.store",
            "            if order & 2 == 0 { machine.serialise(); }\n            acknowledged.store",
        )],
        found_by: " times in ",
        waits_in_vain: false,
    },
    WRITES_EARLY,
    Twin {
        what: "does not relax while it waits",
        file: "crates/jumplabel-kernel/src/rendezvous.rs",
        changes: &[("                machine.relax();\n", "                core::hint::spin_loop();\n")],
        found_by: "the CPU that flips does not relax",
        waits_in_vain: false,
    },
];

/// The only twin for machines whose code has the same structure as another machine's.
pub const ONE: &[Twin] = &[WRITES_EARLY];

const WRITES_EARLY: Twin = Twin {
    what: "writes before the others stand still",
    file: "crates/jumplabel-kernel/src/rendezvous.rs",
    changes: &[(
        "in self.others(machine) {\n            while",
        "in self.others(machine).filter(|_| steps == 2 || order & 1 == 0) {\n            while",
    )],
    found_by: " writes while the other CPU ran",
    waits_in_vain: false,
};

/// Mistakes in a port to a kernel. docs/kernels.md lists them with their symptoms.
pub const OF_BARE: &[Twin] = &[
    Twin {
        what: "waits for a spinlock without an answer",
        file: "kernels/bare/src/lock.rs",
        changes: &[("            machine::answer();\n            Here.relax();", "            Here.relax();")],
        found_by: "Denied { refused: ",
        waits_in_vain: true,
    },
    NOT_ONLINE,
    Twin {
        what: "has no room for all harts",
        file: "kernels/bare/src/machine.rs",
        changes: &[("Kernel<Here, HARTS, 8>", "Kernel<Here, 3, 8>")],
        found_by: "NoSuchCpu { cpu: 3 }",
        waits_in_vain: false,
    },
    Twin {
        what: "needs more stack than it has",
        file: "kernels/bare/src/flips.rs",
        changes: &[("    machine::start()?;", "    core::hint::black_box([0; 1024]);\n    machine::start()?;")],
        found_by: "a stack has 4096 bytes, and ",
        waits_in_vain: false,
    },
    Twin {
        what: "knows its window as it was",
        file: "kernels/bare/src/window.rs",
        changes: &[(
            "asm!(\"sfence.vma {}, zero\", in(reg) address, options(nostack))",
            "asm!(\"/* {} */\", in(reg) address, options(nostack))",
        )],
        found_by: "Refusal(-2147483648)",
        waits_in_vain: false,
    },
    Twin {
        what: "may not read the time",
        file: "crates/jumplabel-kernel/src/riscv.rs",
        changes: &[("in(reg) 8, in(reg) 2", "in(reg) 8, in(reg) 0")],
        found_by: "trap 0x2 at ",
        waits_in_vain: false,
    },
    READ_ONLY_WINDOW,
    Twin {
        what: "takes each request for a tick",
        file: "kernels/bare/src/trap.rs",
        changes: &[("    if ticked {", "    if ticked | true {")],
        found_by: " false ticks",
        waits_in_vain: false,
    },
];

const NOT_ONLINE: Twin = Twin {
    what: "runs sites on harts that are not online",
    file: "kernels/bare/src/machine.rs",
    changes: &[(
        "    KERNEL.online(|_| {\n        ONLINE.fetch_add(1, SeqCst);\n    })?;",
        "    ONLINE.fetch_add(1, SeqCst);",
    )],
    found_by: "a write while ",
    waits_in_vain: false,
};

const READ_ONLY_WINDOW: Twin = Twin {
    what: "has a ready-made window that cannot be written",
    file: "crates/jumplabel-kernel/src/riscv/window.rs",
    changes: &[(">> 2 | 0xc7;", ">> 2 | 0xc3;")],
    found_by: "trap 0xf at ",
    waits_in_vain: false,
};

/// The twins for RISC-V of 32 bits: mistakes in what differs from 64 bits. The last two are in the assembler; for 64 bits, tests in user space find
/// such mistakes.
pub const OF_32_BITS: &[Twin] = &[
    NOT_ONLINE,
    READ_ONLY_WINDOW,
    Twin {
        what: "tests other bits of a count that is loaded",
        file: "crates/jumplabel/src/arch/asm/riscv.rs",
        changes: &[("slli t0,t0,1;", "srli t0,t0,1;")],
        found_by: "checks that load found",
        waits_in_vain: false,
    },
    Twin {
        what: "calls the default instead of a function out of reach",
        file: "crates/jumplabel/src/arch/asm/riscv.rs",
        changes: &[("lw t1, %pcrel_lo(1b)(t1)\\njr t1\\n3: ", "tail .L{key}.default\\n3: ")],
        found_by: "a call returned",
        waits_in_vain: false,
    },
];

impl Twin {
    /// Makes the twin's source from the source of its file.
    pub fn of(&self, source: &str) -> Result<String> {
        self.changes.iter().try_fold(source.to_owned(), |source, (instead_of, has)| {
            let is_there = source.matches(instead_of).count() == 1;
            ensure!(is_there, "{} has no place for the twin that {}", self.file, self.what);
            Ok(source.replace(instead_of, has))
        })
    }
}

#[cfg(test)]
mod tests {
    /// The kernels boot only in `make test-all`. This test always runs: it finds a twin whose text is no longer in its file.
    #[test]
    fn each_twin_has_its_place() {
        for twin in super::TWINS.iter().chain(super::OF_BARE).chain(super::OF_32_BITS) {
            twin.of(&std::fs::read_to_string(crate::root().join(twin.file)).unwrap()).unwrap();
        }
    }
}
