//! `report` and `compare`, and what must not rise.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

/// What was counted by an optimised build. A build that is not counts less: bytes and system calls.
const COUNTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/counts.json");

/// An instruction more in a check, a byte more in a table, a system call more in a flip, work before main: a part and its count.
const RISING: [(&str, &str); 9] = [
    ("listing", "instructions of a check, rustc: static key"),
    ("listing", "instructions of a check, gcc: static key"),
    ("flips", "bytes of table a site"),
    ("flips", "system calls of a flip of one site, with one thread, not optimised"),
    ("startup", "relocations of text"),
    ("startup", "relocations of tables"),
    ("startup", "system calls before main, more than without sites"),
    ("startup", "system calls from main to the end, more than without sites"),
    ("startup", "KiB of text and tables copied before main"),
];

fn run(words: &[&str]) -> (Output, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_jumplabel-bench")).args(words).output().unwrap();
    let said = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    (output, String::from_utf8(said).unwrap())
}

fn scratch(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&directory);
    directory
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// One report of the shortest of all: pages, the same from its own results, itself beside itself, and what has risen.
#[test]
#[cfg_attr(any(miri, jumplabel_fallback), ignore = "no sites")]
fn pages() {
    let [first, again] = ["report", "report-again"].map(scratch);
    let (output, said) = run(&["report", "--quick", "--only", "up,flips,startup,listing", "--to", text(&first)]);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("2/4 flips") && said.contains("4/4 startup"), "{said}");
    let results = first.join("results.json");
    let (output, said) = run(&["report", "--from", text(&results), "--to", text(&again)]);
    assert!(output.status.success(), "{said}");
    for page in ["report.md", "report.html", "results.json"] {
        let [one, other] = [&first, &again].map(|directory| std::fs::read_to_string(directory.join(page)).unwrap());
        assert_eq!(one, other, "{page}");
    }

    let html = std::fs::read_to_string(first.join("report.html")).unwrap();
    // One file without scripts, and without anything that is somewhere else.
    for missing in ["<script", "http://", "https://", "url(", "src=", "@import", "#010203", "#070809"] {
        let html = html.replace("http://www.w3.org/2000/svg", "");
        assert!(!html.contains(missing), "{missing}");
    }
    let drawn = html.matches("<svg").count();
    // Of flips nothing is drawn where no flip met the other thread: on one processor.
    assert!(drawn >= 1 && html.matches("</svg>").count() == drawn, "{drawn} charts");
    assert!(
        html.contains("prefers-color-scheme: dark")
            && html.contains("var(--bar)")
            && html.contains("width=device-width")
    );
    let markdown = std::fs::read_to_string(first.join("report.md")).unwrap();
    assert!(markdown.contains("| UP mode |") && markdown.contains("-- startup`"), "{markdown}");

    // Nothing differs from itself.
    let (output, said) = run(&["compare", text(&results), text(&results)]);
    assert!(output.status.success() && said.contains("no difference measured") && !said.contains(" x "), "{said}");
    // A count that rose, a figure that doubled.
    let mut other: Value = serde_json::from_str(&std::fs::read_to_string(&results).unwrap()).unwrap();
    let parts = other["results"].as_array_mut().unwrap();
    for part in parts {
        if part["benchmark"] == "flips" {
            part["counts"]["bytes of table a site"] = json!(17.0);
        }
        if part["benchmark"] == "up" {
            let bar = &mut part["charts"][0]["bars"][0];
            *bar = json!({ "name": bar["name"], "figure": 200.0, "interval": [199.0, 201.0] });
        }
    }
    let risen = first.join("risen.json");
    std::fs::write(&risen, other.to_string()).unwrap();
    let (output, said) = run(&["compare", text(&results), text(&risen)]);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("RISEN: bytes of table a site: 16 before, 17 now") && said.contains("x 2.000 (1.99"),
        "{said}"
    );
    let (output, _) = run(&["compare", text(&risen), text(&results)]);
    assert!(output.status.success(), "a count that fell");
    // What an optimised build has counted has not risen.
    let (output, said) = run(&["compare", COUNTS, text(&results)]);
    assert!(output.status.success() && !said.contains("RISEN"), "{said}");
    let counted = |file: &str| std::fs::read_to_string(file).unwrap().matches("bytes of table a site").count();
    assert_eq!([counted(COUNTS), counted(text(&results))], [1, 1]);
    // Of what rises with a worse library, each has a figure in both; and a rise of any is found.
    let counts: Value = serde_json::from_str(&std::fs::read_to_string(COUNTS).unwrap()).unwrap();
    let now: Value = serde_json::from_str(&std::fs::read_to_string(&results).unwrap()).unwrap();
    let of = |results: &Value, part: &str, count: &str| {
        let parts = results["results"].as_array().unwrap().iter().find(|of| of["benchmark"] == part).unwrap();
        parts["counts"][count].as_f64()
    };
    for (part, count) in RISING {
        let (before, now_is) = (of(&counts, part, count), of(&now, part, count));
        assert!(before.is_some(), "counts.json has no {count}");
        let Some(now_is) = now_is else {
            println!("skipped: {count} is not counted here");
            continue;
        };
        let mut worse = now.clone();
        let parts = worse["results"].as_array_mut().unwrap().iter_mut().find(|of| of["benchmark"] == part).unwrap();
        parts["counts"][count] = json!(now_is + 1.0);
        std::fs::write(&risen, worse.to_string()).unwrap();
        let (output, said) = run(&["compare", COUNTS, text(&risen)]);
        assert!(output.status.code() == Some(1) && said.contains(&format!("RISEN: {count}")), "{count}: {said}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "processes")]
fn refused() {
    let directory = scratch("report-refused");
    std::fs::create_dir_all(&directory).unwrap();
    let file = directory.join("results.json");
    let rows = [
        ("", "results.json: "),
        ("[]", "not a results.json"),
        (r#"{"version":2,"results":[]}"#, "version 2; this program knows version 1"),
    ];
    for (content, expected) in rows {
        std::fs::write(&file, content).unwrap();
        let out = directory.join("out");
        for words in
            [&["report", "--from", text(&file), "--to", text(&out)][..], &["compare", text(&file), text(&file)]]
        {
            let (output, said) = run(words);
            assert!(output.status.code() == Some(2) && said.contains(expected), "{words:?}: {said}");
        }
        assert!(!out.exists());
    }
    let (output, said) = run(&["report", "--only", "up,coffee"]);
    assert!(output.status.code() == Some(2) && said.contains("no measurement `coffee`; there are listing, "), "{said}");
    let (output, said) = run(&["compare", "nowhere.json", "nowhere.json"]);
    assert!(output.status.code() == Some(2) && said.contains("nowhere.json: No such file"), "{said}");
}
