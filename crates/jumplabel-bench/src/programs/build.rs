//! Builds the C programs. Each is compiled once for each way and linked once for each layout, with the library that `make install` installs.

use std::fs;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use object::{Object as _, ObjectSection, SectionKind};
use serde_json::Value;

use crate::{Result, cargo};

/// The directory for results.
pub fn directory() -> PathBuf {
    cargo::directory("programs")
}

/// The directory of the sources.
pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("programs")
}

/// The optimisation for all programs. If this command is not optimised, the programs are not either, because the test of an unoptimised command
/// checks only counts.
pub fn optimisation(quick: bool) -> &'static str {
    if cfg!(debug_assertions) {
        "-O0"
    } else if quick {
        "-O1"
    } else {
        "-O2"
    }
}

/// A C compiler, with the names that its command can have.
pub struct Compiler {
    pub name: &'static str,
    commands: &'static [&'static str],
}

pub const COMPILERS: [Compiler; 2] = [
    Compiler { name: "gcc", commands: &["gcc"] },
    Compiler {
        name: "clang",
        commands: &["clang", "clang-19", "clang-18", "clang-17", "clang-16", "clang-15", "clang-14"],
    },
];

impl Compiler {
    /// The first command of this compiler that is installed.
    pub fn command(&self) -> Option<&'static str> {
        let is_there = |command: &&&str| {
            std::env::var_os("PATH")
                .is_some_and(|path| std::env::split_paths(&path).any(|to| to.join(command).is_file()))
        };
        self.commands.iter().find(is_there).copied()
    }
}

/// A source file, and one way to compile it.
#[derive(Clone)]
pub struct Object {
    pub compiler: &'static Compiler,
    pub source: PathBuf,
    pub name: String,
    pub options: Vec<String>,
}

impl Object {
    pub fn file(&self) -> PathBuf {
        directory().join(format!("{}.o", self.name))
    }

    /// Bytes of its code.
    pub fn text(&self) -> Result<u64> {
        let file = fs::read(self.file())?;
        let object = object::File::parse(&*file)?;
        Ok(object.sections().filter(|section| section.kind() == SectionKind::Text).map(|section| section.size()).sum())
    }

    fn command(&self) -> Command {
        let mut compiler = Command::new(self.compiler.command().unwrap_or(self.compiler.name));
        compiler
            .args(["-std=gnu11", "-ffunction-sections", "-c"])
            .args(&self.options)
            .arg("-I")
            .arg(installed().join("include"));
        compiler.arg(&self.source).arg("-o").arg(self.file());
        compiler
    }

    /// A text that differs if the object must be compiled again: the command, and the times of all source files.
    fn recipe(&self) -> Result<String> {
        let mut recipe = format!("{:?}\n", self.command());
        for file in headers().into_iter().chain([self.source.clone()]) {
            let changed = fs::metadata(&file)?.modified()?.duration_since(std::time::UNIX_EPOCH)?;
            recipe += &format!("{} {}\n", file.display(), changed.as_nanos());
        }
        Ok(recipe)
    }
}

/// The headers that the sources include.
fn headers() -> Vec<PathBuf> {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../jumplabel-capi/include/jumplabel");
    let own = sources().join("asserted/assert.h");
    ["jump_label.h", "site.h", "arch.h"].map(|name| include.join(name)).into_iter().chain([own]).collect()
}

/// The directory in which the library is installed.
pub fn installed() -> PathBuf {
    directory().join("installed")
}

/// Waits until no other process builds. Other processes wait until the result is dropped.
pub fn lock() -> Result<fs::File> {
    fs::create_dir_all(directory())?;
    let file = fs::File::create(directory().join("lock"))?;
    // SAFETY: the descriptor is this function's own file.
    match unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) } {
        0 => Ok(file),
        _ => Err(std::io::Error::last_os_error().into()),
    }
}

/// Installs the library, as its users do.
pub fn install() -> Result<()> {
    let capi = Path::new(env!("CARGO_MANIFEST_DIR")).join("../jumplabel-capi");
    let mut make = Command::new("make");
    make.args(["-s", "install", "-C"]).arg(capi.canonicalize()?).arg(format!("PREFIX={}", installed().display()));
    for name in ["MAKEFLAGS", "MAKELEVEL", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"] {
        make.env_remove(name);
    }
    ran(make.stdout(Stdio::null()).stderr(Stdio::piped()))
}

/// Compiles the objects that are missing or out of date, two at a time.
pub fn compile(objects: &[Object]) -> Result<()> {
    let stamp = |object: &Object| directory().join(format!("{}.recipe", object.name));
    let mut stale = Vec::new();
    for object in objects {
        let recipe = object.recipe()?;
        if !object.file().exists() || !fs::read_to_string(stamp(object)).is_ok_and(|was| was == recipe) {
            stale.push((object, recipe));
        }
    }
    for pair in stale.chunks(2) {
        let mut started = Vec::new();
        for (object, recipe) in pair {
            eprintln!("jumplabel-bench: compiling {}", object.name);
            let child = object.command().spawn().map_err(|error| format!("{}: {error}", object.compiler.name))?;
            started.push((object, recipe, child));
        }
        for (object, recipe, mut child) in started {
            if !child.wait()?.success() {
                let Compiler { name, .. } = object.compiler;
                return Err(format!("{name} could not compile {}: {:?}", object.name, object.command()).into());
            }
            fs::write(stamp(object), recipe)?;
        }
    }
    Ok(())
}

/// Links a program. `layout` is the number of an order of its functions; 0 is the order in the files.
pub fn link(objects: &[&Object], layout: usize, program: &Path) -> Result<()> {
    let mut gcc = Command::new("gcc");
    gcc.args(objects.iter().map(|object| object.file())).arg(installed().join("lib/libjumplabel.a"));
    gcc.args(["-lpthread", "-ldl", "-lm", "-fuse-ld=lld", "-Wl,--gc-sections", "-o"]).arg(program);
    if layout > 0 {
        gcc.arg(format!("-Wl,--shuffle-sections=.text.*={layout}"));
    }
    ran(&mut gcc)
}

/// Builds a program that loads shared libraries with sites of its key. Returns the command that runs it.
pub fn objects() -> Result<Command> {
    /// The number of libraries that the program loads.
    const LIBRARIES: usize = 100;
    let _lock = lock()?;
    install()?;
    let (to, include, libraries) = (directory().join("objects"), installed().join("include"), installed().join("lib"));
    fs::create_dir_all(&to)?;
    let gcc = |source: &str| {
        let mut gcc = Command::new("gcc");
        gcc.args(["-std=gnu11", "-O2", "-I"]).arg(&include).arg(sources().join(source)).arg("-o");
        gcc
    };
    let first = to.join("plugin-0.so");
    ran(gcc("plugin.c").arg(&first).args(["-shared", "-fPIC"]))?;
    for number in 1..LIBRARIES {
        fs::copy(&first, to.join(format!("plugin-{number}.so")))?;
    }
    let program = to.join("objects");
    let mut rpath = std::ffi::OsString::from("-Wl,-rpath,");
    rpath.push(&libraries);
    ran(gcc("objects.c")
        .arg(&program)
        .arg("-rdynamic")
        .arg("-L")
        .arg(&libraries)
        .args(["-ljumplabel", "-ldl"])
        .arg(rpath))?;
    let mut command = Command::new(program);
    command.arg(to);
    Ok(command)
}

/// The directory of sqlite's sources, which are part of a crate that cargo downloads.
pub fn sqlite() -> Result<PathBuf> {
    let project = directory().join("sqlite");
    fs::create_dir_all(project.join("src"))?;
    fs::write(project.join("src/lib.rs"), "")?;
    let manifest = "[package]\nname = \"sources\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n\n\
                    [dependencies]\nlibsqlite3-sys = \"=0.35.0\"\n";
    fs::write(project.join("Cargo.toml"), manifest)?;
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let output = cargo.args(["metadata", "--format-version=1"]).current_dir(&project).output()?;
    let metadata: Value = serde_json::from_slice(&output.stdout)
        .map_err(|_| format!("cargo could not download libsqlite3-sys: {}", String::from_utf8_lossy(&output.stderr)))?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let manifest = packages
        .filter(|package| package["name"] == "libsqlite3-sys")
        .find_map(|package| Some(Path::new(package["manifest_path"].as_str()?).parent()?.join("sqlite3")));
    manifest.filter(|sources| sources.join("sqlite3.c").exists()).ok_or("libsqlite3-sys has no sqlite3.c".into())
}

fn ran(command: &mut Command) -> Result<()> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{command:?}\n{}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}
