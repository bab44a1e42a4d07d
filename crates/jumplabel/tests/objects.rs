//! Several objects in one process: a program and plugins with an instance of the library each (test-crates/objects), and keys and
//! sites in different objects of one instance (test-crates/dylib).
//!
//! Each case is a process of its own that checks itself and prints `ok`. Where a plugin is broken on purpose, the same case
//! must fail, and say what it found.
//!
//! Where this test was built for another machine than the one that builds it, JUMPLABEL_OBJECTS names the program, which lies
//! beside its plugins (cargo xtask builds them).
#![cfg(all(target_os = "linux", target_env = "gnu", jumplabel_sites))]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use jumplabel_testing::breadth;
use jumplabel_testing::cargo::{self, Build};

/// The program and its plugins, built once.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let program = std::env::var_os("JUMPLABEL_OBJECTS").map_or_else(build, PathBuf::from);
        assert_eq!(kind(&program), kind(Path::new("/proc/self/exe")), "{program:?} is another machine's");
        program
    })
}

fn build() -> PathBuf {
    // With debug information, because tests/rewritten.rs needs some: it is built once for both.
    let build = Build::of("objects").env("CARGO_PROFILE_RELEASE_DEBUG", "1").args(&["--workspace"]);
    build.results_in("built", &["objects", "host", "libplugin.so", "libsecond.so", "liblinger.so"]).swap_remove(0)
}

/// Class, order of bytes and machine of an ELF file.
fn kind(file: &Path) -> (Vec<u8>, Vec<u8>) {
    let bytes = std::fs::read(file).unwrap_or_else(|error| panic!("{file:?}: {error}"));
    (bytes[4..6].to_vec(), bytes[18..20].to_vec())
}

fn case(arguments: &[&str], writer: &str) -> Output {
    case_of(program(), arguments, writer)
}

fn case_of(program: &Path, arguments: &[&str], writer: &str) -> Output {
    let mut command = Command::new(program);
    command.args(arguments).env("JUMPLABEL_WRITER", writer).env_remove("RUST_BACKTRACE");
    command.output().unwrap()
}

fn passes(arguments: &[&str], writer: &str) {
    let output = case(arguments, writer);
    let printed = cargo::printed(&output);
    assert!(
        output.status.success() && printed.ends_with("ok\n"),
        "{arguments:?} {writer}: {}\n{printed}",
        output.status
    );
}

/// A case of the program that has no instance of the library itself.
fn host_passes(case: &str, writer: &str) {
    passes_in(&program().with_file_name("host"), case, writer);
}

fn passes_in(host: &Path, case: &str, writer: &str) {
    let output = case_of(host, &[case], writer);
    let printed = cargo::printed(&output);
    assert!(output.status.success() && printed.ends_with("ok\n"), "{case} {writer}: {}\n{printed}", output.status);
}

fn fails(arguments: &[&str], message: &str) {
    let output = case(arguments, "auto");
    let printed = cargo::printed(&output);
    assert!(!output.status.success() && printed.contains(message), "{arguments:?}: {}\n{printed}", output.status);
}

const STAYS: &str = "the plugin stays loaded";
const LOCK: &str = "the plugin's lock does not keep the program out";

#[test]
fn loaded_before_the_first_flip() {
    passes(&["before"], "auto");
    fails(&["before", "own_lock"], LOCK);
}

#[test]
fn loaded_after_the_first_flip() {
    passes(&["after"], "auto");
    fails(&["after", "own_lock"], LOCK);
}

/// With each writer: two patchers on one page without a common lock crash at once with `mprotect`.
#[test]
fn flipped_at_the_same_time() {
    for writer in ["auto", "procmem", "mprotect", "remap"] {
        passes(&["concurrent"], writer);
    }
}

#[test]
fn unloaded_while_others_flip() {
    passes(&["unload"], "auto");
    passes(&["unload"], "mprotect");
    fails(&["unload", "pin"], STAYS);
}

#[test]
fn two_plugins() {
    passes(&["two"], "auto");
    fails(&["two", "own_lock"], LOCK);
    fails(&["two", "pin"], STAYS);
}

#[test]
fn fork_with_and_after_a_plugin() {
    passes(&["fork"], "auto");
    passes(&["fork"], "mprotect");
}

/// More than once, because the danger is in the moment before the worker's first step.
#[test]
fn unloaded_with_a_flip_due() {
    for _ in 0..10 {
        passes(&["deferred"], "auto");
    }
}

#[test]
fn loaded_while_others_flip_and_fork() {
    passes(&["storm"], "auto");
    passes(&["storm"], "mprotect");
}

#[test]
fn unloaded_before_it_is_restored() {
    passes(&["stuck"], "auto");
}

#[test]
fn unloaded_where_signals_cannot_be_blocked() {
    passes(&["unblocked"], "auto");
}

#[test]
fn flipped_in_a_constructor() {
    passes(&["early"], "auto");
}

/// Functions hear of flips by any instance, of any object's keys. The functions of a plugin are removed with the plugin.
#[test]
fn heard_of_in_all_instances() {
    passes(&["heard_program_first"], "auto");
    passes(&["heard_plugin_first"], "auto");
    fails(&["heard_program_first", "pin"], STAYS);
}

/// The C library calls a handler of fork that it has looked up, also if another thread unloads it before.
#[test]
fn handlers_of_fork_stay() {
    host_passes("fork_beside_dlclose", "auto");
    host_passes("fork_beside_two", "auto");
}

#[test]
fn only_the_first_plugin_stays() {
    host_passes("only_the_first_stays", "auto");
    host_passes("only_the_first_stays", "mprotect");
}

/// A static call leads to its default once its target was unloaded.
#[test]
fn a_target_goes() {
    host_passes("target_goes", "auto");
}

/// A flip never waits for a fork that waits for a lock of the flip's caller.
#[test]
fn any_order_of_locks() {
    host_passes("order_of_locks", "auto");
}

#[test]
fn flipped_in_a_child_before_the_handlers_of_the_library() {
    host_passes("handler_that_flips", "auto");
}

/// Flips reach the sites of a plugin whose destructors have run, because the process ends.
#[test]
fn flipped_while_the_process_ends() {
    for writer in ["auto", "mprotect"] {
        host_passes("exit", writer);
    }
}

/// A child that ends by `exit` asks the loader for nothing, because the loader's data were copied in the middle of a `dlopen`.
#[test]
fn children_exit_beside_dlopen() {
    host_passes("exit_in_children", "auto");
}

/// With musl, `dlclose` unloads nothing, and all destructors still run at the end of the process.
#[test]
#[cfg(target_arch = "x86_64")]
fn plugins_on_musl() {
    const TARGET: &str = "x86_64-unknown-linux-musl";
    if !cargo::has_target(None, TARGET) || Command::new("musl-gcc").arg("--version").output().is_err() {
        return breadth::leave_out(&format!("{TARGET} or musl-gcc"));
    }
    let unwinder = unwinder_for_musl();
    let build = Build {
        target: Some(TARGET),
        ..Build::of("objects")
            .args(&["--package", "host", "--package", "plugin", "--package", "second", "--package", "linger"])
            .env("RUSTFLAGS", format!("-Ctarget-feature=-crt-static -Lnative={}", unwinder.display()))
            .env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_LINKER", "musl-gcc")
    };
    let results = build.results(&["host", "libplugin.so", "libsecond.so", "liblinger.so"]);
    for case in ["fork_beside_dlclose", "order_of_locks", "handler_that_flips", "exit"] {
        passes_in(&results[0], case, "auto");
    }
    cargo::discard(&results);
}

/// A directory with the library for which Rust asks the linker: the machine's own unwinder is for glibc. This one says that nothing can be unwound,
/// and nothing is.
#[cfg(target_arch = "x86_64")]
fn unwinder_for_musl() -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("unwinder-for-musl");
    let [source, object] = ["stub.c", "stub.o"].map(|name| directory.join(name));
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(&source, "int _dl_find_object(void *a, void *r) { (void)a; (void)r; return -1; }\n").unwrap();
    cargo::run(Command::new("musl-gcc").args(["-c", "-fPIC", "-o"]).args([&object, &source]));
    let script = format!("GROUP ( {} -lgcc_eh -lgcc )\n", object.display());
    std::fs::write(directory.join("libgcc_s.so"), script).unwrap();
    directory
}

/// The sites of another object's keys are up to date before the first function of their object runs.
#[test]
#[cfg(target_arch = "x86_64")] // where a word for the GOT is known
fn keys_in_another_object() {
    let libraries = Command::new("rustc").args(["--print", "target-libdir"]).output().unwrap().stdout;
    let build = Build::of("dylib").args(&["--workspace"]).env("RUSTFLAGS", "--cfg jumplabel_dylib -Cprefer-dynamic");
    let results = build.results(&["dylib", "libshared.so", "liblate.so"]);
    let path = format!("{}:{}", results[0].parent().unwrap().display(), String::from_utf8_lossy(&libraries).trim());
    for writer in ["auto", "mprotect"] {
        let mut program = Command::new(&results[0]);
        program.env("LD_LIBRARY_PATH", &path).env("JUMPLABEL_WRITER", writer);
        assert!(cargo::run(&mut program).ends_with("ok\n"));
    }
    cargo::discard(&results);
}
