//! `make dist` builds files that `make install PREBUILT=DIR` installs without Rust. It takes minutes, so it runs only if all is tested.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use jumplabel_testing::breadth::{self, tests_all};

use crate::prefix::{file, files, prefix, printed, runs_by_cmake, scratch, succeeds};

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// A `make` command in a checkout, with these arguments.
fn make(checkout: &Path, words: &[String]) -> Command {
    let mut make = Command::new("make");
    make.arg("-C").arg(checkout).args(words).env_remove("MAKEFLAGS").env_remove("CARGO_TARGET_DIR");
    make.env_remove("CARGO_BUILD_TARGET");
    make
}

/// Runs `make dist` in this checkout for this machine, with the target directory `built`.
fn dist(checkout: &Path, name: &str, built: &Path) -> PathBuf {
    let into = scratch(name);
    // A target that Rust does not have is left out, with a message.
    let words = ["dist".into(), format!("DIST={}", into.display()), format!("CARGO={}", env!("CARGO"))];
    let mut make = make(checkout, &words);
    make.env("DIST_TARGETS", format!("{TARGET} pdp11-unknown-linux-gnu")).env("CARGO_TARGET_DIR", built);
    let said = printed(&succeeds(&mut make));
    assert!(said.contains("left out:\n  pdp11-unknown-linux-gnu: rustup target add pdp11"), "{said}");
    into.join(concat!("jumplabel-", env!("CARGO_PKG_VERSION")))
}

/// Runs `make GOAL` with a PATH that has the compiler and the shell's tools, but not cargo and rustc.
fn without_rust(goal: &str, built: &Path, stage: &Path, with: &[(&str, &str)]) -> Output {
    let tools = scratch("without-rust");
    for tool in [
        "make",
        "mkdir",
        "sh",
        "cc",
        "install",
        "sed",
        "cut",
        "find",
        "grep",
        "cat",
        "head",
        "ln",
        "rm",
        "rmdir",
        "chmod",
        "dirname",
        "sha256sum",
        "uname",
    ] {
        let found = printed(&succeeds(Command::new("sh").arg("-c").arg(format!("command -v {tool}"))));
        let _ = std::os::unix::fs::symlink(found.trim(), tools.join(tool));
    }
    let words = [goal.into(), format!("PREBUILT={}", built.display()), format!("PREFIX={}", stage.display())];
    let mut make = make(&file("../.."), &words);
    make.env("PATH", &tools).env("HOME", &tools).envs(with.iter().copied()).output().unwrap()
}

#[test]
fn installed_without_rust() {
    if !tests_all() {
        return;
    }
    let built = dist(&file("../.."), "dist", &scratch("dist-built"));
    same_bits(&built);
    let stage = scratch("prebuilt");
    let _ = std::fs::remove_dir_all(&stage);
    let output = without_rust("install", &built, &stage, &[]);
    assert!(output.status.success(), "{}", printed(&output));
    runs(&stage, &stage.join("lib/pkgconfig"));
    // The installed files are the same as those of a build.
    let names = |prefix: &Path| {
        let mut names: Vec<_> =
            files(prefix).iter().map(|file| file.strip_prefix(prefix).unwrap().to_owned()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&stage), names(prefix()));
    // The folder may be gone.
    let output = without_rust("uninstall", Path::new("/nowhere"), &stage, &[]);
    assert!(output.status.success(), "{}", printed(&output));
    assert_eq!(files(&stage), Vec::<PathBuf>::new());
    // The prebuilt files can also be used without being installed.
    runs(&built.join(TARGET), &built.join(TARGET).join("lib/pkgconfig"));
    runs_by_cmake(&built.join(TARGET), "prebuilt-cmake");
    refused(&built, &stage);
}

/// Another checkout of the same sources, in another folder with another target directory, gives the same bits.
fn same_bits(built: &Path) {
    let other = scratch("dist-other").join("checkout");
    let _ = std::fs::remove_dir_all(&other);
    std::fs::create_dir_all(&other).unwrap();
    let copy = format!("cp -r Cargo.toml Cargo.lock Makefile LICENSE-* crates {}", other.display());
    succeeds(Command::new("sh").arg("-c").arg(copy).current_dir(file("../..")));
    let again = dist(&other, "dist-again", &other.join("target"));
    let sums = [built, &again].map(|built| std::fs::read_to_string(built.join("SHA256SUMS")).unwrap());
    assert!(sums[0] == sums[1], "{}\n{}", sums[0], sums[1]);
    assert!(sums[0].contains(&format!("  {TARGET}/lib/libjumplabel.so.")), "{}", sums[0]);
    std::fs::remove_dir_all(&other).unwrap();
}

/// Builds and runs programs with the shared libraries and the archives, with pkg-config.
fn runs(prefix: &Path, pkg_config: &Path) {
    let program = scratch("prebuilt-consumer").join("program");
    for link in ["--libs", "--libs --static"] {
        let end = if link.contains("static") { "-static" } else { "" };
        let line = format!(
            "cc -O2 {} -o {} $(pkg-config --cflags {link} jumplabel) {end}",
            file("tests/consumers/consumer.c").display(),
            program.display()
        );
        succeeds(Command::new("sh").args(["-c", &line]).env("PKG_CONFIG_PATH", pkg_config));
        let said = printed(&succeeds(Command::new(&program).env("LD_LIBRARY_PATH", prefix.join("lib"))));
        assert!(said.contains("verified"), "{said}");
    }
}

/// Files that are incomplete, or for another machine, are refused, and nothing is installed.
fn refused(built: &Path, stage: &Path) {
    let refuse = |with: &[(&str, &str)], words: &str| {
        let output = without_rust("install", built, stage, with);
        let said = printed(&output);
        assert!(!output.status.success() && said.contains(words) && said.contains("nothing was installed"), "{said}");
        assert_eq!(files(stage), Vec::<PathBuf>::new(), "{words}");
    };
    refuse(&[("CARGO_BUILD_TARGET", "aarch64-unknown-linux-gnu")], "has no libraries for aarch64-unknown-linux-gnu");
    refuse(&[("CARGO_BUILD_TARGET", "x86_64-unknown-linux-musl")], "has no libraries for x86_64-unknown-linux-musl");
    refuse(&[("CC", "/nowhere/cc")], "CC=\"/nowhere/cc\", does not say what its target is");
    // The compiler's options choose the target, too; without headers for it, the compiler says nothing.
    refuse(&[("CC", "cc -mx32")], "x32");
    if breadth::has("clang-19") && breadth::has_gcc("aarch64-linux-gnu") {
        let clang = printed(&succeeds(Command::new("sh").args(["-c", "command -v clang-19"])));
        let other = format!("{} --target=aarch64-linux-gnu", clang.trim());
        refuse(&[("CC", &other)], "has no libraries for aarch64-unknown-linux-gnu");
    }

    let archive = built.join(TARGET).join("lib/libjumplabel.a");
    let whole = std::fs::read(&archive).unwrap();
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    std::fs::write(&archive, &damaged).unwrap();
    refuse(&[], "libjumplabel.a: FAILED");
    std::fs::remove_file(&archive).unwrap();
    refuse(&[], "libjumplabel.a: FAILED open or read");
    std::fs::write(&archive, &whole).unwrap();

    let more = built.join("include/jumplabel/more.h");
    std::fs::write(&more, "").unwrap();
    refuse(&[], "SHA256SUMS does not list include/jumplabel/more.h");
    std::fs::remove_file(&more).unwrap();

    std::fs::write(built.join("VERSION"), "9.9.9\n").unwrap();
    refuse(&[], "is of version 9.9.9");
    std::fs::write(built.join("VERSION"), concat!(env!("CARGO_PKG_VERSION"), "\n")).unwrap();
    assert!(without_rust("install", built, stage, &[]).status.success());
}
