//! Runs upstream's own tests of tracing, tracing-core, tracing-subscriber and log, with upstream's crates and with the patched ones. Tests whose
//! outcomes differ must be those in a list. Cargo downloads the crates and compiles each twice. So this runs only on request, as in `make
//! release-check`: `cargo test -p cargo-jumplabel --test upstream -- --ignored`. Documentation tests are left out.

mod project;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cargo_metadata::{Message, MetadataCommand};
use jumplabel_testing::cargo::Build;
use project::{copy, copy_folder, repository, succeeds};
use toml_edit::{DocumentMut, InlineTable, value};

/// Tests that pass with upstream's crates and fail with the patched ones, and why.
const DIFFERING: [(&str, &str); 2] = [
    (
        "tracing filter_caching_is_lexically_scoped filter_caching_is_lexically_scoped",
        "counts how often a filter is asked: here it is asked about all callsites as soon as it is there",
    ),
    (
        "tracing filters_are_reevaluated_for_different_call_sites filters_are_reevaluated_for_different_call_sites",
        "counts how often a filter is asked, too",
    ),
];

/// Tests whose outcome is not compared, and why.
const RACING: [(&str, &str); 1] = [(
    "tracing-core missed_register_callsite event_before_register",
    "needs a thread to reach its callsite 50 us before another one has a subscriber; upstream fails as well if it reaches it later. The first \
     subscriber takes longer here",
)];

/// The crates whose tests are run.
const CRATES: [&str; 4] = ["log", "tracing", "tracing-core", "tracing-subscriber"];

/// The outcome of each test, by crate, file and name.
type Outcomes = BTreeMap<String, bool>;

/// The folder where cargo has a crate, in the version of the lock file.
fn source(folder: &Path, name: &str) -> PathBuf {
    let metadata = MetadataCommand::new().current_dir(folder).exec().unwrap();
    let package = metadata.packages.iter().find(|package| package.name == name).unwrap();
    package.manifest_path.parent().unwrap().into()
}

/// Adds the dependencies of a crate's tests that its published manifest lacks. Removes those of benchmarks.
fn complete(manifest: &Path) {
    let mut document: DocumentMut = fs::read_to_string(manifest).unwrap().parse().unwrap();
    document.remove("bench");
    let targets = document.get_mut("target").and_then(|targets| targets.as_table_like_mut());
    for (_, target) in targets.into_iter().flat_map(|targets| targets.iter_mut()) {
        target.as_table_like_mut().unwrap().remove("dev-dependencies");
    }
    let name = document["package"]["name"].as_str().unwrap().to_owned();
    if name == "tracing" || name == "tracing-subscriber" {
        let dependencies = document["dev-dependencies"].as_table_mut().unwrap();
        dependencies.remove("criterion");
        let mut mock = InlineTable::from_iter([("version", "=0.1.0-beta.3")]);
        if name == "tracing-subscriber" {
            mock.insert("features", toml_edit::Array::from_iter(["tracing-subscriber"]).into());
        }
        dependencies.insert("tracing-mock", value(mock));
    }
    fs::write(manifest, document.to_string()).unwrap();
}

/// A copy of test-crates/upstream-tests that contains the four crates. If `is_patched`, three of them are patched.
fn workspace(to: &str, is_patched: bool) -> PathBuf {
    let folder = copy("upstream-tests", to);
    let sources = CRATES.map(|name| source(&folder, name));
    if is_patched {
        for crates in ["tracing", "log"] {
            succeeds(&folder, &[crates, "--with-tests", "--jumplabel", repository().to_str().unwrap()]);
        }
    }
    let patches = folder.join("jumplabel-patches");
    for (name, source) in CRATES.iter().zip(sources) {
        if !patches.join(name).exists() {
            copy_folder(&source, &patches.join(name));
        }
        complete(&patches.join(name).join("Cargo.toml"));
    }
    let mut manifest: DocumentMut = fs::read_to_string(folder.join("Cargo.toml")).unwrap().parse().unwrap();
    manifest["workspace"]["members"] = value(toml_edit::Array::from_iter(["jumplabel-patches/*"]));
    for name in CRATES {
        manifest["patch"]["crates-io"][name]["path"] = value(format!("jumplabel-patches/{name}"));
    }
    fs::write(folder.join("Cargo.toml"), manifest.to_string()).unwrap();
    folder
}

/// Builds all tests and runs them. Returns their outcomes.
fn outcomes(folder: &Path) -> Outcomes {
    let mut command = Build::of("upstream-tests").command("test");
    command.current_dir(folder).env("CARGO_TARGET_DIR", folder.join("target"));
    command.args([
        "--no-run",
        "--quiet",
        "--lib",
        "--tests",
        "--message-format=json",
        "--features=tracing-subscriber/env-filter,log/std,log/serde,log/kv_std",
    ]);
    command.args(CRATES.iter().flat_map(|name| ["-p", name]));
    let output = command.stderr(Stdio::inherit()).output().unwrap();
    let mut outcomes = Outcomes::new();
    for message in Message::parse_stream(output.stdout.as_slice()).map(Result::unwrap) {
        let Message::CompilerArtifact(artifact) = message else { continue };
        let Some(program) = artifact.executable else { continue };
        let package = artifact.manifest_path.parent().unwrap();
        let file = format!("{} {}", package.file_name().unwrap(), artifact.target.name);
        // With two or more threads, libtest prints a test's name and its outcome as one line. A test that hangs counts as failed.
        let mut tests = Command::new("timeout");
        let output = tests.args(["600", program.as_str(), "--test-threads=2"]).current_dir(package).output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        let before = outcomes.len();
        for line in printed.lines() {
            let outcome = line.strip_prefix("test ").and_then(|line| line.rsplit_once(" ... "));
            if let Some((name, outcome @ ("ok" | "FAILED"))) = outcome {
                outcomes.insert(format!("{file} {name}"), outcome == "ok");
            }
        }
        let has_failed = outcomes.iter().any(|(name, is_ok)| name.starts_with(&format!("{file} ")) && !is_ok);
        outcomes.insert(format!("{file} (ends)"), output.status.success() || has_failed);
        println!("{file}: {} tests", outcomes.len() - before - 1);
    }
    assert!(output.status.success(), "not all tests were built");
    outcomes
}

#[test]
#[ignore = "downloads, and compiles for minutes"]
fn same_outcomes() {
    let [upstream, patched] = [("upstream-tests", false), ("upstream-tests-patched", true)]
        .map(|(name, is_patched)| outcomes(&workspace(name, is_patched)));
    let failing: Vec<_> = upstream.iter().filter(|(_, is_ok)| !**is_ok).collect();
    assert!(upstream.len() > 300 && failing.len() < 5, "of {} of upstream's tests: {failing:#?}", upstream.len());
    assert_eq!(upstream.keys().collect::<Vec<_>>(), patched.keys().collect::<Vec<_>>());
    let is_compared = |name: &str| RACING.iter().all(|(racing, _)| *racing != name);
    let differs = |name: &str| is_compared(name) && upstream[name] != patched[name];
    let differing: Vec<&str> = patched.keys().map(|name| &**name).filter(|name| differs(name)).collect();
    assert_eq!(
        differing,
        DIFFERING.map(|(name, _)| name),
        "other tests fail with the patched crates than those that are known: {DIFFERING:#?}"
    );
    assert!(RACING.iter().all(|(name, _)| patched.contains_key(*name)));
}
