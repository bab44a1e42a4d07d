//! `make install-tool` and `make uninstall-tool`.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use jumplabel_testing::{breadth, programs};

use crate::programs::scratch;

/// `make` of the workspace, with these words.
fn make(words: &[&str]) -> Output {
    let mut make = Command::new("make");
    make.arg("-C").arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).arg(concat!("CARGO=", env!("CARGO"))).args(words);
    // A target directory of its own: the one of the running `cargo test` may be locked.
    make.env_remove("MAKEFLAGS").env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("tool"));
    make.output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// An empty folder.
fn empty(name: &str) -> PathBuf {
    let folder = scratch(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// All files below a folder, as text, with their modes.
fn files(folder: &Path) -> BTreeSet<(String, u32)> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let mode = path.metadata().unwrap().permissions().mode() & 0o777;
                found.insert((path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned(), mode));
            }
        }
    }
    found
}

/// The folder of the tool that cargo has built for these tests.
fn built() -> &'static str {
    Path::new(env!("CARGO_BIN_EXE_jumplabel")).parent().unwrap().to_str().unwrap()
}

/// Installs and uninstalls: what is there in between is what the tool says of itself, and nothing of it stays.
fn installed_and_uninstalled(name: &str, more: &[&str]) {
    let stage = empty(name);
    fs::create_dir_all(stage.join("opt/bin")).unwrap();
    fs::write(stage.join("opt/bin/another"), "").unwrap();
    let before = files(&stage);
    let destination = format!("DESTDIR={}", stage.display());
    let words = |goal| [&[goal, &*destination, "PREFIX=/opt"], more].concat();
    let output = make(&words("install-tool"));
    assert!(output.status.success(), "{}", said(&output));

    let pages = empty(&format!("{name}-pages"));
    let tool = stage.join("opt/bin/jumplabel");
    assert!(Command::new(&tool).arg("man").arg(&pages).status().unwrap().success());
    let pages = files(&pages).into_iter().map(|(page, _)| page).chain(["jumplabel-cc.1".into()]);
    let mut expected: BTreeSet<_> = pages.map(|page| (format!("opt/share/man/man1/{page}"), 0o644)).collect();
    assert!(expected.len() > 10, "{expected:?}");
    for (file, mode) in [
        ("bin/jumplabel", 0o755),
        ("bin/jumplabel-cc", 0o755),
        ("share/bash-completion/completions/jumplabel", 0o644),
        ("share/zsh/site-functions/_jumplabel", 0o644),
        ("share/fish/vendor_completions.d/jumplabel.fish", 0o644),
    ] {
        expected.insert((format!("opt/{file}"), mode));
    }
    let installed: BTreeSet<_> = files(&stage).difference(&before).cloned().collect();
    assert_eq!(installed, expected);
    let bash = fs::read_to_string(stage.join("opt/share/bash-completion/completions/jumplabel")).unwrap();
    assert!(bash.contains("JUMPLABEL_COMPLETE"), "{bash}");

    let output = make(&words("uninstall-tool"));
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(files(&stage), before, "what `uninstall-tool` leaves, or takes away from others");
}

#[test]
fn from_a_folder() {
    installed_and_uninstalled("install-tool", &[&format!("TOOL={}", built())]);
}

/// The same, where cargo builds the tool, as `make install-tool` does: two minutes.
#[test]
fn by_cargo() {
    if breadth::tests_all() {
        installed_and_uninstalled("install-tool-by-cargo", &[]);
    }
}

/// A tool with a page that uninstalling would not know, one that does not run, and none.
#[test]
fn refused() {
    let (stage, twin) = (empty("install-tool-refused"), empty("install-tool-twin"));
    let (destination, tool) = (format!("DESTDIR={}", stage.display()), format!("TOOL={}", twin.display()));
    let refused = |because: &str| {
        let output = make(&["install-tool", &destination, &tool]);
        assert!(!output.status.success() && said(&output).contains(because), "{}", said(&output));
        assert!(files(&stage).is_empty(), "{:?}", files(&stage));
    };
    refused("there is no such program");
    let script = |text: &str| {
        for name in ["jumplabel", "jumplabel-cc"] {
            let file = twin.join(name);
            fs::write(&file, format!("#!/bin/sh\n{text}\n")).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
            programs::release(&file).unwrap();
        }
    };
    script("exit 1");
    refused("does not run here");
    script(&format!("\"{}/jumplabel\" \"$@\" && if [ \"$1\" = man ]; then : >\"$2/jumplabel-new.1\"; fi", built()));
    refused("> jumplabel-new.1");
    for variable in ["PREFIX=relative", "ZSHDIR=/with a blank", "BINDIR=bin"] {
        let output = make(&["install-tool", &destination, &format!("TOOL={}", built()), variable]);
        assert!(!output.status.success() && said(&output).contains("must be an absolute path"), "{}", said(&output));
    }
    assert!(files(&stage).is_empty(), "{:?}", files(&stage));
}
