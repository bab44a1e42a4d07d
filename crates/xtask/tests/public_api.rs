//! Tests that the public items of the core are those in docs/public-api.txt, and those of jumplabel-format the ones in docs/public-api-format.txt.
//! `PUBLIC_API=overwrite` writes both files anew.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
/// The crates, and their listings.
const LISTINGS: [(&str, &str); 2] = [("jumplabel", "public-api.txt"), ("jumplabel-format", "public-api-format.txt")];
/// The oldest compiler that the core supports. Rustdoc's output for programs differs from version to version, and `public-api` reads that of this
/// one.
const TOOLCHAIN: &str = "1.88.0";

/// The public items of a crate, one a line.
fn listing(name: &str) -> String {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/api");
    let mut rustdoc = Command::new("rustup");
    rustdoc.args(["run", TOOLCHAIN, "cargo", "rustdoc", "--quiet", "-p", name, "--lib", "--target-dir"]).arg(&target);
    rustdoc.args(["--", "-Zunstable-options", "--output-format", "json"]);
    // The variables of the cargo that runs this test are removed. `RUSTC_BOOTSTRAP` lets the stable rustdoc use options of nightly.
    rustdoc.env_remove("RUSTC").env_remove("RUSTDOC").env_remove("RUSTFLAGS").env("RUSTC_BOOTSTRAP", "1");
    let output = rustdoc.output().unwrap();
    assert!(
        output.status.success(),
        "{rustdoc:?} (`cargo xtask setup` installs it)\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    public_api::Builder::from_rustdoc_json(target.join("doc").join(name.replace('-', "_")).with_extension("json"))
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()
        .unwrap()
        .to_string()
}

/// The lines that only one of the two texts has.
fn differences(kept: &str, found: &str) -> String {
    let mut lines = String::new();
    for (sign, of, other) in [('-', kept, found), ('+', found, kept)] {
        for line in of.lines().filter(|line| !other.lines().any(|theirs| theirs == *line)) {
            writeln!(lines, "{sign} {line}").unwrap();
        }
    }
    lines
}

#[test]
fn is_as_listed() {
    for (name, file) in LISTINGS {
        let (found, file) = (listing(name), Path::new(DOCS).join(file));
        if std::env::var_os("PUBLIC_API").is_some_and(|what| what == "overwrite") {
            std::fs::write(&file, &found).unwrap();
        }
        let differences = differences(&std::fs::read_to_string(file).unwrap(), &found);
        assert!(
            differences.is_empty(),
            "the public API of {name} is another one (PUBLIC_API=overwrite accepts that):\n{differences}"
        );
    }
}

#[test]
fn broken_twins() {
    let kept = std::fs::read_to_string(Path::new(DOCS).join(LISTINGS[0].1)).unwrap();
    assert_eq!(differences(&kept, &kept), "");
    let found = kept.lines().find(|line| line.contains("::find_key(")).unwrap();
    let without = kept.replace(&format!("{found}\n"), "");
    assert_eq!(differences(&kept, &without), format!("- {found}\n"));
    assert_eq!(differences(&without, &kept), format!("+ {found}\n"));
    let renamed = kept.replace("::find_key(", "::look_up(");
    assert_eq!(differences(&kept, &renamed).lines().count(), 2);
}
