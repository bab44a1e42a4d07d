//! Commands that are not run, because they take an hour or are part of `make test`: what they name must exist.

use std::path::{Path, PathBuf};

use crate::desk::{repository, shell};

/// Whether the command would start.
pub fn exists(command: &str) -> Result<(), String> {
    let words: Vec<&str> = command.split_whitespace().collect();
    match words[..] {
        ["make", ..] => starts(&command.replacen("make", "make -n", 1)),
        ["cargo", "test", ref arguments @ ..] => test(arguments),
        ["cargo", "run", ..] => starts(&format!("{} --help", command.replace(" --release", ""))),
        [script, ref arguments @ ..] if script.starts_with("ci/") || script.starts_with(".ci/") => {
            of_ci(script, arguments)
        }
        _ => Err(format!("nobody knows whether `{command}` exists")),
    }
}

fn starts(line: &str) -> Result<(), String> {
    let output = shell(line, &repository("")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(()) } else { Err(format!("{line}: {said}")) }
}

/// A script of ci/ that can be run, options that it looks for, names that ci/targets knows.
fn of_ci(script: &str, arguments: &[&str]) -> Result<(), String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(script);
    let text = std::fs::read_to_string(&file).map_err(|error| format!("{script}: {error}"))?;
    let targets = std::fs::read_to_string(repository("ci/targets")).unwrap();
    for argument in arguments {
        let is_placeholder = ["NAME", "<name>"].contains(argument);
        let is_option = argument.starts_with("--") && text.contains(argument);
        let is_target = targets.lines().any(|line| line.split_whitespace().take(2).eq(["row", argument]));
        if !(is_placeholder || is_option || is_target) {
            return Err(format!("{script} knows no {argument}"));
        }
    }
    Ok(())
}

/// The package, the set of tests, and tests or modules whose names begin with the filter.
fn test(arguments: &[&str]) -> Result<(), String> {
    let mut package = repository("crates/jumplabel");
    let (mut filters, mut words) = (Vec::new(), arguments.iter());
    let mut sources: Vec<PathBuf> = Vec::new();
    while let Some(&word) = words.next() {
        match word {
            "-p" => package = crates().join(words.next().ok_or("-p of what?")?),
            "--test" => sources.push(package.join("tests").join(words.next().ok_or("which test?")?)),
            "--" => break,
            "--release" => {}
            filter if !filter.starts_with('-') => filters.push(filter),
            option => return Err(format!("nobody knows whether cargo test has {option}")),
        }
    }
    if !package.join("Cargo.toml").exists() {
        return Err(format!("no package {}", package.display()));
    }
    for source in &sources {
        let text =
            std::fs::read_to_string(source.with_extension("rs")).map_err(|_| format!("no {}", source.display()))?;
        if let Some(filter) = filters
            .iter()
            .find(|filter| ![format!("fn {filter}"), format!("mod {filter}")].iter().any(|words| text.contains(words)))
        {
            return Err(format!("{} has no {filter}", source.display()));
        }
    }
    if sources.is_empty() && !filters.is_empty() { Err("a filter of no test".into()) } else { Ok(()) }
}

fn crates() -> PathBuf {
    repository("crates")
}
