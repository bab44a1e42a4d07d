//! Tests of Debian's packages. Two builds, one of which has no network, must give the same bits. The packages are installed and removed in a minimal
//! Debian.

use std::path::{Path, PathBuf};

use jumplabel_testing::breadth::{has, leave_out};
use jumplabel_testing::version_map;

use super::bookworm::Bookworm;
use super::{printed, root, scratch, shell};

const PACKAGES: [&str; 5] =
    ["libjumplabel0", "libjumplabel-agent0", "libjumplabel-fail0", "libjumplabel-dev", "jumplabel"];

/// Builds the next version of the libraries: it has one more function, with a version of its own. The list of symbols and the changelog are extended.
const NEWER: &str = r#"
cat >>crates/jumplabel-capi/src/lib.rs <<'END'

/// A function that older libraries lack.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_newer() -> core::ffi::c_int { 1 }
END
printf '%s\n' 'JUMPLABEL_0.2 {' 'global:' '    jumplabel_newer;' '} JUMPLABEL_0.1;' >>crates/jumplabel-capi/install/libjumplabel.map
printf ' %s 0.1.0+1\n' JUMPLABEL_0.2@JUMPLABEL_0.2 jumplabel_newer@JUMPLABEL_0.2 >>debian/libjumplabel0.symbols
{ echo 'jumplabel (0.1.0+1) bookworm; urgency=medium'; echo; echo '  * A function more.'; echo
  echo ' -- Nobody <nobody@example.org>  Sat, 28 Nov 2026 12:00:00 +0000'; echo; } | cat - debian/changelog >changelog
mv changelog debian/changelog
dpkg-buildpackage --build=binary --no-sign --no-pre-clean
"#;

/// The checksums of all packages in a folder. Lintian must find nothing wrong with them.
fn packages(folder: &Path) -> Vec<String> {
    let line = "lintian --allow-root --fail-on error,warning --tag-display-limit 0 *.changes 2>&1";
    assert_eq!(printed(line, folder), "", "lintian");
    printed("sha256sum *.deb", folder).lines().map(str::to_owned).collect()
}

/// Returns whether `abidiff` finds a change between two builds of a library that breaks programs: bit 8 of its exit code.
fn breaks(older: &Path, newer: &Path, library: &str) -> bool {
    let at = |folder: &Path| {
        let name = format!("{library}.so.0");
        let unpack = format!(
            "rm -rf unpacked && dpkg-deb --extract {library}0_*.deb unpacked && find $PWD/unpacked -name {name}"
        );
        printed(&unpack, folder).trim().to_owned()
    };
    let status = shell(&format!("abidiff {} {}", at(older), at(newer)), older).output().unwrap().status;
    let code = status.code().expect("abidiff ends by itself");
    assert!(code & 3 == 0, "abidiff did not compare: {status}");
    code & 8 != 0
}

/// Returns whether the tools are here. Only root can make another Debian.
fn can_run() -> bool {
    let is_root = printed("id -u", &root()).trim() == "0";
    if !is_root {
        leave_out("root, for another Debian");
    }
    is_root && ["dpkg-buildpackage", "dh", "lintian", "abidiff", "mmdebstrap", "/usr/bin/cargo"].iter().all(has)
}

#[test]
#[ignore = "an hour of one processor: make release-check"]
fn built_installed_and_removed() {
    if !can_run() {
        return;
    }
    let folder = scratch("debian");
    let (first, second, newer) = (folder.join("first"), folder.join("second/in/another/folder"), folder.join("newer"));
    let install = std::fs::read_to_string(root().join("docs/install.md")).unwrap();
    let build = install.lines().find(|line| line.starts_with("make deb DIST=/tmp/jumplabel")).expect("how to build");
    printed(&build.replace("/tmp/jumplabel", &first.display().to_string()), &root());
    let sums = packages(&first);
    assert_eq!(sums.len(), PACKAGES.len() + 4, "and those with debug information: {sums:?}");

    // The second build has only the tarball, and no network. The tarball that it writes must be the same.
    let unpacked = folder.join("unpacked");
    std::fs::create_dir_all(&unpacked).unwrap();
    std::fs::create_dir_all(&second).unwrap();
    printed(&format!("tar --extract --strip-components 1 --file {}/*.tar.xz", first.display()), &unpacked);
    let again = format!("unshare --net make --no-print-directory deb DIST={}", second.display());
    printed(&format!("CARGO_HOME={}/home {again}", folder.display()), &unpacked);
    assert_eq!(packages(&second), sums, "another folder gives other bits");
    let tarballs = [&first, &second].map(|folder| printed("cat *.sha256", folder));
    assert_eq!(tarballs[0], tarballs[1]);

    printed(NEWER, &second.join("source"));
    std::fs::create_dir_all(&newer).unwrap();
    printed(&format!("mv *0.1.0+1_*.deb {}", newer.display()), &second);
    for library in ["libjumplabel", "libjumplabel-agent", "libjumplabel-fail"] {
        assert!(!breaks(&first, &newer, library), "{library}");
    }
    // In the opposite direction, a function is lost.
    assert!(breaks(&newer, &first, "libjumplabel"));

    in_bookworm(&folder, &first, &newer);
}

/// A program that flips a key for each line that it reads.
const FLIPPING: &str = r#"#include <jumplabel/jump_label.h>
#include <stdio.h>

static DEFINE_STATIC_KEY_FALSE(key);

int main(void)
{
	for (int on = 0; getchar() != EOF; on = !on) {
		if (on)
			static_branch_disable(&key);
		else
			static_branch_enable(&key);
		puts(static_branch_unlikely(&key) ? "on" : "off");
		fflush(stdout);
	}
}
"#;

fn in_bookworm(folder: &Path, first: &Path, newer: &Path) {
    let bookworm = Bookworm::new(&folder.join("bookworm"));
    let copy = |from: &Path, name: &str| -> PathBuf {
        let to = bookworm.path(name);
        std::fs::create_dir_all(&to).unwrap();
        printed(&format!("cp *.deb {}", to.display()), from);
        to
    };
    copy(first, "tmp/jumplabel");
    copy(newer, "tmp/newer");
    bookworm.download("/tmp/jumplabel/*.deb");
    bookworm.download("--no-install-recommends clang cmake dpkg-dev");

    // Runs the commands of docs/install.md in a minimal Debian.
    let install = std::fs::read_to_string(root().join("docs/install.md")).unwrap();
    let lines = install.split("sudo apt install").nth(1).unwrap().split("```").next().unwrap();
    let lines: Vec<_> =
        lines.lines().map(|line| line.replace("sudo ", "").replace("apt purge", "apt-get purge -y")).collect();
    bookworm.run(&format!("apt-get install -y {}", lines[0]));
    let said = bookworm.run(&lines[1..3].join("\n"));
    assert!(said.starts_with("work(2)\n") && said.contains("trace"), "{said}");
    bookworm
        .run("test -e /usr/share/bash-completion/completions/jumplabel && test -e /usr/share/man/man3/jumplabel.3.gz");

    bookworm.run("apt-get install -y --no-install-recommends clang cmake dpkg-dev");
    let example = "/usr/share/doc/libjumplabel-dev/examples/program.c $(pkg-config --cflags --libs jumplabel)";
    for compiler in ["gcc", "clang"] {
        assert_eq!(bookworm.run(&format!("{compiler} -Wall -Werror {example} && ./a.out")), "work(2)\n", "{compiler}");
        let linked = format!("{compiler} {example} -static $(pkg-config --libs --static jumplabel) && ./a.out");
        assert_eq!(bookworm.run(&linked), "work(2)\n", "{compiler} -static");
    }
    by_cmake(&bookworm);
    let removed = removes_all(&bookworm, &lines[3]);
    // The packages can be installed and removed a second time.
    bookworm.run("apt-get install -y /tmp/jumplabel/*.deb");
    exchanged(&bookworm);
    assert_eq!(removes_all(&bookworm, &lines[3]), removed);
}

/// CMake finds the packages. Programs run with fail points, and with an agent, which the tool asks to set a key while they run.
fn by_cmake(bookworm: &Bookworm) {
    let copy = format!("cp -r --parents tests/consumers tests/c examples/c {}", bookworm.path("tmp").display());
    printed(&copy, &root().join("crates/jumplabel-capi"));
    bookworm.run("cmake -S /tmp/tests/consumers -B /tmp/built && cmake --build /tmp/built");
    for program in ["shared", "static"] {
        assert!(bookworm.run(&format!("/tmp/built/{program}")).contains("verified"), "{program}");
    }
    for program in ["fail", "fail_static"] {
        let said = bookworm.run(&format!("FAILPOINTS=store.open=return /tmp/built/{program} /tmp/store"));
        assert_eq!(said, "saved 0 of 3\n", "{program}");
    }
    for program in ["operated", "operated_static"] {
        let mut running = bookworm.start(&format!("env JUMPLABEL_AGENT=1 /tmp/built/{program}"));
        assert_eq!((running.line().as_str(), running.answer().as_str()), ("at the start: 0\n", "0 1 1 0 1\n"));
        bookworm.run(&format!("jumplabel set {} net.trace=on", running.id()));
        assert_eq!(running.answer(), "1 1 1 0 1\n", "{program}");
        running.end();
    }
}

/// Removes the packages. Returns the list of all files, none of which may belong to the packages.
fn removes_all(bookworm: &Bookworm, line: &str) -> String {
    bookworm.run(line);
    let list = bookworm.run("dpkg-query --show --showformat '${Package} ${db:Status-Status}\\n'");
    assert!(!list.contains("jumplabel"), "{list}");
    let files = bookworm.run(
        "find / -xdev \\( -path /tmp -o -path /proc -o -path /var/log -o -path /var/cache -o -path /var/lib/apt \
         -o -path /root \\) -prune -o -print | grep -v -e '^/var/lib/dpkg/.*-old$' | LC_ALL=C sort",
    );
    assert!(
        !files.contains("jumplabel"),
        "{}",
        files.lines().filter(|line| line.contains("jumplabel")).collect::<String>()
    );
    files
}

/// A newer library replaces the older one, and then the older one the newer, while a program runs that was built with the older one.
fn exchanged(bookworm: &Bookworm) {
    std::fs::write(bookworm.path("tmp/flipping.c"), FLIPPING).unwrap();
    bookworm.run("gcc /tmp/flipping.c $(pkg-config --cflags --libs jumplabel) -o /tmp/flipping");
    let once = || assert_eq!(bookworm.run("echo | /tmp/flipping"), "on\n");
    let version = || bookworm.run("dpkg-query --show --showformat '${Version}' libjumplabel0");
    let mut running = bookworm.start("/tmp/flipping");
    assert_eq!(running.answer(), "on\n");
    once();
    bookworm.run("apt-get install -y /tmp/newer/*.deb");
    assert_eq!((version().as_str(), running.answer().as_str()), ("0.1.0+1", "off\n"));
    once();
    // A package with a program that uses the new function depends on the newer library. With another program, it depends on the older one.
    let needs = |program: &str| {
        let control = "mkdir -p /tmp/a/debian && cd /tmp/a && printf 'Source: a\\n\\nPackage: a\\nArchitecture: any\\n' >debian/control";
        bookworm.run(&format!("{control} && dpkg-shlibdeps -O {program}"))
    };
    assert!(needs("/tmp/flipping").contains("libjumplabel0 (>= 0.1.0)"));
    bookworm.run("echo 'int jumplabel_newer(void); int main(void) { return !jumplabel_newer(); }' >/tmp/new.c");
    bookworm.run("gcc /tmp/new.c -ljumplabel -o /tmp/new && /tmp/new");
    assert!(needs("/tmp/new").contains("libjumplabel0 (>= 0.1.0+1)"));
    bookworm.run("apt-get install -y --allow-downgrades /tmp/jumplabel/*.deb");
    assert_eq!((version().as_str(), running.answer().as_str()), ("0.1.0", "on\n"));
    once();
    running.end();
    // If a package lacked that dependency, the loader would report the missing version before the program runs.
    bookworm.run("/tmp/new 2>&1 | grep \"version .JUMPLABEL_0.2' not found\"");
}

/// Debian's lists of symbols must name all that the libraries export. A new function needs a line there, and one in the map of versions.
#[test]
fn lists_of_symbols() {
    let read = |name: &str| std::fs::read_to_string(root().join(name)).unwrap();
    let exports = read("crates/jumplabel-capi/tests/capi/exports.rs");
    let exports = exports.split("EXPORTS: &str = \"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let of_core: Vec<_> = exports.split_whitespace().filter(|&word| word != "\\").map(str::to_owned).collect();
    // The functions that a static library hides are those that the shared library exports.
    let hidden = |name: &str| -> Vec<_> {
        let source = read(name);
        let names = source.split("\".hidden ").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned());
        names.collect()
    };
    for (library, mut exports) in [
        ("libjumplabel", of_core),
        ("libjumplabel-agent", hidden("crates/jumplabel-agent-capi/src/archive.rs")),
        ("libjumplabel-fail", hidden("crates/jumplabel-fail-capi/src/archive.rs")),
    ] {
        exports.sort_unstable();
        let list = read(&format!("debian/{library}0.symbols"));
        let listed: Vec<_> = list.lines().skip(1).map(|line| line.trim().split(' ').next().unwrap()).collect();
        let names: Vec<_> = listed.iter().map(|name| name.split_once('@').expect("a version")).collect();
        let names: Vec<_> = names.iter().filter(|(name, version)| name != version).map(|(name, _)| *name).collect();
        assert!(exports.len() > 5, "{exports:?}");
        assert_eq!(names, exports, "{library}");

        let map = read(&format!("crates/jumplabel-capi/install/{library}.map"));
        assert_eq!(listed, versions(&map), "{library}");
        let later = versions(&format!("{map}JUMPLABEL_9 {{\nglobal:\n    a;\n}} JUMPLABEL_8;\n"));
        let new: Vec<_> = later.iter().filter(|name| !listed.contains(&name.as_str())).collect();
        assert_eq!(new, ["JUMPLABEL_9@JUMPLABEL_9", "a@JUMPLABEL_9"]);
    }
}

/// A sorted list of `NAME@VERSION`, for each name and each version in a map of versions.
fn versions(map: &str) -> Vec<String> {
    let mut found = version_map::names(map);
    let mut versions: Vec<_> = found.iter().map(|name| name.split_once('@').expect("a version").1.to_owned()).collect();
    versions.dedup();
    found.extend(versions.iter().map(|version| format!("{version}@{version}")));
    found.sort_unstable();
    found
}
