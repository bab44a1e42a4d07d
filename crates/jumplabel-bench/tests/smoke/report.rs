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
    // The list of targets says of each what it is.
    let listed = markdown.split("\n## ").find(|chapter| chapter.starts_with("Targets")).unwrap();
    let rows: Vec<&str> = listed.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    let mut words: Vec<&str> = rows.iter().map(|row| row.split(" | ").nth(1).unwrap()).collect();
    assert!(rows.len() > 8 && rows.iter().any(|row| row.contains("| a mutex that nobody else wants")), "{rows:#?}");
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), rows.len(), "{rows:#?}");

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

/// What the first screen answers.
const QUESTIONS: [&str; 10] = [
    "A key that is off, warm",
    "A load, test and branch there",
    "Off, caches swept",
    "On, warm",
    "A flip of 1, 100, 10,000 sites",
    "The first flip of such a key",
    "Start-up",
    "Size",
    "A whole program",
    "NO gain",
];

/// Figures of the results, each with the answers that it is part of.
const FIGURES: [(&str, &str, &[usize]); 14] = [
    ("site", "/latency_bound/checks/1/ns", &[1, 10]),
    ("site", "/alu_saturated/checks/0/ns", &[1]),
    ("site", "/alu_saturated/checks/1/instructions", &[1]),
    ("site", "/alu_saturated/checks/9/ns", &[2, 10]),
    ("site", "/cold/checks/9/ns", &[3]),
    ("site", "/alu_saturated/checks/3/ns", &[4, 10]),
    ("flips", "/latency/3/p10_us", &[5]),
    ("flips", "/first/2/very_first_us", &[6]),
    ("startup", "/system_calls/with", &[7]),
    ("listing", "/functions/1/bytes_of_check", &[8]),
    ("size", "/programs/0/code/figure", &[8]),
    ("sqlite", "/ways/1/ratio", &[9]),
    ("peers", "/flips/0/jumplabel_us", &[5, 10]),
    ("calls", "/latency_bound/calls/3/ns", &[10]),
];

/// The first screen of the pages of these results: the figure, and the answers by number.
fn first_screen(name: &str, results: &Value) -> (String, Vec<String>) {
    let directory = scratch(name);
    std::fs::create_dir_all(&directory).unwrap();
    let file = directory.join("from.json");
    std::fs::write(&file, results.to_string()).unwrap();
    let (output, said) = run(&["report", "--from", text(&file), "--to", text(&directory)]);
    assert!(output.status.success(), "{said}");
    let is_answer = |line: &&str| line.get(..4).is_some_and(|number| number.ends_with(". "));
    let answers: Vec<String> = said.lines().filter(is_answer).map(|line| line[4..].to_owned()).collect();
    let figure = said.split("\n\n").next().unwrap().to_owned();
    // The pages have the same before anything else.
    let [html, markdown] =
        ["report.html", "report.md"].map(|page| std::fs::read_to_string(directory.join(page)).unwrap());
    let markdown = markdown.split("\n## ").next().unwrap();
    let html = html.split("<nav>").next().unwrap();
    assert!(answers.iter().all(|answer| markdown.contains(answer.split_once(": ").unwrap().1)), "{markdown}");
    assert!(html.matches("<li>").count() == answers.len(), "{html}");
    let drawn = markdown.contains(&format!("```text\n{figure}\n```"));
    assert!(drawn == (html.matches("<svg").count() == 1), "{html}");
    (figure, answers)
}

/// A run that is kept, with what it was made too early for.
fn kept() -> Value {
    let runs = concat!(env!("CARGO_MANIFEST_DIR"), "/runs/epyc-family-25-model-1-2cpu.json");
    let mut results: Value = serde_json::from_str(&std::fs::read_to_string(runs).unwrap()).unwrap();
    for shape in ["latency_bound", "alu_saturated", "cold"] {
        let site = part(&mut results, "site");
        let checks = site[shape]["checks"].as_array_mut().unwrap();
        if checks.iter().all(|row| row["check"] != "relaxed load, on") {
            checks.push(json!({ "check": "relaxed load, on", "ns": 0.25, "ns_interval": [0.2, 0.3] }));
        }
    }
    results
}

fn part<'a>(results: &'a mut Value, name: &str) -> &'a mut Value {
    results["results"].as_array_mut().unwrap().iter_mut().find(|of| of["benchmark"] == name).unwrap()
}

/// It answers each question, with figures of the results and no others.
#[test]
#[cfg_attr(miri, ignore = "processes")]
fn the_first_screen_answers() {
    let results = kept();
    let (figure, answers) = first_screen("report-answers", &results);
    let questions: Vec<&str> = answers.iter().map(|answer| answer.split_once(": ").unwrap().0).collect();
    assert_eq!(questions, QUESTIONS);
    assert!(
        figure.lines().count() == 11 && answers.iter().all(|answer| !answer.contains("not measured")),
        "{answers:#?}"
    );
    for (name, pointer, of) in FIGURES {
        let mut results = results.clone();
        *part(&mut results, name).pointer_mut(pointer).unwrap() = json!(7_654_321.0);
        let (_, changed) = first_screen("report-answers", &results);
        let differ: Vec<usize> = (1..=10).filter(|number| changed[number - 1] != answers[number - 1]).collect();
        assert_eq!(differ, of, "{name}, {pointer}: {changed:#?}");
    }
}

/// What was not measured, the first screen says so; and it claims a gain only where intervals are apart.
#[test]
#[cfg_attr(miri, ignore = "processes")]
fn the_first_screen_claims_nothing() {
    let (figure, answers) = first_screen("report-claims", &json!({ "version": 1, "quick": true, "results": [] }));
    assert!(figure.starts_with(" 1. ") && answers.len() == 10, "{figure}");
    assert!(answers.iter().all(|answer| answer.contains("(not measured)")), "{answers:#?}");
    let mut results = kept();
    let claims = |results: &Value| first_screen("report-claims", results).1.remove(9);
    let none = "a check with caches swept, off (";
    assert!(!claims(&results).contains(none));
    // As it is, but for an interval that reaches that of the load.
    let checks = &mut part(&mut results, "site")["cold"]["checks"];
    checks[1]["ns_interval"][1] = checks[9]["ns_interval"][0].clone();
    assert!(claims(&results).contains(none));
}

/// Broken twins of the list of targets.
#[test]
fn a_target_without_words_is_found() {
    let row = |what: &str| json!({ "what": what, "figure": "1", "limit": "<= 1", "verdict": "ok" });
    let answer = |judged: &[Value]| {
        let rows = json!([["a", "figure", "target", ""], ["b", "1", "<= 1", "ok"], ["b", "1", "<= 1", "ok"]]);
        json!({ "tables": [{ "title": "", "rows": rows }], "notes": ["c: 1, target <= 1: ok"], "judged": judged })
    };
    let rows = ["words for the first", "words for the second", "words for a note"].map(row);
    assert_eq!(crate::targets(&answer(&rows)), Ok(()));
    for wrong in [&rows[..2], &[], &[&rows[..], &rows[..1]].concat(), &[&rows[..2], &rows[..1]].concat()] {
        assert!(crate::targets(&answer(wrong)).is_err(), "{wrong:?}");
    }
    assert!(crate::targets(&answer(&[rows[0].clone(), rows[1].clone(), row("flips (2)")])).is_err());
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
