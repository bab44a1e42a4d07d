//! Tests of `make source`: the files in its archive, and its bill of materials.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::{printed, root, scratch};

/// Files that builds leave in an unpacked archive: cargo's, those of Debian's tools, and the packages before they are packed.
const LEFT: [&str; 9] = [
    "target/debug/a",
    "fuzz/target/a",
    "debian/files",
    "debian/build/a",
    "debian/.debhelper/generated/a",
    "debian/debhelper-build-stamp",
    "debian/libjumplabel0.substvars",
    "debian/libjumplabel0/usr/lib/a",
    "debian/jumplabel.debhelper.log",
];
/// A file that nobody's tool leaves.
const NEW: &str = "debian/new";

/// A small folder that looks as if it was unpacked from an archive.
fn unpacked(name: &str) -> PathBuf {
    let folder = scratch(name);
    for file in ["Cargo.toml", ".cargo/config.toml", "debian/control", "debian/changelog", "packaging/source"] {
        put(&folder, file, &std::fs::read(root().join(file)).unwrap());
    }
    put(&folder, "vendor/a-1.0.0/Cargo.toml", b"");
    std::fs::set_permissions(folder.join("packaging/source"), std::fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

fn put(folder: &Path, file: &str, bytes: &[u8]) {
    std::fs::create_dir_all(folder.join(file).parent().unwrap()).unwrap();
    std::fs::write(folder.join(file), bytes).unwrap();
}

/// Archives of a folder have the same bits after builds in it.
#[test]
fn leftovers_stay_out() {
    let (folder, to) = (unpacked("leftovers"), scratch("leftovers-archive"));
    let archive = || {
        printed(&format!("SBOM=no packaging/source {}", to.display()), &folder);
        let files = printed("tar --list --file *.tar.xz", &to);
        (printed("cat *.sha256", &to), files)
    };
    let (sum, files) = archive();
    assert!(files.contains("/vendor/a-1.0.0/Cargo.toml\n") && files.contains("/debian/control\n"), "{files}");
    LEFT.iter().for_each(|file| put(&folder, file, b"left"));
    assert_eq!(archive(), (sum.clone(), files));
    // Broken twin: another file changes the archive.
    put(&folder, NEW, b"new");
    assert!(archive().0 != sum && archive().1.contains(NEW));
}

/// The bill of materials has each crate of Cargo.lock once, with the sum that it has there. The archive's folder has it, and its sum.
#[test]
fn bill_of_materials() {
    let (folder, to) = (unpacked("bill"), scratch("bill-archive"));
    // Stands in for `cargo xtask`, which would build the folder's own.
    let cargo = folder.join("cargo");
    put(&folder, "cargo", format!("#!/bin/sh\nshift\nexec {} \"$@\"\n", env!("CARGO_BIN_EXE_xtask")).as_bytes());
    std::fs::set_permissions(&cargo, std::fs::Permissions::from_mode(0o755)).unwrap();
    printed(&format!("CARGO={} packaging/source {}", cargo.display(), to.display()), &folder);
    printed("sha256sum --check --strict *.sha256", &to);
    assert_eq!(printed("wc -l <$(echo *.sha256)", &to).trim(), "2", "the archive, and the bill");

    let bill: Value = serde_json::from_str(&printed("cat *.cdx.json", &to)).unwrap();
    let direct = Command::new(env!("CARGO_BIN_EXE_xtask")).arg("sbom").current_dir("/").output().unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&direct.stdout).unwrap(), bill, "it does not depend on the folder");
    assert_eq!((&bill["bomFormat"], &bill["specVersion"]), (&"CycloneDX".into(), &"1.5".into()));

    let lock = std::fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let field = |entry: &str, name: &str| {
        let value = entry.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = \""));
        value.map(|value| value.trim_end_matches('"').to_owned())
    };
    let locked: BTreeMap<_, _> = lock
        .split("[[package]]\n")
        .skip(1)
        .map(|entry| {
            let own = if field(entry, "source").is_some() { "" } else { "#jumplabel" };
            let named = format!("{}@{}{own}", field(entry, "name").unwrap(), field(entry, "version").unwrap());
            (format!("pkg:cargo/{named}"), field(entry, "checksum"))
        })
        .collect();
    let (mut components, mut required) = (BTreeMap::new(), Vec::new());
    for component in bill["components"].as_array().unwrap() {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let name = text(&component["name"]).unwrap();
        assert!(!component["licenses"][0]["expression"].as_str().unwrap().is_empty(), "{name} has a licence");
        if component["scope"] == "required" {
            required.push(name.clone());
        }
        let reference = text(&component["bom-ref"]).unwrap();
        assert_eq!(
            components.insert(reference, text(&component["hashes"][0]["content"])),
            None,
            "{name} is there twice"
        );
    }
    assert!(locked.len() > 100, "{}", locked.len());
    assert_eq!(components, locked);
    let has = |name: &str| required.iter().any(|one| one == name);
    assert!(
        has("jumplabel") && has("rustix") && !has("proptest") && !has("xtask") && !has("windows-sys"),
        "{required:?}"
    );
}
