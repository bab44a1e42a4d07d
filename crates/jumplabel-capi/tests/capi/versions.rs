//! Versions of the symbols that the shared libraries export: install/NAME.map lists them, and install/versions passes them to the linker.

use std::path::Path;
use std::process::{Command, Output};

use crate::compiler::{GCC, Language};
use crate::exports::{linked, not_installed};
use crate::prefix::{file, prefix, printed, scratch, succeeds};

const LIBRARIES: [&str; 3] = ["libjumplabel", "libjumplabel-agent", "libjumplabel-fail"];

/// `NAME@VERSION` for each symbol that a shared library defines, sorted. (GNU ld lists the versions themselves, too, and lld does not.)
fn versioned(library: &Path) -> Vec<String> {
    let symbols = printed(&succeeds(Command::new("nm").args(["-D", "--defined-only"]).arg(library)));
    let names = symbols.lines().map(|line| line.split_whitespace().last().unwrap().replace("@@", "@"));
    let mut names: Vec<_> =
        names.filter(|name| name.split_once('@').is_none_or(|(name, version)| name != version)).collect();
    names.sort_unstable();
    names
}

/// The symbols that a shared library exports, sorted, without versions.
pub fn exported(library: &Path) -> Vec<String> {
    versioned(library).iter().map(|name| name.split('@').next().unwrap().to_owned()).collect()
}

/// `NAME@VERSION` for each symbol in a map.
fn of_map(text: &str) -> Vec<String> {
    let mut names = jumplabel_testing::version_map::names(text);
    names.sort_unstable();
    names
}

fn map(library: &str) -> String {
    std::fs::read_to_string(file("install").join(library).with_extension("map")).unwrap()
}

#[test]
fn as_in_the_maps() {
    for library in LIBRARIES {
        let listed = of_map(&map(library));
        assert!(listed.len() > 7, "{listed:?}");
        assert_eq!(versioned(&prefix().join("lib").join(format!("{library}.so"))), listed, "{library}");
    }
}

/// Runs install/versions as the linker, with this list from rustc. A command that prints the list replaces the real linker.
fn with_list(list: &str, name: &str) -> Output {
    let stage = scratch(name);
    std::fs::write(stage.join("of-rustc"), list).unwrap();
    let mut linker = Command::new(file("install/versions"));
    linker.arg(format!("--version-script={}", stage.join("of-rustc").display()));
    linker.env("JUMPLABEL_MAP", file("install/libjumplabel-agent.map")).env("JUMPLABEL_STAGE", &stage);
    let print = stage.join("print");
    let text = "#!/bin/sh\nexec cat \"${1#--version-script=}\"\n";
    // The file is written under another name, and moved, because a file that is open for writing cannot be started.
    std::fs::write(stage.join("print.new"), text).unwrap();
    succeeds(Command::new("sh").args(["-c", "chmod 755 print.new && mv print.new print"]).current_dir(&stage));
    linker.env("JUMPLABEL_LINKER", print).output().unwrap()
}

#[test]
fn each_name_needs_one() {
    let list = |names: &[&str]| {
        let names: String = names.iter().map(|name| format!("    {name};\n")).collect();
        format!("{{\n  global:\n{names}\n  local:\n    *;\n}};\n")
    };
    // Symbols that the target does not have are left out.
    let output = with_list(&list(&["jumplabel_startup", "__jumplabel_register_object"]), "versions-fewer");
    assert!(output.status.success(), "{}", printed(&output));
    assert_eq!(of_map(&printed(&output)), ["jumplabel_startup@JUMPLABEL_AGENT_0.1"]);
    // A symbol without a version makes the build fail.
    let said = with_list(&list(&["jumplabel_startup", "jumplabel_newer"]), "versions-newer");
    let words = "libjumplabel-agent.map: add jumplabel_newer; to the latest version";
    assert!(!said.status.success() && printed(&said).contains(words), "{}", printed(&said));
    // So does a list in an unknown format.
    assert!(!with_list("{ global: jumplabel_startup; };", "versions-unknown").status.success());
}

/// A program that was linked with 0.1 runs with a library that has one more function in a later version. A program that needs the later version is
/// refused by the loader with the older library, before it runs.
#[test]
fn a_later_library() {
    let directory = scratch("versions-later");
    let later = "JUMPLABEL_0.2 {\nglobal:\n    jumplabel_newer;\n} JUMPLABEL_0.1;\n";
    std::fs::write(directory.join("later.map"), map("libjumplabel") + later).unwrap();
    std::fs::write(directory.join("newer.c"), "int jumplabel_newer(void);\nint jumplabel_newer(void) { return 1; }\n")
        .unwrap();
    let program = "int jumplabel_newer(void);\nint main(void) { return !jumplabel_newer(); }\n";
    std::fs::write(directory.join("needs.c"), program).unwrap();
    let in_it = |name: &str| directory.join(name).display().to_string();
    // The archive as cargo builds it, in which names are visible.
    let whole = format!("-Wl,--whole-archive {} -Wl,--no-whole-archive -lpthread -ldl -lm", linked(&not_installed()));
    let consumer = file("tests/consumers/consumer.c").display().to_string();
    let linked_before = GCC.build(Language::C, "-O2", &[&consumer], "-ljumplabel", &directory.join("before"));
    for linker in ["bfd", "lld"] {
        let flags = format!(
            "-O2 -fPIC -shared -fuse-ld={linker} -Wl,--gc-sections -Wl,-soname,libjumplabel.so.0 -Wl,--version-script={}",
            in_it("later.map")
        );
        // The linker would find the older library, under the name that the loader uses.
        let library = GCC.build(Language::C, &flags, &[&in_it("newer.c")], &whole, &directory.join("later.so"));
        std::fs::copy(&library, directory.join("libjumplabel.so.0")).unwrap();
        let names = versioned(&library);
        for name in ["jumplabel_enable@JUMPLABEL_0.1", "jumplabel_newer@JUMPLABEL_0.2"] {
            assert!(names.iter().any(|found| found == name), "{linker} {name}: {names:?}");
        }
        let with_it = |program: &Path| printed(&succeeds(Command::new(program).env("LD_LIBRARY_PATH", &directory)));
        assert_eq!(with_it(&linked_before), "verified 2\n", "{linker}");

        let needs = GCC.build(Language::C, "-O2", &[&in_it("needs.c")], &linked(&library), &directory.join("needs"));
        assert_eq!(with_it(&needs), "", "{linker}");
        let output = Command::new(&needs).env("LD_LIBRARY_PATH", prefix().join("lib")).output().unwrap();
        let said = printed(&output);
        assert!(!output.status.success() && said.contains("version `JUMPLABEL_0.2' not found"), "{linker}: {said}");
    }
}
