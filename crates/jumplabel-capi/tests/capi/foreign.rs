//! Builds tests/c/foreign.c twice, as a library and as a program that uses the library's keys, with various flags. The program works, or it is
//! refused with a text that names the cure: -fPIC (sometimes GNU ld names -fPIE). The rows are those of the table in docs/linux-api.md.

use std::process::Command;

use crate::compiler::{Compiler, GCC, Language};
use crate::prefix::{file, prefix, printed, scratch, succeeds};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Said {
    /// The program prints "ok".
    Works,
    /// The linker refuses, and names -fPIC. (If a program is not PIE, GNU ld names -fPIE.)
    Linker,
    /// A constructor ends the process.
    Start,
}
use Said::{Linker, Start, Works};

const LINKERS: [&str; 3] = ["bfd", "lld", "mold"];
/// Ways to compile a program. In a program with CURED, and with clang also with PIE, the address of a foreign variable comes from a slot.
const PIE: &str = "-fPIE -pie";
const FIXED: &str = "-fno-pie -no-pie";
const CURED: &str = "-fPIC -pie";

/// Builds and runs the program, and returns what happens.
fn said(compiler: Compiler, linker: &str, library: &str, program: &str) -> (Said, String) {
    let directory = scratch(&format!("foreign-{:?}", std::thread::current().id()));
    let lib = prefix().join("lib");
    let build = |flags: &str, output: &str, libraries: &[&str]| {
        // GNU ld warns of cases that the constructor refuses.
        let flags = format!("-O2 -fuse-ld={linker} -Wno-error {flags}");
        let mut command = compiler.command(Language::C, &flags);
        command.arg(file("tests/c/foreign.c")).arg("-o").arg(directory.join(output));
        command.arg("-L").arg(&directory).arg("-L").arg(&lib).args(libraries).arg("-ljumplabel");
        command.arg(format!("-Wl,-rpath,{}:{}", directory.display(), lib.display()));
        command.output().unwrap()
    };
    let shared = build(&format!("-fPIC -shared -DLIBRARY {library}"), "libforeign.so", &[]);
    assert!(shared.status.success(), "{library}: {}", printed(&shared));
    let linked = build(program, "program", &["-lforeign"]);
    if !linked.status.success() {
        let said = printed(&linked);
        assert!(said.contains("recompile with -fPI"), "{compiler:?} {linker} {library} {program}: {said}");
        return (Linker, said);
    }
    let output = Command::new(directory.join("program")).output().unwrap();
    let said = printed(&output);
    if output.status.success() {
        assert!(said.ends_with("ok\n"), "{said}");
        return (Works, said);
    }
    let refused = said.contains("jumplabel: ") && said.contains("Compile the program's files that use it with -fPIC");
    assert!(refused, "{compiler:?} {linker} {library} {program}: {} {said}", output.status);
    (Start, said)
}

/// Each row has flags of the library and of the program, and the expected result with GNU ld, lld and mold.
fn rows(compilers: &[Compiler], rows: &[(&str, String, [Said; 3])]) {
    for compiler in compilers {
        for (library, program, expected) in rows {
            for sites in ["", "-DNO_SITES"] {
                let program = format!("{program} {sites}");
                let found = LINKERS.map(|linker| said(*compiler, linker, library, &program).0);
                // A program without sites of the library's keys has no table that GNU ld could complain about, so the constructor refuses it.
                let same = |(found, expected): (&Said, &Said)| {
                    found == expected || (!sites.is_empty() && *expected == Linker && *found == Start)
                };
                assert!(found.iter().zip(expected).all(same), "{compiler:?} {library} {program}: {found:?}");
            }
        }
    }
}

const ALL_WORK: [Said; 3] = [Works; 3];
const ALL_START: [Said; 3] = [Start; 3];

#[test]
fn copied() {
    rows(&Compiler::ALL, &[PIE, FIXED, CURED].map(|program| ("", program.into(), ALL_WORK)));
    rows(&Compiler::ALL, &[("", format!("{PIE} -DJUMPLABEL_FOREIGN_KEYS"), ALL_WORK)]);
}

/// The key would exist twice.
#[test]
fn bound_to_the_library() {
    for library in ["-Wl,-Bsymbolic", "-DJUMPLABEL_LOCAL_KEYS"] {
        rows(&Compiler::ALL, &[(library, FIXED.into(), ALL_START), (library, CURED.into(), ALL_WORK)]);
        rows(
            &[GCC],
            &[(library, PIE.into(), ALL_START), (library, format!("{PIE} -DJUMPLABEL_FOREIGN_KEYS"), ALL_START)],
        );
    }
    let (_, text) = said(GCC, "bfd", "-Wl,-Bsymbolic", PIE);
    assert!(text.contains("there are two of `library_off`") && text.contains("libforeign.so uses its own"), "{text}");
}

#[test]
fn no_copy() {
    const NO_COPY: &str = "-Wl,-z,nocopyreloc";
    let with = |program: &str| format!("{program} {NO_COPY}");
    rows(&Compiler::ALL, &[("", with(CURED), ALL_WORK), ("", with(FIXED), [Linker, Linker, Linker])]);
    let foreign = format!("{PIE} -DJUMPLABEL_FOREIGN_KEYS");
    rows(&[GCC], &[("", with(PIE), [Start, Linker, Linker]), ("", with(&foreign), [Start, Linker, Linker])]);
    let (_, text) = said(GCC, "bfd", "", &with(PIE));
    assert!(text.contains("`library_off` is in") && text.contains("linked without a copy"), "{text}");
}

/// gcc's flag. clang's flag with the same meaning tells the linker nothing.
#[test]
fn no_direct_access() {
    const FLAG: &str = "-mno-direct-extern-access";
    rows(&[GCC], &[(FLAG, PIE.into(), ALL_WORK), (FLAG, format!("{CURED} {FLAG}"), ALL_WORK)]);
    for library in ["", FLAG] {
        for (program, of_gnu_ld) in [(PIE, Start), (FIXED, Linker)] {
            let found = LINKERS.map(|linker| said(GCC, linker, library, &format!("{program} {FLAG}")).0);
            assert_eq!(found, [of_gnu_ld, Works, Works], "{library} {program}");
        }
    }
    const CLANG_FLAG: &str = "-fno-direct-access-external-data";
    for program in [PIE, FIXED] {
        rows(&[crate::compiler::CLANG], &[(CLANG_FLAG, format!("{program} {CLANG_FLAG}"), ALL_WORK)]);
    }
}

/// Keys at a distance of more than 2 GB.
#[test]
fn far_data() {
    for program in [PIE, FIXED, CURED] {
        let program = format!("{program} -mcmodel=medium -DFAR");
        rows(&Compiler::ALL, &[("-mcmodel=medium", program, ALL_WORK)]);
    }
    // The broken twin: a table with distances to the keys themselves.
    let (program, compiler) = ("-O2 -mcmodel=medium -DFAR -U__code_model_medium__ -c -o", GCC);
    let object = scratch("foreign").join("near.o");
    let mut near = compiler.command(Language::C, program);
    succeeds(near.arg(&object).arg(file("tests/c/foreign.c")));
    let mut link = Command::new(compiler.c);
    link.arg(&object).arg("-o").arg(scratch("foreign").join("near")).arg("-Wl,--unresolved-symbols=ignore-all");
    let output = link.output().unwrap();
    assert!(!output.status.success() && printed(&output).contains("truncated to fit"), "{}", printed(&output));
}
