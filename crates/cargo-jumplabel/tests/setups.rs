//! `cargo jumplabel` where a program has jumplabel from git, and what `--check` leaves as it was.

mod project;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use jumplabel_testing::cargo::{printed, run};
use project::{copy, copy_folder, repository, succeeds, tool_command};

/// test-crates/logged/chatty alone: a package that uses log. `more` stands among its dependencies.
fn chatty(to: &str, more: &str) -> PathBuf {
    let folder = copy("logged", to);
    let chatty = folder.join("chatty");
    let manifest = fs::read_to_string(chatty.join("Cargo.toml")).unwrap() + "\n[workspace]\n";
    let manifest = manifest.replace("[dependencies]\n", &format!("[dependencies]\n{more}"));
    fs::write(chatty.join("Cargo.toml"), manifest).unwrap();
    fs::copy(folder.join("Cargo.lock"), chatty.join("Cargo.lock")).unwrap();
    chatty
}

/// A home for cargo that has what the user's has from registries, so that nothing of git is left in the user's.
fn home(to: &Path) -> PathBuf {
    let own = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let own = own.unwrap_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cargo"));
    fs::create_dir_all(to).unwrap();
    let _ = fs::remove_file(to.join("registry"));
    std::os::unix::fs::symlink(own.join("registry"), to.join("registry")).unwrap();
    to.to_owned()
}

fn git<S: AsRef<OsStr>>(folder: &Path, arguments: &[S]) -> String {
    let name = ["-c", "user.name=test", "-c", "user.email=test@example.invalid", "-c", "init.defaultBranch=main"];
    run(Command::new("git").args(name).args(arguments).current_dir(folder)).trim().to_owned()
}

/// To cargo, a branch, a tag and a commit are three sources, even if all three name one commit. The patched package takes jumplabel from exactly the
/// source that the program has, also if `--jumplabel` names the address again.
#[test]
fn jumplabel_from_git() {
    let folder = chatty("git", "");
    let origin = folder.join("target/origin");
    for name in ["jumplabel", "jumplabel-format"] {
        copy_folder(&repository().join("crates").join(name), &origin.join("crates").join(name));
    }
    fs::copy(repository().join("Cargo.toml"), origin.join("Cargo.toml")).unwrap();
    git(&origin, &["init", "--quiet"]);
    git(&origin, &["add", "."]);
    git(&origin, &["commit", "--quiet", "--message", "all"]);
    git(&origin, &["branch", "topic/one+two"]);
    git(&origin, &["tag", "v1"]);
    let commit = git(&origin, &["rev-parse", "HEAD"]);
    let (address, home) = (format!("file://{}", origin.display()), home(&folder.join("target/home")));
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    let lock = fs::read(folder.join("Cargo.lock")).unwrap();
    for which in ["", ", branch = \"topic/one+two\"", ", tag = \"v1\"", &format!(", rev = \"{}\"", &commit[..9])] {
        let own = format!("[dependencies]\njumplabel = {{ git = \"{address}\"{which} }}\n");
        fs::write(folder.join("Cargo.toml"), manifest.replace("[dependencies]\n", &own)).unwrap();
        fs::write(folder.join("Cargo.lock"), &lock).unwrap();
        for arguments in [
            &["log"][..],
            &["log", "--check"],
            &["log", "--jumplabel", &address],
            &["log", "--check"],
            &["log", "--remove"],
        ] {
            let output = tool_command(&folder, arguments).env("CARGO_HOME", &home).output().unwrap();
            assert!(output.status.success(), "{which} {arguments:?}: {}", printed(&output));
        }
    }
    // A program that had none: what `--jumplabel` says once holds.
    fs::write(folder.join("Cargo.toml"), &manifest).unwrap();
    for arguments in [&["log", "--jumplabel", &address][..], &["log", "--check"], &["log"], &["log", "--check"]] {
        let output = tool_command(&folder, arguments).env("CARGO_HOME", &home).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", printed(&output));
    }
}

/// `--jumplabel` by another path to the checkout that the program has.
#[test]
fn a_checkout_by_another_path() {
    let own = repository();
    let folder = chatty("by-link", &format!("jumplabel = {{ path = \"{}/crates/jumplabel\" }}\n", own.display()));
    let link = folder.parent().unwrap().join("link");
    std::os::unix::fs::symlink(&own, &link).unwrap();
    succeeds(&folder, &["log", "--jumplabel", link.to_str().unwrap()]);
    succeeds(&folder, &["log", "--check"]);
    // The program says the other path.
    succeeds(&folder, &["log", "--remove"]);
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    let to_own = format!("path = \"{}/crates", own.display());
    fs::write(folder.join("Cargo.toml"), manifest.replace(&to_own, "path = \"../link/crates")).unwrap();
    for source in [own.as_path(), &link] {
        succeeds(&folder, &["log", "--jumplabel", source.to_str().unwrap()]);
    }
}

/// `--check` leaves Cargo.lock as it is, though cargo writes it anew where the manifest has moved on, and makes one where there is none.
#[test]
fn a_check_changes_nothing() {
    let folder = chatty("check", "");
    let (manifest, lock) = (folder.join("Cargo.toml"), folder.join("Cargo.lock"));
    let repository = repository();
    let patch = ["log", "--jumplabel", repository.to_str().unwrap()];
    succeeds(&folder, &patch);
    let before = fs::read(&lock).unwrap();
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("version = \"0.0.0\"", "version = \"0.0.1\"")).unwrap();
    assert_ne!(fs::read_to_string(&manifest).unwrap(), text);
    succeeds(&folder, &["log", "--check"]);
    assert_eq!(fs::read(&lock).unwrap(), before);
    fs::remove_file(&lock).unwrap();
    succeeds(&folder, &["log", "--check"]);
    assert!(!lock.exists());
    // The comparison sees differences: without `--check`, the lock is written.
    succeeds(&folder, &patch);
    assert_ne!(fs::read(&lock).unwrap(), before);
    // A file more is a difference, too: cargo would run this one.
    let script = folder.join("jumplabel-patches/log/build.rs");
    fs::write(&script, "fn main() {}\n").unwrap();
    project::fails(&folder, &["log", "--check"], "build.rs is not what would be written now");
}

/// Whoever reads the output may go, as `head` does.
#[test]
fn nobody_reads() {
    let folder = chatty("nobody-reads", "");
    let repository = repository();
    let mut command = tool_command(&folder, &["log", "--jumplabel", repository.to_str().unwrap()]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = command.stdout(writer).stderr(Stdio::piped()).output().unwrap();
    assert!(output.status.success(), "{}", printed(&output));
}
