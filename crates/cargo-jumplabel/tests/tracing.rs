//! Tests `cargo jumplabel tracing` on copies of a program, test-crates/traced, with upstream's tracing and with the patched one.

#[path = "tracing/fleet.rs"]
mod fleet;
#[cfg(target_arch = "x86_64")] // where a word for the GOT is known
#[path = "tracing/late.rs"]
mod late;
#[path = "tracing/live.rs"]
mod live;
#[path = "tracing/printed.rs"]
mod printed;
mod project;
#[path = "tracing/tracers.rs"]
mod tracers;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use jumplabel_testing::breadth::{some_of, tests_all};
use jumplabel_testing::cargo::{Build, run};
use project::{build, build_with, copy, fails, repository, succeeds, tool};

/// The program with upstream's tracing and with the patched one.
struct Programs {
    upstream: PathBuf,
    patched: PathBuf,
    /// Both programs, with the feature `log`.
    log: Option<[PathBuf; 2]>,
    /// The patched program in a fallback build, which patches no code.
    fallback: Option<PathBuf>,
}

fn programs() -> &'static Programs {
    static PROGRAMS: OnceLock<Programs> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        let [before, after] = ["upstream", "patched"].map(|name| copy("traced", name));
        succeeds(&after, &["tracing"]);
        let (upstream, patched) = (build(&before, ""), build(&after, "patched"));
        let log = tests_all().then(|| [build(&before, "log"), build(&after, "patched,log")]);
        let fallback = tests_all().then(|| build_with(&after, "fallback", "", "--cfg jumplabel_fallback"));
        succeeds(&after, &["tracing", "--check"]);
        Programs { upstream, patched, log, fallback }
    })
}

fn output(program: &Path, arguments: &[&str]) -> String {
    run(Command::new(program).args(arguments))
}

/// A program prints the same as with upstream's tracing, for each filter: events, spans, results, lines of the crate `log`.
#[test]
fn the_same_is_printed() {
    let programs = programs();
    for filter in [
        "off",
        "warn",
        "info",
        "debug",
        "trace",
        "info,noisy=trace",
        "off,elsewhere=trace",
        "warn,[work]=debug",
        "[parent{n=3}]=trace",
        "off,spans=info",
    ] {
        let log = programs.log.as_ref().map(|[upstream, patched]| (upstream, patched));
        for (upstream, patched) in log.into_iter().chain([(&programs.upstream, &programs.patched)]) {
            for case in ["print", "log"] {
                let expected = output(upstream, &[case, filter]);
                assert_eq!(output(patched, &[case, filter]), expected, "{case} {filter}");
            }
        }
        let expected = output(&programs.upstream, &["print", filter]);
        if let Some(fallback) = &programs.fallback {
            assert_eq!(output(fallback, &["print", filter]), expected, "in the fallback, {filter}");
        }
        assert_eq!(output(&programs.patched, &["refused", filter]), expected, "where nobody may write code, {filter}");
    }
    // Shows that the comparison can fail: outputs of two filters differ.
    let [debug, trace] = ["debug", "trace"].map(|filter| output(&programs.upstream, &["print", filter]));
    assert!(debug.contains("costly") && trace.contains("costlier") && debug != trace);
    if let Some([upstream_log, _]) = &programs.log {
        let [with, without] = [upstream_log, &programs.upstream].map(|program| output(program, &["log", "off"]));
        assert!(with.contains("log: ") && !without.contains("log: "));
    }
}

/// Programs behave the same with keys as without them: scoped subscribers, a layer that flips, one that panics, reloads while another thread runs,
/// or in another thread, fork.
#[test]
fn programs_do_what_they_did() {
    let programs = programs();
    for case in ["scoped", "flips", "panics", "reloads", "forks", "elsewhere", "meanwhile"] {
        let expected = output(&programs.upstream, &[case]);
        for patched in
            programs.log.iter().map(|[_, patched]| patched).chain([&programs.patched]).chain(&programs.fallback)
        {
            assert_eq!(output(patched, &[case]), expected, "{case}");
        }
    }
}

/// Keys follow filters. Callsites that are chosen are shown whatever filters say, and no others are.
#[test]
fn keys_and_dynamic_debug() {
    let programs = programs();
    assert!(output(&programs.upstream, &["status"]).contains("run `cargo jumplabel tracing`"));
    assert!(output(&programs.patched, &["keys"]).ends_with("ok\n"));
    for case in ["followed", "layers"] {
        assert_eq!(output(&programs.patched, &[case]), "ok\n", "{case}");
    }
    for case in ["narrow", "reached"] {
        assert!(output(&programs.patched, &[case]).ends_with("ok\n"), "{case}");
    }
    let shown = output(&programs.patched, &["shows"]);
    let results = ["\nOk(4)\n", "\nOk(()) 5\n", "\nOk(true) Ok((0, 0))\n"];
    let at: Vec<_> =
        results.iter().map(|result| shown.find(result).unwrap_or_else(|| panic!("{result}: {shown}"))).collect();
    let (first, second, third) = (&shown[at[0]..at[1]], &shown[at[1]..at[2]], &shown[at[2]..]);
    for line in ["DEBUG elsewhere: in 2 y=3", "DEBUG other: text a=1 b=Some(3)"] {
        assert!(first.contains(line) && second.contains(line), "{line}\n{shown}");
    }
    assert!(!first.contains("TRACE noisy: one x=2") && second.contains("TRACE noisy: one x=2"), "{shown}");
    for nobody in ["root", "what comes", "parent", "work"] {
        assert!(!shown.contains(nobody), "{shown}");
    }
    assert!(!shown[..at[0]].contains("elsewhere") && !third.contains("elsewhere"), "{shown}");
}

/// In a copy of the program, the command writes the packages, `--check` accepts them and finds changes of them, and `--remove` undoes everything.
#[test]
fn there_and_back() {
    let folder = copy("traced", "there-and-back");
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    fails(&folder, &["tracing", "--check"], "lacks lines of [patch.crates-io]");
    let says = succeeds(&folder, &["tracing"]);
    assert!(says.contains("has a static key now"), "{says}");
    succeeds(&folder, &["tracing", "--check"]);
    // A second run changes nothing.
    let lines = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    succeeds(&folder, &["tracing"]);
    assert_eq!(fs::read_to_string(folder.join("Cargo.toml")).unwrap(), lines);
    // Somebody edits or removes a file.
    let keys = folder.join("jumplabel-patches/tracing-core/src/callsite/keys.rs");
    fs::write(&keys, fs::read_to_string(&keys).unwrap() + "\n").unwrap();
    fails(&folder, &["tracing", "--check"], "keys.rs is not what would be written now");
    fs::remove_file(&keys).unwrap();
    fails(&folder, &["tracing", "--check"], "keys.rs is not what would be written now");
    succeeds(&folder, &["tracing"]);
    succeeds(&folder, &["tracing", "--check"]);
    succeeds(&folder, &["tracing", "--remove"]);
    assert_eq!(fs::read_to_string(folder.join("Cargo.toml")).unwrap(), manifest);
    assert!(!folder.join("jumplabel-patches").exists());
    succeeds(&folder, &["tracing", "--remove"]);
}

/// Each command that cannot work fails, and says what to do. It writes nothing.
#[test]
fn refusals() {
    let folder = copy("traced", "refusals");
    let manifest = folder.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    let with = |from: &str, to: &str| fs::write(&manifest, text.replace(from, to)).unwrap();
    fails(&folder, &["tracing", "--jumplabel", "nowhere"], "--jumplabel nowhere: this is no checkout");
    // Somebody else's line patches the crate already.
    fs::write(
        &manifest,
        format!("{text}\n[patch.crates-io]\ntracing = {{ git = \"https://example.invalid/tracing\" }}\n"),
    )
    .unwrap();
    let output = tool(&folder, &["tracing", "--offline"]);
    assert!(!output.status.success());
    // These programs do not use tracing or fail.
    let other = copy("many", "no-tracing");
    fails(&other, &["tracing"], "the program does not depend on tracing");
    fails(&other, &["fail"], "the program does not depend on fail");
    // A program without jumplabel has to say where it comes from.
    let noisy = folder.join("noisy");
    fs::write(noisy.join("Cargo.toml"), fs::read_to_string(noisy.join("Cargo.toml")).unwrap() + "\n[workspace]\n")
        .unwrap();
    with("noisy = { path = \"noisy\" }", "");
    fs::copy(folder.join("Cargo.lock"), noisy.join("Cargo.lock")).unwrap();
    fails(&noisy, &["tracing"], "say where it comes from, by --jumplabel");
    assert!(!noisy.join("jumplabel-patches").exists() && !folder.join("jumplabel-patches").exists());
    succeeds(&noisy, &["tracing", "--jumplabel", repository().to_str().unwrap()]);
    succeeds(&noisy, &["tracing", "--check", "--jumplabel", repository().to_str().unwrap()]);
    succeeds(&noisy, &["tracing", "--check"]);
}

/// Versions of tracing and of tracing-core that belong together, the oldest first.
const VERSIONS: [(&str, &str); 6] = [
    ("0.1.40", "0.1.32"),
    ("0.1.41", "0.1.33"),
    ("0.1.41", "0.1.34"),
    ("0.1.42", "0.1.35"),
    ("0.1.43", "0.1.35"),
    ("0.1.44", "0.1.36"),
];

/// Each version that the tool knows can be patched, and compiles. If Cargo.lock gets a newer version, `--check` fails. An untried version is refused.
#[test]
fn versions() {
    let folder = copy("traced", "versions").join("noisy");
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    fs::write(folder.join("Cargo.toml"), manifest.clone() + "\n[workspace]\n").unwrap();
    let cargo = |verb: &str, arguments: &[&str]| {
        let mut command = Build::of("traced").command(verb);
        // A warning of a patched package would fail.
        command.env("CARGO_TARGET_DIR", folder.join("target")).env("RUSTFLAGS", "-Dwarnings");
        run(command.current_dir(&folder).args(arguments));
    };
    let precise = |name: &str, version: &str| cargo("update", &["-p", name, "--precise", version]);
    cargo("generate-lockfile", &[]);
    let repository = repository();
    let patch = ["tracing", "--jumplabel", repository.to_str().unwrap()];
    for &(tracing, core) in some_of(1, &VERSIONS) {
        precise("tracing", tracing);
        precise("tracing-core", core);
        succeeds(&folder, &patch);
        let patched = fs::read_to_string(folder.join("jumplabel-patches/tracing/Cargo.toml")).unwrap();
        assert!(patched.contains(&format!("\"{tracing}\"")), "{patched}");
        cargo("check", &[]);
        succeeds(&folder, &["tracing", "--check"]);
        succeeds(&folder, &["tracing", "--remove"]);
        let lock = fs::read_to_string(folder.join("Cargo.lock")).unwrap();
        assert!(lock.contains(&format!("name = \"tracing\"\nversion = \"{tracing}\"\nsource")), "{lock}");
    }
    // The program requires a newer version than the patched one.
    precise("tracing", "0.1.40");
    succeeds(&folder, &patch);
    let patched = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    fs::write(folder.join("Cargo.toml"), patched.replace("tracing = \"0.1\"", "tracing = \"0.1.43\"")).unwrap();
    precise("tracing", "0.1.44");
    let check = ["tracing", "--check", patch[1], patch[2]];
    fails(&folder, &check, "the patched tracing is not that of Cargo.lock: run the command again");
    succeeds(&folder, &patch);
    succeeds(&folder, &["tracing", "--check"]);
    succeeds(&folder, &["tracing", "--remove"]);
    fs::write(folder.join("Cargo.toml"), manifest + "\n[workspace]\n").unwrap();
    precise("tracing", "0.1.37");
    fails(&folder, &patch, "Cargo.lock has tracing 0.1.37, which nobody has tried yet");
}
