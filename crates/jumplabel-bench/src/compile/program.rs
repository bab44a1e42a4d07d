//! The three programs: the same functions without keys, with a key of this library, and with a key of the crate `static-keys`. Each is a project of
//! its own, which is generated under target/.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::usage::{USAGE_FILE, Usage};
use crate::Result;
use crate::startup::image::Image;

/// One of the programs.
pub struct Program {
    pub name: &'static str,
    dependency: &'static str,
    key: &'static str,
    check: &'static str,
    first: &'static str,
    flip: &'static str,
}

/// The programs. In place of a check, the first program has a comparison whose result the compiler cannot know, as ordinary code does.
pub const PROGRAMS: [Program; 3] = [
    Program { name: "no-keys", dependency: "", key: "", check: "x == 77", first: "", flip: "" },
    Program {
        name: "jumplabel",
        dependency: concat!("jumplabel = { path = \"", env!("CARGO_MANIFEST_DIR"), "/../jumplabel\" }"),
        key: "jumplabel::static_key! { static KEY: false; }",
        check: "jumplabel::static_branch_unlikely!(KEY)",
        first: "",
        flip: "KEY.enable().unwrap();",
    },
    Program {
        name: "static-keys",
        dependency: "static-keys = \"0.8\"",
        key: "static_keys::define_static_key_false!(KEY);",
        check: "static_keys::static_branch_unlikely!(KEY)",
        first: "static_keys::global_init();",
        flip: "unsafe { KEY.enable() };",
    },
];

/// Cargo's own profiles: `release`, which is optimised in 16 codegen units, and `dev`, which is not optimised.
pub const PROFILES: [&str; 2] = ["release", "dev"];

/// The project of a program, in a directory of its own.
pub struct Project {
    name: &'static str,
    directory: PathBuf,
    source: String,
}

impl Project {
    /// Writes the project of `program` with `functions` functions.
    pub fn write(program: Program, functions: usize) -> Result<Project> {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/compile").join(program.name);
        fs::create_dir_all(directory.join("src"))?;
        let Program { name, dependency, .. } = program;
        let manifest = format!(
            "[package]\nname = \"program-{name}\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n\n\
             [dependencies]\n{dependency}\n\n[profile.release]\ncodegen-units = 16\n"
        );
        fs::write(directory.join("Cargo.toml"), manifest)?;
        Ok(Project { name, directory, source: source(&program, functions)? })
    }

    /// Compiles the program again. Returns the compiler's usage, and the number of sites in the program.
    pub fn build(&self, profile: &str) -> Result<(Usage, usize)> {
        fs::write(self.directory.join("src/main.rs"), &self.source)?;
        let file = self.directory.join("usage");
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(["build", "--quiet", "--message-format=json-render-diagnostics", "--profile", profile]);
        command.current_dir(&self.directory).env("CARGO_TARGET_DIR", self.directory.join("target"));
        // The wrapper is a copy of this program, because cargo may replace the original while it runs.
        let wrapper = self.directory.join("wrapper");
        fs::copy("/proc/self/exe", &wrapper)?;
        command.env("RUSTC_WORKSPACE_WRAPPER", wrapper).env(USAGE_FILE, &file);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("CARGO_PROFILE_") || text.starts_with("CARGO_PKG_") || text.ends_with("RUSTFLAGS") {
                command.env_remove(&name);
            }
        }
        let output = command.stderr(std::process::Stdio::inherit()).output()?;
        if !output.status.success() {
            return Err(format!(
                "cargo could not build the program {} (cargo has to download the crate static-keys)",
                self.name
            )
            .into());
        }
        let messages = String::from_utf8_lossy(&output.stdout).into_owned();
        let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let programs: Vec<Value> = messages.filter(|message| message["executable"].is_string()).collect();
        let [program] = &programs[..] else { return Err(format!("cargo built {} programs", programs.len()).into()) };
        if program["fresh"] != false {
            return Err(format!("cargo did not compile the program {} anew", self.name).into());
        }
        let path = program["executable"].as_str().unwrap_or_default();
        Ok((Usage::read(&file)?, Image::read(Path::new(path))?.sites))
    }
}

fn source(program: &Program, functions: usize) -> Result<String> {
    let mut text = String::from("use std::hint::black_box;\n\n");
    writeln!(text, "{}\n", program.key)?;
    writeln!(text, "#[cold]\n#[inline(never)]\nfn cold(x: u64) -> u64 {{\n    black_box(x) + 1\n}}\n")?;
    for number in 0..functions {
        writeln!(text, "#[inline(never)]\npub fn f{number}(x: u64) -> u64 {{")?;
        writeln!(text, "    let y = x.wrapping_mul({}) ^ {number};", 2 * number + 3)?;
        writeln!(text, "    if {} {{\n        return cold(y);\n    }}", program.check)?;
        writeln!(text, "    y.rotate_left({})\n}}\n", number % 63)?;
    }
    writeln!(text, "static ALL: [fn(u64) -> u64; {functions}] = [")?;
    for number in 0..functions {
        writeln!(text, "    f{number},")?;
    }
    writeln!(text, "];\n\nfn main() {{\n    {}\n    {}", program.first, program.flip)?;
    writeln!(text, "    println!(\"{{}}\", ALL.iter().fold(1, |x, f| f(x)));\n}}")?;
    Ok(text)
}
