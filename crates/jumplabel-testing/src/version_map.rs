//! Reads the version maps of the shared C libraries (`crates/jumplabel-capi/install/*.map`).

/// `NAME@VERSION` of each name that a map shows, in the order of the map. The names of the versions themselves are left out.
pub fn names(map: &str) -> Vec<String> {
    let (mut found, mut version) = (Vec::new(), None);
    for line in map.lines() {
        if let Some((name, _)) = line.split_once(" {").filter(|(name, _)| name.starts_with("JUMPLABEL_")) {
            version = Some(name);
        } else if line.starts_with("local:") || line.starts_with('}') {
            version = None;
        } else if let (Some(version), Some(name)) = (version, line.trim_start().strip_suffix(';')) {
            found.push(format!("{name}@{version}"));
        }
    }
    found
}

#[test]
fn names_of_two_versions() {
    let map = "A_0.1 {\nglobal:\n    left_out;\n};\nJUMPLABEL_0.1 {\nglobal:\n    b;\n    a;\nlocal: /* c; */\n    d;\n    *;\n};\n\
               JUMPLABEL_0.2 {\nglobal:\n    e;\n} JUMPLABEL_0.1;\n";
    assert_eq!(names(map), ["b@JUMPLABEL_0.1", "a@JUMPLABEL_0.1", "e@JUMPLABEL_0.2"]);
}
