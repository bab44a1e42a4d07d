//! The cost of a check for its compiler, in things that can be counted: the text for the assembler, its lines, operands, and constants, each of
//! which is a function of its own to the borrow checker. Programs have checks by the thousand: twice the text took twice the time and the memory.
//! (`jumplabel-bench compile` measures seconds, beside other crates.)
//!
//! Read from rustc's MIR of test-crates/cost, which has a function for each kind of place.
#![cfg(all(target_arch = "x86_64", target_os = "linux", not(any(miri, jumplabel_dylib))))]

use jumplabel_testing::cargo::{self, Build};

/// The cost of one check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cost {
    /// Bytes of assembler.
    bytes: usize,
    /// Lines of assembler: the compiler keeps a place in the source for each.
    lines: usize,
    operands: usize,
    /// Constants, those in constants included.
    constants: usize,
}

impl Cost {
    /// The cost of the function `name`, from the text of all functions.
    fn of(name: &str, mir: &str) -> Cost {
        let body = mir.split_once(&format!("\nfn {name}() -> bool")).expect(name).1;
        let (body, rest) = body.split_at(body.find("\n}\n").unwrap());
        let text = body.split_once("asm!(\"").expect("one statement").1;
        let (text, _) = text.split_once(", options(").unwrap();
        let (text, operands) = text.rsplit_once("\", ").unwrap();
        assert!(!body.split_once(", options(").unwrap().1.contains("asm!"), "{name} has more than one check");
        // A constant has a body or, if it is short, is `const ... = value`. An item without a name comes after its function.
        let is_constant = |line: &&str| {
            let line = line.strip_prefix("const ").unwrap_or(line);
            line.starts_with(&format!("{name}::{{constant#")) && line.contains(" = ")
        };
        let items = rest.split("\nfn ").next().unwrap_or_default().matches("\nconst _: ").count();
        Cost {
            bytes: text.len(),
            lines: text.lines().count(),
            operands: operands.split(", ").count(),
            constants: mir.lines().filter(is_constant).count() + items,
        }
    }

    fn is_within(self, most: Cost) -> bool {
        self.bytes <= most.bytes
            && self.lines <= most.lines
            && self.operands <= most.operands
            && self.constants <= most.constants
    }
}

/// The cost of a check of a key by its name.
const NAME: Cost = Cost { bytes: 790, lines: 10, operands: 3, constants: 1 };
/// The cost of a check of an element: the second constant is for the messages.
const ELEMENT: Cost = Cost { constants: 2, ..NAME };
/// Where the arm is the caller's constant, which is there three times.
const MAYBE: Cost = Cost { constants: 4, ..NAME };

#[test]
fn a_check_is_short() {
    let directory = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("cost");
    std::fs::create_dir_all(&directory).unwrap();
    let file = directory.join("cost.mir");
    let mut command = Build::of("cost").command("rustc");
    command.args(["--quiet", "--lib", "--", "--emit"]).arg(format!("mir={}", file.display()));
    cargo::run(&mut command);
    let mir = std::fs::read_to_string(&file).unwrap();
    let checks = [("name", NAME), ("path", NAME), ("maybe", MAYBE), ("element", ELEMENT), ("field", NAME)];
    for (name, most) in checks {
        let cost = Cost::of(&format!("cost_{name}"), &mir);
        println!("{name}: {cost:?}");
        assert!(cost.is_within(most), "{name}: {cost:?}, at most {most:?}");
        // And there is something to count.
        assert!(cost.bytes > 100 && cost.operands == 3 && cost.constants > 0, "{name}: {cost:?}");
    }
    let twin = Cost::of("cost_twin", &mir);
    let too_much = [
        Cost { bytes: twin.bytes, ..NAME },
        Cost { lines: twin.lines, ..NAME },
        Cost { operands: twin.operands, ..NAME },
        Cost { constants: twin.constants, ..NAME },
    ];
    for part in too_much {
        assert!(!part.is_within(NAME), "{part:?} went unnoticed");
    }
}
