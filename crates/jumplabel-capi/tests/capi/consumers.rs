//! Programs of users, built against an installation with plain cc, pkg-config and CMake. And an installation that is removed again.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use jumplabel_testing::breadth;

use crate::prefix::{built_by_cmake, file, files, make, prefix, printed, scratch, succeeds};

fn runs(program: &Path) {
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", prefix().join("lib"));
    let said = printed(&succeeds(&mut command));
    assert!(said.contains("verified"), "{said}");
}

fn source() -> PathBuf {
    file("tests/consumers/consumer.c")
}

#[test]
fn plain_cc() {
    let program = scratch("consumers").join("plain");
    let (include, lib) = (prefix().join("include"), prefix().join("lib"));
    for link in ["-ljumplabel", "-l:libjumplabel.a", "-static -ljumplabel"] {
        let mut cc = Command::new("cc");
        cc.arg("-O2").arg("-I").arg(&include).arg(source()).arg("-o").arg(&program).arg("-L").arg(&lib);
        succeeds(cc.args(link.split(' ')));
        runs(&program);
    }
}

/// A static program gets no warnings from the linker: glibc's warns of functions that load libraries.
#[test]
fn static_without_warnings() {
    let program = scratch("consumers").join("static");
    for linker in ["bfd", "gold", "lld", "mold"] {
        let mut cc = Command::new("cc");
        cc.args(["-O2", "-static", &format!("-fuse-ld={linker}"), "-Wl,--fatal-warnings"]).arg(source());
        cc.arg("-I").arg(prefix().join("include")).arg("-L").arg(prefix().join("lib")).arg("-ljumplabel");
        assert_eq!(printed(&succeeds(cc.arg("-o").arg(&program))), "", "{linker}");
        runs(&program);
    }
}

#[test]
fn pkg_config() {
    let program = scratch("consumers").join("pkg-config");
    let build = |source: PathBuf, words: &[&str], package: &str| {
        let mut pkg_config = Command::new("pkg-config");
        pkg_config.env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig")).args(words).arg(package);
        let flags = printed(&succeeds(&mut pkg_config));
        let mut cc = Command::new("cc");
        succeeds(cc.arg("-O2").arg(source).arg("-o").arg(&program).args(flags.split_whitespace()));
    };
    for words in [&["--cflags", "--libs"][..], &["--cflags", "--libs", "--static"]] {
        build(source(), words, "jumplabel >= 0.1");
        runs(&program);
    }
    build(file("tests/c/operated.c"), &["--cflags", "--libs"], "jumplabel-agent >= 0.1");
    lists(&program);
    build(file("examples/c/fail.c"), &["--cflags", "--libs"], "jumplabel-fail >= 0.1");
    saves(&program);
}

#[test]
fn cmake() {
    let build = built_by_cmake(prefix(), "consumers-cmake");
    runs(&build.join("shared"));
    runs(&build.join("static"));
    lists(&build.join("operated"));
    lists(&build.join("operated_static"));
    saves(&build.join("fail"));
    saves(&build.join("fail_static"));
}

/// A prefix that was copied elsewhere is used where it is, though the first one is still there.
#[test]
fn moved() {
    let moved = scratch("moved");
    let _ = std::fs::remove_dir_all(&moved);
    succeeds(Command::new("cp").arg("-r").arg(prefix()).arg(&moved));
    let build = built_by_cmake(&moved, "consumers-moved");
    let said = printed(&succeeds(Command::new("readelf").arg("-d").arg(build.join("shared"))));
    assert!(said.contains(&format!("[{}/lib]", moved.display())), "{said}");
    let mut command = Command::new("pkg-config");
    command.args(["--define-prefix", "--cflags", "--libs", "jumplabel-agent"]);
    let said = printed(&succeeds(command.env("PKG_CONFIG_PATH", moved.join("lib/pkgconfig"))));
    assert!(said.contains(&format!("-I{0}/include -L{0}/lib ", moved.display())), "{said}");
}

/// The checkout that projects of others contain. Its build goes to the tests' directory.
fn checkout(command: &mut Command) -> PathBuf {
    command.env("CARGO_TARGET_DIR", scratch("libraries"));
    file("../..").canonicalize().unwrap()
}

/// CMake's FetchContent. A folder in which files are missing is refused when CMake configures.
#[test]
fn fetched_by_cmake() {
    let build = scratch("consumers-fetched");
    let configure = |prebuilt: &str| {
        let mut configure = Command::new("cmake");
        let checkout = checkout(&mut configure);
        configure.arg("-S").arg(file("tests/consumers/fetched")).arg("-B").arg(&build);
        configure.arg(format!("-DFETCHCONTENT_SOURCE_DIR_JUMPLABEL={}", checkout.display()));
        configure.arg(format!("-DJUMPLABEL_PREBUILT={prebuilt}"));
        // These choose directories for `make install`, and not for this.
        configure.env("LIBDIR", "/nowhere/lib").env("INCLUDEDIR", "/nowhere/include").env("MANDIR", "/nowhere/man");
        configure
    };
    let output = configure("/nowhere").output().unwrap();
    let said = printed(&output);
    assert!(!output.status.success() && said.contains("/nowhere"), "{said}");
    // CMake takes a project that names its system for one that is built for another machine.
    let mut other = configure("");
    let output = other.args(["-DCMAKE_SYSTEM_NAME=Linux", "-B"]).arg(scratch("consumers-other")).output().unwrap();
    let said = printed(&output);
    assert!(!output.status.success() && said.contains("set JUMPLABEL_TARGET"), "{said}");
    succeeds(&mut configure(""));
    succeeds(Command::new("cmake").arg("--build").arg(&build));
    runs(&build.join("shared"));
    runs(&build.join("static"));
}

/// A subproject in Meson.
#[test]
fn subproject_of_meson() {
    if !breadth::has("meson") {
        return;
    }
    let project = scratch("consumers-subproject");
    let _ = std::fs::remove_dir_all(&project);
    std::fs::create_dir_all(project.join("subprojects")).unwrap();
    for source in ["tests/consumers/subproject/meson.build", "tests/consumers/consumer.c", "tests/c/operated.c"] {
        let source = file(source);
        std::fs::copy(&source, project.join(source.file_name().unwrap())).unwrap();
    }
    let mut setup = Command::new("meson");
    std::os::unix::fs::symlink(checkout(&mut setup), project.join("subprojects/jumplabel")).unwrap();
    setup.env("LIBDIR", "/nowhere/lib").env("INCLUDEDIR", "/nowhere/include");
    succeeds(setup.arg("setup").arg(project.join("build")).arg(&project));
    succeeds(Command::new("meson").args(["compile", "-C"]).arg(project.join("build")));
    runs(&project.join("build/consumer"));
    lists(&project.join("build/operated"));
}

/// A program with libjumplabel-fail: examples/c/fail.c.
fn saves(program: &Path) {
    let mut command = Command::new(program);
    command.arg(program.with_extension("store")).env("LD_LIBRARY_PATH", prefix().join("lib"));
    let said = printed(&succeeds(command.env("FAILPOINTS", "store.open=return")));
    assert_eq!(said, "saved 0 of 3\n");
}

/// A program with libjumplabel-agent.
fn lists(program: &Path) {
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", prefix().join("lib")).env("JUMPLABEL", "help");
    let said = printed(&succeeds(&mut command));
    assert!(said.contains("net.trace"), "{said}");
}

/// `make` refuses a directory whose path is relative or has blanks, and writes nothing.
#[test]
fn bad_directories() {
    let here = files(&file("")).len();
    for variable in ["PREFIX=relative", "PREFIX=/tmp/with a blank", "DESTDIR=stage", "LIBDIR=lib64"] {
        for goal in ["install", "uninstall"] {
            let mut make = Command::new("make");
            let output = make.arg("-C").arg(file("")).args([goal, variable]).env_remove("MAKEFLAGS").output().unwrap();
            let said = printed(&output);
            assert!(!output.status.success() && said.contains("must be an absolute path without blanks"), "{said}");
        }
    }
    assert_eq!(files(&file("")).len(), here);
}

#[test]
fn staged_and_uninstalled() {
    let stage = scratch("stage");
    let variables = [format!("DESTDIR={}", stage.display()), "PREFIX=/opt/jumplabel".into()];
    let run = |goal: &str| make(&[goal, &variables[0], &variables[1]]);
    // A directory that is there keeps its mode.
    let there = stage.join("opt/jumplabel/lib/pkgconfig");
    std::fs::create_dir_all(&there).unwrap();
    std::fs::set_permissions(&there, std::fs::Permissions::from_mode(0o2775)).unwrap();
    run("install");
    assert_eq!(there.metadata().unwrap().permissions().mode() & 0o7777, 0o2775);
    let installed = files(&stage);
    assert_eq!(installed.len(), 49, "{installed:#?}");
    let config = std::fs::read_to_string(stage.join("opt/jumplabel/lib/pkgconfig/jumplabel.pc")).unwrap();
    assert!(config.contains("prefix=/opt/jumplabel\nlibdir=${prefix}/lib\n") && !config.contains('@'), "{config}");
    run("uninstall");
    assert_eq!(files(&stage), Vec::<PathBuf>::new());
}
