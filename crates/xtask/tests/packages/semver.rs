//! Tests that each published library still has the public items of an earlier commit, `BASE`. `cargo semver-checks` has more rules, but takes longer
//! to compile than everything here. This test does not find a trait that gets a required item, a new field of a structure that programs make by a
//! literal, another layout, or another behaviour.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use jumplabel_testing::breadth::leave_out;

use super::manifests::published;
use super::{printed, root, scratch};

/// Until 0.1.0 is released: the last commit that broke programs. The next commit that does so puts its own name here. From then on: the tag `v0.1.0`.
const BASE: &str = "d4fdd11671981663cd39abda7318155ed8ff012f";
/// The compiler of tests/public_api.rs.
const TOOLCHAIN: &str = "1.88.0";

/// The published libraries, without that of the tool, which no other program uses.
fn libraries() -> Vec<String> {
    let is_library = |target: &serde_json::Value| target["kind"].as_array().unwrap().iter().any(|kind| kind == "lib");
    let packages = published().into_iter().filter(|package| {
        package["targets"].as_array().unwrap().iter().any(is_library) && package["name"] != "jumplabel-cli"
    });
    packages.map(|package| package["name"].as_str().unwrap().to_owned()).collect()
}

/// The public items of libraries, one a line, in the workspace in this folder.
fn items(libraries: &[String], workspace: &Path, target: &Path) -> BTreeMap<String, String> {
    let chosen: String = libraries.iter().map(|name| format!(" -p {name}")).collect();
    // The variable lets the stable rustdoc use options of nightly.
    let line = format!(
        "unset RUSTC RUSTDOC; RUSTC_BOOTSTRAP=1 RUSTDOCFLAGS='-Zunstable-options --output-format json' \
         rustup run {TOOLCHAIN} cargo doc --quiet --locked --no-deps --lib --target-dir {}{chosen}",
        target.display()
    );
    printed(&line, workspace);
    let read = |name: &String| {
        let file = target.join("doc").join(name.replace('-', "_")).with_extension("json");
        let builder = public_api::Builder::from_rustdoc_json(file).omit_blanket_impls(true);
        (name.clone(), builder.omit_auto_derived_impls(false).build().unwrap().to_string())
    };
    libraries.iter().map(read).collect()
}

/// The changes that break programs: items that are gone or have changed, and new variants of an enum on which programs may match without a default.
fn breaks(before: &str, now: &str) -> Vec<String> {
    let lines = |text: &str| -> BTreeSet<String> { text.lines().map(str::to_owned).collect() };
    let (before, now) = (lines(before), lines(now));
    // Programs do not notice that a function becomes const. If it is no longer const, their statics break.
    let is_there = |line: &String| now.contains(line) || now.contains(&line.replacen(" fn ", " const fn ", 1));
    let gone = before.iter().filter(|line| !is_there(line)).map(|line| format!("- {line}"));
    let closed: BTreeSet<_> = before.iter().filter_map(|line| line.strip_prefix("pub enum ")).collect();
    let is_variant = |line: &&String| {
        let path = line.strip_prefix("pub ").filter(|path| !path.contains(' ')).and_then(|path| path.rsplit_once("::"));
        path.is_some_and(|(of, _)| closed.contains(&of))
    };
    let new = now.difference(&before).filter(is_variant).map(|line| format!("+ {line}"));
    gone.chain(new).collect()
}

#[test]
fn broken_twins() {
    let listing = std::fs::read_to_string(root().join("docs/public-api.txt")).unwrap();
    assert_eq!(breaks(&listing, &listing), [""; 0]);
    let function = listing.lines().find(|line| line.contains("fn jumplabel::find_key(")).unwrap();
    let without = listing.replace(&format!("{function}\n"), "");
    assert_eq!(breaks(&listing, &without), [format!("- {function}")]);
    assert_eq!(breaks(&without, &listing), [""; 0], "a new function breaks nothing");
    let is_const = listing.replace(function, &function.replace("pub fn", "pub const fn"));
    assert_eq!(breaks(&listing, &is_const), [""; 0]);
    assert_eq!(breaks(&is_const, &listing).len(), 1, "const no more");
    assert_eq!(breaks(&listing, &listing.replace(function, &function.replace("pub fn", "pub unsafe fn"))).len(), 1);

    let before = "pub enum a::Closed\npub a::Closed::One\n#[non_exhaustive] pub enum a::Open\npub a::Open::One\n";
    let now = before.replace("::One\n", "::One\npub a::Closed::Two\npub a::Open::Two\npub a::Open::Two::field: u8\n");
    assert_eq!(breaks(before, &now), ["+ pub a::Closed::Two"]);
}

#[test]
#[ignore = "minutes: make release-check"]
fn nothing_goes() {
    let is_here = format!("git rev-parse --quiet --verify {BASE}^{{commit}} || true");
    if printed(&is_here, &root()).is_empty() {
        return leave_out("the history of this checkout");
    }
    let folder = scratch("semver");
    let (base, target) = (folder.join("base"), folder.join("target"));
    std::fs::create_dir_all(&base).unwrap();
    printed(&format!("git archive {BASE} | tar --extract --directory {}", base.display()), &root());
    let libraries = libraries();
    assert!(libraries.len() > 8 && libraries.contains(&"jumplabel-agent".to_owned()), "{libraries:?}");
    let before = items(&libraries, &base, &target);
    // A target directory of its own: in a shared one, cargo might take rustdoc's output for the one workspace as up to date for the other.
    let now = items(&libraries, &root(), &root().join("target/api"));
    for (library, before) in &before {
        assert!(before.lines().count() > 1, "{library} has no items: {before}");
        assert_eq!(breaks(before, &now[library]), [""; 0], "{library}: what {BASE} has is gone, or another");
    }

    // Broken twin: a function of the earlier commit is gone.
    let (file, library) = (base.join("crates/jumplabel-selector/src/lib.rs"), "jumplabel-selector");
    let source = std::fs::read_to_string(&file).unwrap();
    std::fs::write(file, source + "\n/// Goes.\npub fn goes(_: u8) {}\n").unwrap();
    let twin = items(&[library.to_owned()], &base, &target);
    assert_eq!(breaks(&twin[library], &now[library]), ["- pub fn jumplabel_selector::goes(_: u8)"]);
}
