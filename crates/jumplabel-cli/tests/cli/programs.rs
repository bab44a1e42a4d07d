//! What the tool is tried on, and how it is called.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use jumplabel_testing::cargo::{self, Build};
use jumplabel_testing::programs;

/// The size of an object record.
pub const RECORD: usize = size_of::<jumplabel::format::Object>();

/// What the tool printed, without colours, and its exit code.
#[derive(Debug, PartialEq, Eq)]
pub struct Printed {
    pub code: u8,
    pub out: String,
    pub err: String,
}

/// Calls the tool in this process: a panic is one of the test.
pub fn jumplabel(words: &[&str]) -> Printed {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let all = ["jumplabel"].iter().chain(words).map(|&word| word.into());
    let code = jumplabel_cli::run(all, &mut out, &mut err);
    let plain = |bytes: Vec<u8>| anstream::adapter::strip_str(&String::from_utf8(bytes).unwrap()).to_string();
    Printed { code, out: plain(out), err: plain(err) }
}

/// The same for a file; it must succeed.
#[track_caller]
pub fn prints(command: &str, file: &Path, words: &[&str]) -> String {
    let printed = jumplabel(&[&[command, text(file)], words].concat());
    assert_eq!((printed.code, &*printed.err), (0, ""), "{command} {} {words:?}\n{}", file.display(), printed.out);
    printed.out
}

pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Where tests may write.
pub fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli").join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    path
}

/// A copy of a file, changed by a command that is told its name.
pub fn copy(file: &Path, name: &str, change: &[&str]) -> PathBuf {
    let to = scratch(name);
    programs::copy(file, &to).unwrap();
    if let [tool, arguments @ ..] = change {
        cargo::run(Command::new(tool).args(arguments).arg(&to));
    }
    to
}

/// A copy of a file, changed byte by byte.
pub fn edited(file: &Path, name: &str, edit: impl FnOnce(&mut Vec<u8>)) -> PathBuf {
    let to = scratch(name);
    let mut bytes = std::fs::read(file).unwrap();
    edit(&mut bytes);
    std::fs::write(&to, bytes).unwrap();
    to
}

/// test-crates/operated for this machine: the program, then the library.
pub fn native() -> &'static [PathBuf] {
    static BUILT: OnceLock<Vec<PathBuf>> = OnceLock::new();
    BUILT.get_or_init(|| Build::of("operated").results_in("native", &["operated", "liboperated.so"]))
}

pub fn program() -> &'static Path {
    &native()[0]
}

/// The same program at a fixed address.
pub fn fixed() -> &'static Path {
    static BUILT: OnceLock<Vec<PathBuf>> = OnceLock::new();
    let flags = ["-Crelocation-model=static", "-Clink-arg=-no-pie"];
    &BUILT.get_or_init(|| {
        Build::of("operated").args(&["--bin", "operated"]).link(&flags).results_in("fixed", &["operated"])
    })[0]
}

/// The C library and its headers, in a prefix of their own.
pub fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let (prefix, capi) = (scratch("prefix"), concat!(env!("CARGO_MANIFEST_DIR"), "/../jumplabel-capi"));
        let mut make = Command::new("make");
        make.args(["-C", capi, "install", concat!("CARGO=", env!("CARGO"))])
            .arg(format!("PREFIX={}", prefix.display()));
        make.env_remove("MAKEFLAGS").env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("libraries"));
        cargo::run(&mut make);
        prefix
    })
}

/// tests/c/operated.c, by a compiler with these options.
pub fn of_c(name: &str, compiler: &str, options: &str) -> PathBuf {
    compiled("tests/c/operated.c", name, compiler, options)
}

/// A program of C, or a library.
pub fn compiled(source: &str, name: &str, compiler: &str, options: &str) -> PathBuf {
    compiled_with("libjumplabel.a", source, name, compiler, options)
}

/// The same with one of the two libraries.
#[track_caller]
pub fn compiled_with(library: &str, source: &str, name: &str, compiler: &str, options: &str) -> PathBuf {
    let to = scratch(name);
    let library = prefix().join("lib").join(library);
    let mut command = Command::new(compiler);
    command.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE"]).args(options.split_whitespace());
    command.arg("-I").arg(prefix().join("include")).arg(source).arg(&library);
    command.arg(format!("-Wl,-rpath,{}", library.parent().unwrap().display()));
    cargo::run(command.args(["-lpthread", "-ldl", "-o"]).arg(&to).current_dir(env!("CARGO_MANIFEST_DIR")));
    to
}
