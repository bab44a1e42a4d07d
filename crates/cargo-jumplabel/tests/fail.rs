//! Tests `cargo jumplabel fail` on a program whose dependency uses the crate fail.

mod project;

use std::fs;
use std::process::Command;

use jumplabel_testing::cargo::{Build, run};
use project::{copy, fails, repository, succeeds, tool};

#[test]
fn written_used_and_taken_back() {
    let folder = copy("fail-patched", "fail");
    // Removes the line by which this repository patches the program.
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    let (before, _) = manifest.split_once("\n[patch.crates-io]").unwrap();
    fs::write(folder.join("Cargo.toml"), before).unwrap();
    fails(&folder, &["fail", "--check"], "lacks lines of [patch.crates-io]");
    succeeds(&folder, &["fail", "--jumplabel", repository().to_str().unwrap()]);
    succeeds(&folder, &["fail", "--check"]);
    let target = folder.join("target");
    let mut cargo = Build::of("fail-patched").command("build");
    run(cargo.current_dir(&folder).env("CARGO_TARGET_DIR", &target).args(["--release", "--features", "failpoints"]));
    let mut program = Command::new(target.join("release/fail-patched"));
    let prints = run(program.env("FAILPOINTS", "dependency::save=return(full)"));
    assert_eq!(prints, "true Err(\"full\") [\"fail:dependency::save on\", \"fail:dependency::saved off\"] Ok(())\n");
    succeeds(&folder, &["fail", "--remove"]);
    assert_eq!(fs::read_to_string(folder.join("Cargo.toml")).unwrap(), before);
    assert!(!folder.join("jumplabel-patches").exists());
    // The command refuses to replace a line that somebody else has written.
    fs::write(
        folder.join("Cargo.toml"),
        format!(
            "{before}\n[patch.crates-io]\nfail = {{ path = \"{}\" }}\n",
            repository().join("crates/fail").display()
        ),
    )
    .unwrap();
    fails(&folder, &["fail"], "Cargo.toml patches fail already, with something else");
    assert!(!tool(&folder, &["fail", "--check"]).status.success() && !folder.join("jumplabel-patches").exists());
}
