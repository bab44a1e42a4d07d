//! `make install` installs the files of this build and of no other, whatever the target and the directory of the build.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::prefix::{file, make, make_with, prefix, printed, runs_by_cmake, scratch, succeeds};

/// The names of the files in the directory for libraries.
fn libraries(prefix: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(prefix.join("lib")).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A static program with Debian's musl-gcc. The core's tests/documents.rs runs the commands of docs/building.md about it.
#[test]
fn for_musl() {
    const TARGET: &str = "CARGO_BUILD_TARGET=x86_64-unknown-linux-musl";
    let prefix = scratch("musl");
    let variable = format!("PREFIX={}", prefix.display());
    // First installs libraries for glibc into the same prefix. The installation for musl must remove the shared libraries and replace the archives.
    make(&["install", &variable]);
    assert!(libraries(&prefix).contains(&"libjumplabel.so.0".into()));
    make(&["install", &variable, TARGET]);
    assert_eq!(
        libraries(&prefix),
        ["cmake", "libjumplabel-agent.a", "libjumplabel-fail.a", "libjumplabel.a", "pkgconfig"]
    );

    let program = prefix.join("program");
    let gcc = |flags: &str, sources: &[PathBuf]| {
        let mut gcc = Command::new("musl-gcc");
        gcc.args(["-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror"]).args(flags.split(' '));
        gcc.args(sources).arg("-o").arg(&program).arg("-I").arg(prefix.join("include"));
        succeeds(gcc.arg("-L").arg(prefix.join("lib")).args(["-ljumplabel", "-Wl,--fatal-warnings"]));
        printed(&succeeds(&mut Command::new(&program)))
    };
    let consumer = [file("tests/consumers/consumer.c")];
    assert!(gcc("-static", &consumer).contains("verified"));
    let headers = printed(&succeeds(Command::new("readelf").arg("-lW").arg(&program)));
    assert!(!headers.contains("INTERP") && !headers.contains("DYNAMIC"), "{headers}");
    assert!(gcc("-pie -fPIE", &consumer).contains("verified"));
    let sources = ["conformance.c", "elsewhere.c", "base.c", "main.c"].map(|name| file("tests/c").join(name));
    assert!(gcc("-static", &sources).starts_with("ok "));

    // CMake finds the static library under both names.
    let build = scratch("musl-cmake");
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(file("tests/consumers")).arg("-B").arg(&build).arg("-DCMAKE_C_COMPILER=musl-gcc");
    succeeds(configure.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display())));
    succeeds(Command::new("cmake").arg("--build").arg(&build));
    for program in ["shared", "static"] {
        assert!(printed(&succeeds(&mut Command::new(build.join(program)))).contains("verified"), "{program}");
    }
    for program in ["operated", "operated_static"] {
        let said = printed(&succeeds(Command::new(build.join(program)).env("JUMPLABEL", "help")));
        assert!(said.contains("net.trace"), "{program}: {said}");
    }
}

/// The files of a package can be used in their staging directory, before they are at their final place.
#[test]
fn used_below_destdir() {
    let stage = scratch("destdir");
    make(&["install", &format!("DESTDIR={}", stage.display()), "PREFIX=/opt/c++"]);
    runs_by_cmake(&stage.join("opt/c++"), "destdir-cmake");
}

/// With any value of CARGO, the workspace's Makefile searches only absolute directories for commands. A relative one could be this crate's directory,
/// where `install` is a folder.
#[test]
fn commands_are_not_taken_from_here() {
    for (cargo, first) in
        [("cargo", None), ("", None), ("tools/cargo", Some("/tools/")), ("/opt/bin/cargo", Some("/opt/bin/"))]
    {
        let mut command = Command::new("make");
        command.args(["--no-print-directory", "-f"]).arg(file("../../Makefile")).arg(format!("CARGO={cargo}"));
        let said = printed(&succeeds(command.args(["--eval", "path: ; @printenv PATH", "path"])));
        let path = said.trim_end();
        assert!(path.split(':').all(|directory| directory.starts_with('/')), "{cargo}: {path}");
        assert!(first.is_none_or(|first| path.split(':').next().unwrap().ends_with(first)), "{cargo}: {path}");
    }
}

/// The directory of the build may come from cargo's configuration (this variable is `build.target-dir`), and files of another build may be where the
/// release profile would put its files.
#[test]
fn from_where_cargo_built() {
    let directory = scratch("libraries");
    std::fs::create_dir_all(directory.join("release")).unwrap();
    for name in ["libjumplabel_capi.a", "libjumplabel_capi.so"] {
        std::fs::write(directory.join("release").join(name), "another build").unwrap();
    }
    let directory = directory.to_str().unwrap();
    for variable in ["CARGO_BUILD_TARGET_DIR", "CARGO_TARGET_DIR"] {
        let other = scratch("from-where-cargo-built");
        make_with(&["install", &format!("PREFIX={}", other.display())], &[(variable, directory)]);
        for name in ["lib/libjumplabel.a", "lib/libjumplabel.so.0"] {
            let installed = [&other, prefix()].map(|prefix| std::fs::read(prefix.join(name)).unwrap());
            assert!(installed[0] == installed[1], "{variable}: {name} is of another build");
        }
    }
}

/// The installed files are readable for all, even if the umask of the user says otherwise, as root's does on many systems.
#[test]
fn everybody_may_read() {
    use std::os::unix::fs::PermissionsExt;

    fn look(folder: &Path) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let mode = path.metadata().unwrap().permissions().mode();
            assert!(mode & 0o444 == 0o444, "{}: {mode:o}", path.display());
            if path.is_dir() {
                assert!(mode & 0o111 == 0o111, "{}: {mode:o}", path.display());
                look(&path);
            }
        }
    }
    let stage = scratch("umask");
    let _ = std::fs::remove_dir_all(&stage);
    let mut shell = Command::new("sh");
    let install = format!("umask 077 && exec make -C {} install DESTDIR={}", file("").display(), stage.display());
    shell.args(["-c", &format!("{install} CARGO={}", env!("CARGO"))]).env_remove("MAKEFLAGS");
    succeeds(shell.env("CARGO_TARGET_DIR", scratch("libraries")));
    look(&stage.join("usr"));
}
