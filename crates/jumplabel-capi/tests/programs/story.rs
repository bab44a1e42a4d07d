//! One program in three builds, and the table of the results.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use crate::edits::{self, Edit};
use crate::flips::{self, Flips};
use crate::sources;

/// The way to build a program.
#[derive(Clone, Copy, PartialEq)]
pub enum Way {
    /// Debian's sources.
    Unchanged,
    /// With keys, without the library: checks are loads.
    Without,
    /// With keys and with the library.
    With,
}

impl Way {
    pub const ALL: [Way; 3] = [Way::Unchanged, Way::Without, Way::With];

    fn name(self) -> &'static str {
        match self {
            Way::Unchanged => "unchanged",
            Way::Without => "keys, no library",
            Way::With => "keys, library",
        }
    }

    /// The compiler's flags.
    pub fn flags(self) -> String {
        match self {
            Way::Unchanged => String::new(),
            Way::Without => "-DJUMPLABEL_OPTIONAL_USE=0".into(),
            Way::With => format!("-DJUMPLABEL_OPTIONAL_USE=1 -I{}", installed().join("include").display()),
        }
    }

    /// The linker's arguments.
    pub fn libraries(self) -> String {
        let lib = installed().join("lib").display().to_string();
        if self == Way::With {
            format!("-L{lib} -Wl,-rpath,{lib} -ljumplabel-agent -ljumplabel")
        } else {
            "-lpthread".into()
        }
    }
}

/// The results of a program's tests.
#[derive(Default)]
pub struct Tests {
    pub passed: usize,
    pub failed: Vec<String>,
}

/// The description of a program.
pub struct Program {
    pub package: &'static str,
    pub edits: &'static [Edit],
    /// The place for the header.
    pub header: &'static str,
    /// Our files, below programs/c, and the places for them.
    pub files: &'static [(&'static str, &'static str)],
    pub build: fn(&Path, Way),
    /// The path of the program in the folder.
    pub binary: &'static str,
    pub tests: fn(&Path, &Path) -> Tests,
    pub load: fn(&Path) -> u64,
}

/// One build: the instructions of the load, the bytes of code, and the results of the tests.
struct Row {
    way: Way,
    instructions: u64,
    text: u64,
    tests: Option<(Tests, Flips)>,
    keys_and_sites: (u64, u64),
}

impl Program {
    /// The edited sources for one way, in their own folder. With the variable PROGRAMS_KEPT, the folder of an earlier run is used.
    fn edited(&self, way: Way) -> PathBuf {
        let name = ["unchanged", "without", "with"][way as usize];
        let folder = scratch(self.package).join(name);
        if folder.exists() && std::env::var_os("PROGRAMS_KEPT").is_some() {
            return folder;
        }
        let _ = fs::remove_dir_all(&folder);
        succeeds(Command::new("cp").arg("-a").arg(sources::unpacked(self.package)).arg(&folder));
        if way != Way::Unchanged {
            edits::apply(&folder, self.edits).unwrap();
            let optional = own("../../include/jumplabel-optional.h");
            let ours = self.files.iter().map(|(from, to)| (own(&format!("c/{from}")), *to));
            for (from, to) in ours.chain([(optional, self.header)]) {
                fs::copy(&from, folder.join(to)).unwrap_or_else(|error| panic!("{} to {to}: {error}", from.display()));
            }
        }
        folder
    }

    /// Builds, tests and measures all three ways, and prints the table.
    pub fn tell(&self) {
        let mut rows = Vec::new();
        // All edits come before all builds, so that an edit that does not fit is found at once.
        for (way, folder) in Way::ALL.map(|way| (way, self.edited(way))) {
            eprintln!("{}, {}: building", self.package, way.name());
            (self.build)(&folder, way);
            let text = text(&folder.join(self.binary));
            eprintln!("{}, {}: counting", self.package, way.name());
            // The count of a load varies by a few per thousand, because requests arrive at different times and random numbers differ.
            let mut counted = [(); 3].map(|()| (self.load)(&folder));
            counted.sort_unstable();
            let instructions = counted[1];
            let mut row = Row { way, instructions, text, tests: None, keys_and_sites: (0, 0) };
            if way != Way::Unchanged {
                eprintln!("{}, {}: testing", self.package, way.name());
                let file = flips::file(&folder);
                let one = Flips::of_one(&file, Command::new(folder.join(self.binary)));
                row.keys_and_sites = (one.keys, one.sites);
                let file = flips::file(&folder);
                row.tests = Some(((self.tests)(&folder, &file), Flips::read(&file)));
            }
            rows.push(row);
        }
        self.print(&rows);
        for row in &rows {
            let Some((tests, flips)) = &row.tests else { continue };
            let name = row.way.name();
            assert!(tests.failed.is_empty(), "{}, {name}: {:#?}", self.package, tests.failed);
            assert!(tests.passed > 0 && flips.processes > 0 && flips.changes > flips.keys, "{name}: nothing flipped");
            assert!(
                row.keys_and_sites.0 > 0 && (row.keys_and_sites.1 > 0) == (row.way == Way::With),
                "{name}: no sites"
            );
        }
    }

    fn print(&self, rows: &[Row]) {
        println!(
            "| {} | instructions | of those with loads | text, kB | keys | sites | tests passed | processes | changes | refused |",
            self.package
        );
        println!("|---|---|---|---|---|---|---|---|---|---|");
        let loads = rows.iter().find(|row| row.way == Way::Without).unwrap().instructions;
        for Row { way, instructions, text, tests, keys_and_sites: (keys, sites) } in rows {
            let (ratio, text) = (*instructions as f64 / loads as f64, *text as f64 / 1000.0);
            print!("| {} | {instructions} | {ratio:.3} | {text:.1} | {keys} | {sites} |", way.name());
            match tests {
                None => println!(" | | | |"),
                Some((tests, flips)) => {
                    println!(" {} | {} | {} | {} |", tests.passed, flips.processes, flips.changes, flips.refused);
                }
            }
        }
    }
}

/// A folder for these tests.
pub fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs").join(name);
    fs::create_dir_all(&path).unwrap();
    path
}

/// A file in this directory.
fn own(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name)
}

/// The prefix with the installed library. With the variable PROGRAMS_INSTALLED, an earlier installation is used.
pub fn installed() -> &'static Path {
    static INSTALLED: OnceLock<PathBuf> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        if let Some(path) = std::env::var_os("PROGRAMS_INSTALLED") {
            return path.into();
        }
        let path = scratch("installed");
        let mut make = Command::new("make");
        make.arg("-C").arg(env!("CARGO_MANIFEST_DIR")).arg("install").arg(format!("PREFIX={}", path.display()));
        make.arg(concat!("CARGO=", env!("CARGO"))).env_remove("MAKEFLAGS");
        succeeds(make.env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("libraries")));
        path
    })
}

/// The size in bytes of a program's code.
fn text(program: &Path) -> u64 {
    let said = printed(&succeeds(Command::new("size").arg("-A").arg(program)));
    let row = said.lines().find_map(|line| line.strip_prefix(".text ")).unwrap_or_else(|| panic!("{said}"));
    row.split_whitespace().next().unwrap().parse().unwrap()
}

/// Runs a command that must succeed, without input.
pub fn succeeds(command: &mut Command) -> Output {
    let output = command.stdin(Stdio::null()).output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}\n{}", output.status, printed(&output));
    output
}

/// All output of a command.
pub fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}
