//! Debian's sources, from apt. The list of sources, and all files of apt, are in a folder of the tests. The machine's own lists are not changed; they
//! tell which mirror to use.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::story::{printed, scratch, succeeds};

/// Copies a list of packages (stanzas in deb822, or lines), and lists sources in place of packages. Only entries for suites of this distribution
/// stay.
fn sources_of(list: &str, is_stanzas: bool, codename: &str) -> String {
    let has_suite = |words: &str| {
        words.split_whitespace().any(|suite| suite == codename || suite.starts_with(&format!("{codename}-")))
    };
    if !is_stanzas {
        let lines = list.lines().filter_map(|line| line.trim().strip_prefix("deb "));
        return lines.filter(|line| has_suite(line)).map(|line| format!("deb-src {line}\n")).collect();
    }
    let stanzas = list.split("\n\n").filter(|stanza| {
        let field = |name: &str| stanza.lines().find_map(|line| line.strip_prefix(name));
        field("Suites:").is_some_and(has_suite) && field("Enabled:").is_none_or(|is| is.trim() != "no")
    });
    let line = |line: &str| if line.starts_with("Types:") { "Types: deb-src\n".into() } else { format!("{line}\n") };
    stanzas.map(|stanza| stanza.lines().map(line).collect::<String>() + "\n").collect()
}

/// Writes the machine's lists into `folder`, with packages replaced by sources.
fn write_lists(folder: &Path) {
    let system = fs::read_to_string("/etc/os-release").unwrap();
    let codename = system.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME=")).unwrap().trim_matches('"');
    let parts = fs::read_dir("/etc/apt/sources.list.d").into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut written = 0;
    for path in parts.chain(["/etc/apt/sources.list".into()]) {
        let extension = path.extension().unwrap_or_default().to_string_lossy().into_owned();
        let Some(list) = ["sources", "list"].contains(&&*extension).then(|| fs::read_to_string(&path).ok()).flatten()
        else {
            continue;
        };
        let sources = sources_of(&list, extension == "sources", codename);
        if !sources.is_empty() {
            fs::write(folder.join(path.file_name().unwrap()), sources).unwrap();
            written += 1;
        }
    }
    assert!(written > 0, "no list of apt has a suite of {codename}");
}

/// The unpacked sources of a package, with Debian's patches. They are downloaded once.
pub fn unpacked(package: &str) -> PathBuf {
    let folder = scratch("sources");
    let unpacked = folder.join(package);
    if unpacked.exists() {
        return unpacked;
    }
    let files = folder.join("files").join(package);
    let _ = fs::remove_dir_all(&files);
    for made in
        [folder.join("parts"), folder.join("lists/partial"), folder.join("cache/archives/partial"), files.clone()]
    {
        fs::create_dir_all(made).unwrap();
    }
    write_lists(&folder.join("parts"));
    let apt = |tool: &str, words: &[&str]| {
        let mut apt = Command::new(tool);
        for (name, value) in
            [("Etc::sourcelist", "none"), ("Etc::sourceparts", "parts"), ("State::lists", "lists"), ("Cache", "cache")]
        {
            apt.arg("-o").arg(format!("Dir::{name}={}", folder.join(value).display()));
        }
        // The downloaded files belong to the user who runs this.
        apt.args(["-o", "APT::Sandbox::User=root", "-q"]).args(words).current_dir(&files);
        apt
    };
    succeeds(&mut apt("apt-get", &["update"]));
    // A mirror may not have the newest version yet, such as a security update. Then an older one is as good.
    let shown = printed(&succeeds(&mut apt("apt-cache", &["showsrc", package])));
    let versions = shown.lines().filter_map(|line| line.strip_prefix("Version: ").map(|is| format!("{package}={is}")));
    let mut failed = String::new();
    let is_there = [package.to_owned()].into_iter().chain(versions).any(|of| {
        let output = apt("apt-get", &["source", "--download-only", &of]).output().unwrap();
        failed += &printed(&output);
        output.status.success()
    });
    assert!(is_there, "{package}: {failed}");
    let description = fs::read_dir(&files).unwrap().map(|entry| entry.unwrap().path());
    let description = description.into_iter().find(|path| path.extension().is_some_and(|is| is == "dsc")).unwrap();
    // They are unpacked under another name first, so that an interrupted run leaves no incomplete folder.
    let beside = folder.join(format!("{package}.part"));
    let _ = fs::remove_dir_all(&beside);
    succeeds(Command::new("dpkg-source").args(["--no-check", "-x"]).arg(description).arg(&beside));
    fs::rename(&beside, &unpacked).unwrap();
    unpacked
}

#[test]
fn lists_of_sources() {
    let list = "Types: deb\n# a comment\nURIs: http://mirror/debian\nSuites: bookworm bookworm-updates\nComponents: main\n\n\
                Types: deb\nURIs: http://elsewhere\nSuites: nodistro\n\nTypes: deb\nEnabled: no\nSuites: bookworm\n";
    assert_eq!(
        sources_of(list, true, "bookworm"),
        "Types: deb-src\n# a comment\nURIs: http://mirror/debian\nSuites: bookworm bookworm-updates\nComponents: main\n\n"
    );
    let lines = "# deb http://no bookworm main\ndeb [arch=amd64] http://mirror bookworm-security main\ndeb http://other stable main\n";
    assert_eq!(sources_of(lines, false, "bookworm"), "deb-src [arch=amd64] http://mirror bookworm-security main\n");
}
