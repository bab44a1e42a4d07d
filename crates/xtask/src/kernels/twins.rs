//! Kernels that are broken on purpose, which the tests of kernels must find out.

use anyhow::{Result, ensure};

/// One that must be found out: a file, what stands there once and what the twin has instead, for each place, and what its panic says.
pub struct Twin {
    pub what: &'static str,
    pub file: &'static str,
    changes: &'static [(&'static str, &'static str)],
    pub found_by: &'static str,
}

pub const TWINS: &[Twin] = &[
    Twin {
        what: "checks no bytes",
        file: "crates/jumplabel/src/patch/patchable/comparison.rs",
        changes: &[
            // Neither those in front of a site nor its own.
            ("if unsafe { front::foreign_byte(entry) }.is_some() {", "if false {"),
            (
                ".or_else(|| torn(kind, entry, code)).ok_or(now)?;",
                ".or_else(|| torn(kind, entry, code)).unwrap_or(State::JUMP);",
            ),
        ],
        found_by: "Error::ForeignBytes",
    },
    Twin {
        what: "loses a serialisation",
        file: "crates/jumplabel-kernel/src/rendezvous.rs",
        changes: &[(
            "            machine.serialise();\n            acknowledged.store",
            "            if order & 2 == 0 { machine.serialise(); }\n            acknowledged.store",
        )],
        found_by: " times in ",
    },
    WRITES_EARLY,
    Twin {
        what: "does not relax while it waits",
        file: "crates/jumplabel-kernel/src/rendezvous.rs",
        changes: &[("                machine.relax();\n", "                core::hint::spin_loop();\n")],
        found_by: "the CPU that flips does not relax",
    },
];

/// For machines that differ from others by their names for the same things.
pub const ONE: &[Twin] = &[WRITES_EARLY];

const WRITES_EARLY: Twin = Twin {
    what: "writes before the others stand still",
    file: "crates/jumplabel-kernel/src/rendezvous.rs",
    changes: &[(
        "in self.others(machine) {\n            while",
        "in self.others(machine).filter(|_| steps == 2 || order & 1 == 0) {\n            while",
    )],
    found_by: " writes while the other CPU ran",
};

impl Twin {
    /// The source of the twin, by that of its file.
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
    /// The kernels are tested only by `make test-all`. This finds a twin that a change has left without its place at once.
    #[test]
    fn each_twin_has_its_place() {
        for twin in super::TWINS {
            twin.of(&std::fs::read_to_string(crate::root().join(twin.file)).unwrap()).unwrap();
        }
    }
}
