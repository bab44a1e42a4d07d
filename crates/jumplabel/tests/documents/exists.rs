//! Commands that are not run, because they take an hour or are parts of `make test` or `make test-all`: the things that they name must exist.

use std::path::PathBuf;

use crate::desk::{repository, shell};

/// Whether the command would start.
pub fn exists(command: &str) -> Result<(), String> {
    let words: Vec<&str> = command.split_whitespace().collect();
    match words[..] {
        ["make", ..] => starts(&command.replacen("make", "make -n", 1)),
        ["cargo", "test", ref arguments @ ..] => test(arguments),
        ["cargo", "run", ref arguments @ ..] => run(arguments),
        ["cargo", "jumplabel", ref arguments @ ..] => {
            help("cargo-jumplabel", &format!("jumplabel {}", arguments.join(" ")))
        }
        ["cargo", "tree" | "vendor", ..] => starts(&format!("{command} --help")),
        ["cargo", "install", "--path", folder] => {
            let package = folder.strip_prefix("jumplabel/").ok_or("the path of no checkout called jumplabel")?;
            repository(package).metadata().map(drop).map_err(|error| format!("{folder}: {error}"))
        }
        ["cargo", "xtask", ref arguments @ ..] => {
            help("xtask", &arguments.join(" ").replace("NAME", "s390x").replace("<name>", "s390x"))
        }
        [script] if script.starts_with(".ci/") => {
            repository("").join(script).metadata().map(drop).map_err(|error| format!("{script}: {error}"))
        }
        _ => Err(format!("nobody knows whether `{command}` exists")),
    }
}

fn starts(line: &str) -> Result<(), String> {
    let output = shell(line, &repository("")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(()) } else { Err(format!("{line}: {said}")) }
}

/// Runs the example, or checks the package and what its program says of these words.
fn run(arguments: &[&str]) -> Result<(), String> {
    let (mut package, mut example) = (None, None);
    let mut words = arguments.iter();
    while let Some(&word) = words.next() {
        match word {
            "-p" => package = words.next(),
            "--example" => example = words.next(),
            "--features" => drop(words.next()),
            "--release" => {}
            "--" => break,
            option => return Err(format!("nobody knows whether cargo run has {option}")),
        }
    }
    let package = package.ok_or("cargo run of which package?")?;
    let source = crates().join(package).join(example.map_or("Cargo.toml".into(), |name| format!("examples/{name}.rs")));
    if !source.exists() {
        return Err(format!("no {}", source.display()));
    }
    if example.is_some() {
        return Ok(());
    }
    help(package, &words.copied().collect::<Vec<_>>().join(" "))
}

/// What a package's program says of these words. If the program is there, cargo has no part in it: for one package alone, it would build others
/// with other features once more, and put the program in place anew, perhaps while another test runs it.
fn help(package: &str, words: &str) -> Result<(), String> {
    let program = built().join(package);
    if !program.exists() {
        starts(&format!("cargo build -p {package}"))?;
    }
    starts(&format!("{} {words} --help", program.display()))
        .map_err(|error| format!("{error} (Is it of older sources? cargo build -p {package})"))
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
        // `MODULE::NAME`: the module has a file of its own.
        let has = |filter: &str| match filter.split_once("::") {
            Some((module, name)) => {
                let of_module = std::fs::read_to_string(source.join(module).with_extension("rs"));
                of_module.is_ok_and(|text| text.contains(&format!("fn {name}")))
            }
            None => [format!("fn {filter}"), format!("mod {filter}")].iter().any(|words| text.contains(words)),
        };
        if let Some(filter) = filters.iter().find(|filter| !has(filter)) {
            return Err(format!("{} has no {filter}", source.display()));
        }
    }
    if sources.is_empty() && !filters.is_empty() { Err("a filter of no test".into()) } else { Ok(()) }
}

fn crates() -> PathBuf {
    repository("crates")
}

/// The directory where cargo puts programs. This test is in `deps` there.
fn built() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().and_then(|deps| deps.parent()).unwrap().to_owned()
}
