//! The code of naked keys, as compilers and linkers leave it.

use jumplabel_testing::cargo::{self};

use super::{LINKERS, check, code, installed, shapes};

/// The checks of naked keys, as an optimising compiler leaves them: see [`code`].
#[test]
fn naked_checks() {
    let file = check(&shapes());
    let data = std::fs::read(&file).unwrap();
    let program = code::Program::parse(&data);
    let leaf = program.function("shapes_naked_leaf");
    leaf.is_one_check(&program).unwrap();
    leaf.keeps_nothing_in_memory().unwrap();
    let live = program.function("shapes_naked_live");
    live.is_one_check(&program).unwrap();
    live.keeps_nothing_in_memory().unwrap();
    // An ordinary function fails the same checks.
    let call = program.function("shapes_call_live");
    assert!(call.is_one_check(&program).unwrap_err().contains("is called"));
    assert!(call.keeps_nothing_in_memory().is_err());
    cargo::discard(&[file]);
}

/// Linkers that fold identical functions must not take two keys' functions for one: all are the same two instructions.
#[test]
fn identical_functions_are_not_folded() {
    for (program, link) in LINKERS.iter().filter(|(program, _)| *program != "ld.bfd" && installed(program)) {
        let build = shapes().link(link).link(&["-Clink-arg=-Wl,--icf=all"]);
        let results = build.results(&["shapes"]);
        let data = std::fs::read(&results[0]).unwrap();
        let functions = code::Program::parse(&data).naked_functions();
        assert!(
            functions.len() >= 13 && functions.windows(2).all(|pair| pair[0] != pair[1]),
            "{program}: {functions:x?}"
        );
        cargo::discard(&results);
    }
}
