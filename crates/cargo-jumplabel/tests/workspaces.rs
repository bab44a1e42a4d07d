//! Tests `cargo jumplabel tracing` on projects that are more than one package with crates from a registry: workspaces, vendored dependencies, two
//! sources of jumplabel, two versions of tracing.

mod project;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use jumplabel_testing::breadth;
use jumplabel_testing::cargo::{Build, printed, run};
use project::{copy, copy_folder, fails, repository, succeeds, tool_command};

fn read(folder: &Path, file: &str) -> String {
    fs::read_to_string(folder.join(file)).unwrap()
}

fn cargo(folder: &Path, verb: &str) -> Command {
    let mut command = Build::of("traced").command(verb);
    command.current_dir(folder).env("CARGO_TARGET_DIR", folder.join("target"));
    command
}

/// The package test-crates/traced/noisy alone: it uses tracing, and no jumplabel.
fn noisy(to: &str) -> PathBuf {
    let folder = copy("traced", to);
    let noisy = folder.join("noisy");
    fs::write(noisy.join("Cargo.toml"), read(&noisy, "Cargo.toml") + "\n[workspace]\n").unwrap();
    fs::copy(folder.join("Cargo.lock"), noisy.join("Cargo.lock")).unwrap();
    noisy
}

/// The command patches the whole workspace, in whichever of its packages it runs. The root of this workspace is no package itself.
#[test]
fn workspace() {
    let app = copy("traced", "workspace/app");
    let root = app.parent().unwrap();
    let manifest = read(&app, "Cargo.toml").replace("[workspace]\nmembers = [\"noisy\"]\n", "");
    fs::write(app.join("Cargo.toml"), &manifest).unwrap();
    let virtual_root = "[workspace]\nresolver = \"3\"\nmembers = [\"app\", \"app/noisy\"]\n";
    fs::write(root.join("Cargo.toml"), virtual_root).unwrap();
    fs::rename(app.join("Cargo.lock"), root.join("Cargo.lock")).unwrap();
    let (noisy, of_noisy) = (app.join("noisy"), read(&app, "noisy/Cargo.toml"));
    succeeds(&noisy, &["tracing"]);
    for folder in [root, &app, &noisy] {
        succeeds(folder, &["tracing", "--check"]);
        let tree = run(cargo(folder, "tree").args(["-i", "tracing", "--depth", "0"]));
        assert!(tree.contains("workspace/jumplabel-patches/tracing)"), "{tree}");
    }
    assert!(read(root, "Cargo.toml").contains("tracing-core = { path = \"jumplabel-patches/tracing-core\" }"));
    assert_eq!((read(&app, "Cargo.toml"), read(&noisy, "Cargo.toml")), (manifest, of_noisy));
    assert!(!app.join("jumplabel-patches").exists() && !noisy.join("jumplabel-patches").exists());
    succeeds(&app, &["tracing", "--remove"]);
    assert!(read(root, "Cargo.toml") == virtual_root && !root.join("jumplabel-patches").exists());
}

/// The patched crates, and crates with their macros, compile by the oldest compiler that the patched manifests name. (`make lint-all` compiles our
/// own crates by it.)
#[test]
fn oldest_compiler() {
    const OLDEST: &str = "1.88.0";
    if !Command::new("rustup").args(["run", OLDEST, "rustc", "-V"]).output().is_ok_and(|it| it.status.success()) {
        return breadth::leave_out(OLDEST);
    }
    let folder = copy("traced", "oldest");
    succeeds(&folder, &["tracing"]);
    succeeds(&folder, &["log"]);
    let promised = format!("rust-version = \"{}\"", OLDEST.trim_end_matches(".0"));
    for name in ["tracing", "tracing-core", "log"] {
        assert!(read(&folder, &format!("jumplabel-patches/{name}/Cargo.toml")).contains(&promised), "{name}");
    }
    let build = Build { toolchain: Some(OLDEST), ..Build::of("traced") };
    let mut check = build.command("check");
    check.current_dir(&folder).env("CARGO_TARGET_DIR", folder.join("target"));
    run(check.args(["--quiet", "--workspace", "--bin", "traced", "--features", "patched,log"]));
}

/// Dependencies that `cargo vendor` has written suffice, without a network and with an empty cache of cargo.
#[test]
fn vendored() {
    let folder = copy("traced", "vendored");
    let vendor = |arguments: &[&str]| {
        let output = cargo(&folder, "vendor").args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", printed(&output));
        output.stdout
    };
    let empty = folder.join("target/empty-home");
    fs::create_dir_all(&empty).unwrap();
    let offline = |command: &mut Command| {
        let output = command.env("CARGO_NET_OFFLINE", "true").env("CARGO_HOME", &empty).output().unwrap();
        (output.status.success(), printed(&output))
    };
    let tool = |arguments: &[&str]| offline(&mut tool_command(&folder, arguments));
    // Cargo prints the lines for its configuration.
    let lines = vendor(&[]);
    fs::create_dir_all(folder.join(".cargo")).unwrap();
    fs::write(folder.join(".cargo/config.toml"), &lines).unwrap();
    for arguments in [&["tracing"][..], &["tracing", "--check"]] {
        let (is_done, says) = tool(arguments);
        assert!(is_done, "{arguments:?}: {says}");
    }
    let (is_built, says) = offline(cargo(&folder, "check").args(["-p", "noisy"]));
    assert!(is_built && !empty.join("registry/src").exists(), "{says}");
    // After a second `cargo vendor`, crates are gone that cargo does not build any more, unless `--no-delete` keeps them.
    vendor(&["--no-delete"]);
    let (is_done, says) = tool(&["tracing", "--check"]);
    assert!(is_done, "{says}");
    vendor(&[]);
    let (is_done, says) = tool(&["tracing", "--check"]);
    assert!(!is_done && says.contains("`cargo vendor --no-delete` keeps it"), "{says}");
    // If a program does not use jumplabel, the crates that jumplabel depends on are not vendored.
    let noisy = noisy("vendored-without");
    fs::create_dir_all(noisy.join(".cargo")).unwrap();
    let output = cargo(&noisy, "vendor").output().unwrap();
    fs::write(noisy.join(".cargo/config.toml"), output.stdout).unwrap();
    let (is_done, says) =
        offline(&mut tool_command(&noisy, &["tracing", "--jumplabel", repository().to_str().unwrap()]));
    assert!(!is_done && says.contains("let the program depend on jumplabel, vendor again"), "{says}");
}

/// A checkout that contains only jumplabel and its format.
fn other_checkout(to: &Path) {
    for name in ["jumplabel", "jumplabel-format"] {
        copy_folder(&repository().join("crates").join(name), &to.join("crates").join(name));
    }
    fs::copy(repository().join("Cargo.toml"), to.join("Cargo.toml")).unwrap();
}

/// A program can have only one jumplabel. The command says so before it writes anything, or explains cargo's error.
#[test]
fn two_sources_of_jumplabel() {
    let folder = noisy("two-sources");
    let traced = folder.parent().unwrap();
    let other = traced.join("target/other");
    other_checkout(&other);
    let (other, own) = (other.to_str().unwrap(), repository());
    let own = own.to_str().unwrap();
    // The program has jumplabel already.
    fs::write(folder.join("Cargo.toml"), read(&folder, "Cargo.toml").replace("\n[workspace]\n", "")).unwrap();
    for source in [other, "https://example.invalid/jumplabel", "0.1.0"] {
        fails(
            traced,
            &["tracing", "--jumplabel", source],
            &format!("--jumplabel {source}: the program already has jumplabel 0.1.0 ("),
        );
        assert!(!traced.join("jumplabel-patches").exists());
    }
    succeeds(traced, &["tracing", "--jumplabel", own]);
    succeeds(traced, &["tracing", "--check"]);
    // The program had no jumplabel. After the command has run, the program gets one from another source.
    fs::write(folder.join("Cargo.toml"), read(&folder, "Cargo.toml") + "\n[workspace]\n").unwrap();
    succeeds(&folder, &["tracing", "--jumplabel", own]);
    succeeds(&folder, &["tracing", "--jumplabel", other]);
    let patched = read(&folder, "Cargo.toml");
    let line = format!("[dependencies]\njumplabel = {{ path = \"{own}/crates/jumplabel\" }}\n");
    let lock = read(&folder, "Cargo.lock");
    fs::write(folder.join("Cargo.toml"), patched.replace("[dependencies]\n", &line)).unwrap();
    for arguments in [&["tracing"][..], &["tracing", "--check"], &["tracing", "--jumplabel", own]] {
        fails(&folder, arguments, "have jumplabel from two sources, which cannot be linked into one program");
    }
    succeeds(&folder, &["tracing", "--remove"]);
    let version = |lock: &str| lock.split_once("name = \"tracing\"\nversion = ").unwrap().1[..8].to_owned();
    assert_eq!(version(&read(&folder, "Cargo.lock")), version(&lock));
    succeeds(&folder, &["tracing"]);
    succeeds(&folder, &["tracing", "--check"]);
}

/// If a program has two versions of tracing, the one of the registry gets keys, and a note names the other one. If cargo takes another package
/// instead of the patched one, `--check` fails.
#[test]
fn two_versions_of_tracing() {
    let folder = noisy("two-versions");
    let repository = repository();
    let patch = ["tracing", "--jumplabel", repository.to_str().unwrap()];
    let package = |name: &str, version: &str| {
        let to = folder.join(name);
        fs::create_dir_all(to.join("src")).unwrap();
        let manifest = format!(
            "[package]\nname = \"tracing\"\nversion = \"{version}\"\nedition = \"2021\"\n\n[features]\nstd = []\n"
        );
        fs::write(to.join("Cargo.toml"), manifest).unwrap();
        fs::write(to.join("src/lib.rs"), "pub fn nothing() {}\n").unwrap();
    };
    package("newer", "0.2.0");
    let manifest = read(&folder, "Cargo.toml");
    let lines =
        "newer = { package = \"tracing\", path = \"newer\" }\nrenamed = { package = \"tracing\", version = \"0.1\" }\n";
    fs::write(folder.join("Cargo.toml"), manifest.replace("tracing = \"0.1\"\n", lines)).unwrap();
    let library = "pub fn two() {\n    newer::nothing();\n    renamed::info!(\"renamed\");\n}\n";
    fs::write(folder.join("src/lib.rs"), library).unwrap();
    let says = succeeds(&folder, &patch);
    assert!(
        says.contains("note: the program also has tracing 0.2.0 (") && says.contains("two-versions/noisy/newer)"),
        "{says}"
    );
    assert!(succeeds(&folder, &["tracing", "--check"]).contains("note: the program also has tracing 0.2.0 ("));
    run(&mut cargo(&folder, "check"));
    succeeds(&folder, &["tracing", "--remove"]);
    // Cargo takes another package instead of the patched one: patches in its configuration come before those in the manifest.
    succeeds(&folder, &patch);
    package("own", "0.1.44");
    fs::create_dir_all(folder.join(".cargo")).unwrap();
    fs::write(folder.join(".cargo/config.toml"), "[patch.crates-io]\ntracing = { path = \"own\" }\n").unwrap();
    fails(&folder, &["tracing", "--check"], "which lines of [patch.crates-io] do not reach");
}
