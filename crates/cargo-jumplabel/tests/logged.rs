//! Tests `cargo jumplabel log` on copies of a program, test-crates/logged, with upstream's log and with the patched one.

mod project;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use jumplabel_testing::breadth::{some_of, tests_all};
use jumplabel_testing::cargo::{Build, run};
use project::{copy, fails, repository, succeeds};

/// The program with upstream's log, with the patched one, and with the patched one in a fallback build, which patches no code.
struct Programs {
    upstream: PathBuf,
    patched: PathBuf,
    fallback: Option<PathBuf>,
}

fn build(folder: &Path, name: &str, features: &str, flags: &str) -> PathBuf {
    project::build_of("logged", folder, name, features, flags)
}

fn programs() -> &'static Programs {
    static PROGRAMS: OnceLock<Programs> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        let [before, after] = ["logged-upstream", "logged-patched"].map(|name| copy("logged", name));
        let says = succeeds(&after, &["log"]);
        assert!(says.contains("Each callsite of log 0.4."), "{says}");
        let (upstream, patched) = (build(&before, "upstream", "", ""), build(&after, "patched", "patched", ""));
        let fallback = tests_all().then(|| build(&after, "fallback", "", "--cfg jumplabel_fallback"));
        succeeds(&after, &["log", "--check"]);
        Programs { upstream, patched, fallback }
    })
}

fn output(program: &Path, arguments: &[&str]) -> String {
    run(Command::new(program).args(arguments))
}

/// A program prints the same as with upstream's log, for each level and each logger.
#[test]
fn the_same_is_printed() {
    let programs = programs();
    for level in ["off", "error", "warn", "info", "debug", "trace"] {
        for target in ["", "chatty", "elsewhere", "computed.4"] {
            let expected = output(&programs.upstream, &["print", level, target]);
            for patched in [&programs.patched].into_iter().chain(&programs.fallback) {
                assert_eq!(output(patched, &["print", level, target]), expected, "{level} {target}");
            }
        }
        let expected = output(&programs.upstream, &["print", level, ""]);
        assert_eq!(output(&programs.patched, &["refused", level]), expected, "where nobody may write code, {level}");
    }
    // Shows that the comparison can fail: outputs of two levels differ.
    let [debug, trace] = ["debug", "trace"].map(|level| output(&programs.upstream, &["print", level, ""]));
    assert!(debug.contains("costly") && trace.contains("costlier") && debug != trace, "{debug}");
}

/// Keys follow the maximum level at once, even if another thread changes it. They also follow what the logger says when it is asked.
#[test]
fn keys_follow() {
    let programs = programs();
    assert!(output(&programs.upstream, &["status"]).contains("run `cargo jumplabel log`"));
    for case in ["keys", "recovers"] {
        assert!(output(&programs.patched, &[case]).ends_with("ok\n"));
    }
    for program in [&programs.upstream, &programs.patched] {
        assert!(output(program, &["reloads"]).ends_with("ok\n"));
    }
    let said = output(&programs.patched, &["asked"]);
    let first = "TRACE chatty chatty/src/lib.rs:11 one 2";
    let (asked, level) = said.split_at(said.find(first).unwrap());
    let lines = |what: &str| asked.lines().filter(|line| line.contains(what)).count();
    let of = ["DEBUG elsewhere ", "WARN elsewhere::constant ", "TRACE computed.4 ", " chatty ", " logged "].map(lines);
    assert_eq!(of, [1, 1, 1, 0, 0], "{said}");
    // After a change of the maximum level, the logger is asked about each line, as with upstream's log.
    let expected = output(&programs.upstream, &["print", "trace", "chatty"]);
    assert!(level.contains("generic 1") && expected.contains(level), "{level}{expected}");
}

/// A version that nobody has tried is refused. Each version that the tool knows can be patched, compiles, and can be taken back.
#[test]
fn versions() {
    let folder = copy("logged", "log-versions").join("chatty");
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap() + "\n[workspace]\n";
    fs::write(folder.join("Cargo.toml"), &manifest).unwrap();
    let cargo = |verb: &str, arguments: &[&str]| {
        let mut command = Build::of("logged").command(verb);
        // A warning of a patched package would fail.
        command.env("CARGO_TARGET_DIR", folder.join("target")).env("RUSTFLAGS", "-Dwarnings");
        run(command.current_dir(&folder).args(arguments));
    };
    cargo("generate-lockfile", &[]);
    let repository = repository();
    let patch = ["log", "--jumplabel", repository.to_str().unwrap()];
    for &version in
        some_of(2, &["0.4.27", "0.4.35", "0.4.28", "0.4.29", "0.4.30", "0.4.31", "0.4.32", "0.4.33", "0.4.34"])
    {
        cargo("update", &["-p", "log", "--precise", version]);
        succeeds(&folder, &patch);
        cargo("check", &[]);
        succeeds(&folder, &["log", "--check"]);
        succeeds(&folder, &["log", "--remove"]);
        assert_eq!(fs::read_to_string(folder.join("Cargo.toml")).unwrap(), manifest);
        let lock = fs::read_to_string(folder.join("Cargo.lock")).unwrap();
        assert!(lock.contains(&format!("name = \"log\"\nversion = \"{version}\"\nsource")), "{lock}");
    }
    cargo("update", &["-p", "log", "--precise", "0.4.26"]);
    fails(&folder, &patch, "Cargo.lock has log 0.4.26, which nobody has tried yet");
    assert!(!folder.join("jumplabel-patches").exists());
}
