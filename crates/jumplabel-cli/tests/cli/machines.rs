//! Other instruction sets: the program of the others, and what their objdump says of what the tool says. `make test-all` runs these
//! tests. Those that are not installed are named and left out; `make setup-all` installs two, and `make setup-release` the rest.

use std::path::Path;
use std::process::Command;

use jumplabel_testing::breadth::{gcc_is_here, leave_out, tests_all};
use jumplabel_testing::cargo::{self, Build, has_target};

use crate::commands::LISTED;
use crate::programs::{copy, edited, prefix, prints, scratch};

/// `doctor` says what a uprobe does to a site that begins a function: here no byte in front of the site takes it.
#[test]
fn entries() {
    for machine in [AARCH64, RISCV64].iter().filter(|machine| machine.is_here()) {
        let to = scratch(&format!("entries-{}", machine.name));
        let mut gcc = Command::new(format!("{}-gcc", machine.gnu));
        gcc.args(["-std=c11", "-D_GNU_SOURCE", "-O2", "-DENTRY", "-fPIC", "-shared", "-nostdlib", "-I"]);
        gcc.arg(prefix().join("include")).args(["tests/c/operated.c", "-o"]).arg(&to);
        cargo::run(gcc.current_dir(env!("CARGO_MANIFEST_DIR")));
        let listed = prints("check", &to, &["--entries"]);
        assert!(listed.contains("a uprobe that is removed leaves the state of the file"), "{listed}");
        let said = prints("doctor", &to, &[]);
        let line = said.lines().find(|line| line.starts_with("note  entries     of functions that begin with a site"));
        let says = |line: &str| line.ends_with(" have the state of the file after a uprobe");
        assert!(line.is_some_and(says) && !said.contains("ok    entries"), "{said}");
    }
}

struct Machine {
    name: &'static str,
    rust: &'static str,
    /// What its tools begin with, and cargo's variable for its linker.
    gnu: &'static str,
    linker: &'static str,
    /// In CI it must be here.
    always: bool,
}

macro_rules! machine {
    ($name:literal, $rust:literal, $gnu:literal, $linker:literal, $always:literal) => {
        Machine {
            name: $name,
            rust: $rust,
            gnu: $gnu,
            linker: concat!("CARGO_TARGET_", $linker, "_LINKER"),
            always: $always,
        }
    };
}

const AARCH64: Machine =
    machine!("aarch64", "aarch64-unknown-linux-gnu", "aarch64-linux-gnu", "AARCH64_UNKNOWN_LINUX_GNU", true);
const RISCV64: Machine =
    machine!("riscv64", "riscv64gc-unknown-linux-gnu", "riscv64-linux-gnu", "RISCV64GC_UNKNOWN_LINUX_GNU", true);
const S390X: Machine =
    machine!("s390x", "s390x-unknown-linux-gnu", "s390x-linux-gnu", "S390X_UNKNOWN_LINUX_GNU", false);
const ARM: Machine =
    machine!("arm", "armv7-unknown-linux-gnueabihf", "arm-linux-gnueabihf", "ARMV7_UNKNOWN_LINUX_GNUEABIHF", false);

#[test]
fn aarch64() {
    AARCH64.agrees();
}

#[test]
fn riscv64() {
    RISCV64.agrees();
}

/// Big endian.
#[test]
fn s390x() {
    S390X.agrees();
}

/// 32 bits.
#[test]
fn arm() {
    ARM.agrees();
}

impl Machine {
    fn is_here(&self) -> bool {
        if !tests_all() {
            println!("left out: {} (make test-all)", self.name);
            return false;
        }
        let is_here = gcc_is_here(self.gnu) && has_target(None, self.rust);
        match (is_here, self.always) {
            (true, _) => {}
            (false, true) => leave_out(self.name),
            (false, false) => println!("left out: {}", self.name),
        }
        is_here
    }

    fn agrees(&self) {
        if !self.is_here() {
            return;
        }
        let build = Build { target: Some(self.rust), ..Build::of("operated") };
        let build = build.args(&["--bin", "operated"]).env(self.linker, format!("{}-gcc", self.gnu));
        let program = &build.results_in(self.name, &["operated"])[0];
        assert_eq!(prints("list", program, &[]), LISTED);
        assert!(prints("list", program, &["--json"]).contains(&format!(r#""machine":"{}""#, self.name)));
        let stripped = copy(program, &format!("stripped-{}", self.name), &[&format!("{}-strip", self.gnu)]);
        assert_eq!(prints("sites", &stripped, &[]).lines().count(), prints("sites", program, &[]).lines().count());
        let sites = prints("sites", program, &["fn:traced"]);
        assert!(sites.ends_with(" operated::traced src/lib.rs:55 < receive src/lib.rs:63\n"), "{sites}");
        self.disassembles(program);
    }

    /// What the tool says that a site holds is what objdump finds there; so with what it says that a flip writes.
    fn disassembles(&self, program: &Path) {
        let mut compared = 0;
        for key in
            ["net.trace", "wal.fsync", "*::MODE", "*::NAKED", "*::LOADS", "*::HASH=receive", "*::HASH", "net:packet"]
        {
            for line in prints("disasm", program, &[key])
                .lines()
                .filter(|line| line.starts_with(" now") || line.starts_with(" flip"))
            {
                let (place, rest) = line[6..].split_once(": ").unwrap();
                let address = u64::from_str_radix(place.trim(), 16).unwrap();
                let (bytes, instruction) = rest.split_at(20);
                let bytes: Vec<u8> =
                    bytes.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
                let instruction = instruction.split(" ;").next().unwrap().trim();
                let flipped = edited(program, &format!("flipped-{}", self.name), |file| {
                    let at = offset(file, address);
                    assert!(line.starts_with(" flip") || file[at..].starts_with(&bytes), "{line}");
                    file[at..at + bytes.len()].copy_from_slice(&bytes);
                });
                let shown = self.objdump(&flipped, address, bytes.len());
                assert!(same(instruction, &shown), "{line}\nobjdump: {shown}");
                compared += 1;
            }
        }
        assert!(compared >= 18, "{compared}");
    }

    /// One instruction.
    fn objdump(&self, file: &Path, address: u64, bytes: usize) -> String {
        let mut objdump = Command::new(format!("{}-objdump", self.gnu));
        objdump.args(["-d", "--no-show-raw-insn", &format!("--start-address={address:#x}")]);
        objdump.arg(format!("--stop-address={:#x}", address + bytes as u64)).arg(file);
        let printed = cargo::run(&mut objdump);
        let line = printed.lines().rev().find(|line| line.trim_start().starts_with(&format!("{address:x}:")));
        line.unwrap_or_else(|| panic!("{printed}")).split_once(':').unwrap().1.trim().to_owned()
    }
}

/// Where an address is in the file.
pub fn offset(file: &[u8], address: u64) -> usize {
    use object::{Object, ObjectSegment};
    let object = object::File::parse(file).unwrap();
    let segment =
        object.segments().find(|segment| (segment.address()..segment.address() + segment.size()).contains(&address));
    let segment = segment.unwrap();
    (address - segment.address() + segment.file_range().0) as usize
}

/// Mnemonics, and where jumps lead: `jg 0x1234` is `jg 1234 <name>`, `nop` is `nop {0}`.
fn same(ours: &str, shown: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        let text = text.replace([',', '\t'], " ");
        let words = text
            .split('<')
            .next()
            .unwrap()
            .split_whitespace()
            .filter(|word| *word != "{0}" && *word != "//" && *word != "@");
        words.map(|word| word.trim_start_matches("0x").to_owned()).collect()
    };
    words(ours) == words(shown)
}
