//! `peers`: flips of keys of this library, of `static-keys` and of `static-key`. It also shows how each library works where code must not become
//! writable, and while a thread executes the sites. Each library has its own program (test-crates/peers), and the programs take turns. In one
//! process, the libraries would make each other's pages read-only and crash.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::report::{Chart, Report, Table, Target, figure};
use crate::samples::Samples;
use crate::{Result, cargo};

const PEERS: [&str; 3] = ["jumplabel", "static-keys", "static-key"];
const SITES: [usize; 3] = [1, 100, 10_000];
/// The least ratio of the time of `static-keys` to that of this library, for a flip of 10,000 sites.
const LIMIT_OF_STATIC_KEYS: f64 = 1_000.0;
/// The greatest ratio of the time of this library to that of `static-key`, for a flip of 10,000 sites.
const LIMIT_OF_STATIC_KEY: f64 = 1.0;
/// `PR_SET_MDWE`, and the flag for the rights that it forbids (linux/prctl.h). Some versions of libc's headers lack them.
const PR_SET_MDWE: libc::c_int = 65;
const PR_MDWE_REFUSE_EXEC_GAIN: libc::c_ulong = 1;

/// A text about what a program did, and whether it ran without an error.
struct Shown {
    words: String,
    is_well: bool,
}

pub fn run(quick: bool) -> Result<Report> {
    let target = cargo::directory("peers");
    if !cargo::build("peers", &target).stdout(Stdio::from(std::io::stderr())).status()?.success() {
        return Err("cargo could not build test-crates/peers (it has to download static-keys and static-key)".into());
    }
    let program = |peer: &str| target.join(format!("release/{peer}-alone"));
    let mut times: [[Samples; 3]; 3] = Default::default();
    let (start, budget) = (Instant::now(), Duration::from_secs(if quick { 2 } else { 30 }));
    let mut turns = [0, 1, 2];
    while times[0][0].len() == 0 || start.elapsed() < budget {
        fastrand::shuffle(&mut turns);
        for &peer in &turns {
            let output = Command::new(program(PEERS[peer])).args(["times", "6"]).output()?;
            read(&output, &mut times[peer]).map_err(|error| format!("{}: {error}", PEERS[peer]))?;
        }
    }
    let mut report = Report::new("peers", quick);
    timed(&mut report, &times);
    let seconds = if quick { "1" } else { "10" };
    shown(&mut report, PEERS.map(|peer| [mdwe(program(peer)), beside(program(peer), seconds)]))?;
    report.note("static-keys: for programs with one thread, its documents say. static-key: all pages with sites stay writable and executable");
    Ok(report)
}

/// Reads the program's output. Each line has a number of sites and then the nanoseconds of flips.
fn read(output: &Output, times: &mut [Samples; 3]) -> Result<()> {
    if !output.status.success() {
        return Err(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr)).into());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    for ((line, sites), samples) in text.lines().zip(SITES).zip(times) {
        let mut numbers = line.split_whitespace().map(str::parse::<u64>);
        if numbers.next() != Some(Ok(sites as u64)) {
            return Err(format!("{line:?} is not of {sites} sites").into());
        }
        for number in numbers {
            samples.push(number? as f64 / 1e3);
        }
    }
    Ok(())
}

fn timed(report: &mut Report, times: &[[Samples; 3]; 3]) {
    let head = [
        "sites",
        "jumplabel",
        "static-keys",
        "static-key",
        "static-keys / ours",
        "target",
        "",
        "ours / static-key",
        "target",
        "",
    ];
    let mut table = Table::new("flips with one thread; us, medians", &head);
    let mut facts = Vec::new();
    for (row, sites) in SITES.iter().enumerate() {
        let [ours, keys, key] = [0, 1, 2].map(|peer| times[peer][row].median());
        let is_judged = *sites == 10_000;
        let (over_keys, over_key) = (keys / ours, ours / key);
        let is_far_ahead = if over_keys >= LIMIT_OF_STATIC_KEYS { "ok" } else { "MISSED" };
        let [shown, limit, verdict] = Target { figure: over_key, limit: LIMIT_OF_STATIC_KEY }.cells();
        let mut cells = vec![sites.to_string()];
        cells.extend([ours, keys, key].map(|median| figure(median, 1)));
        let judged = [
            [figure(over_keys, 1), format!(">= {LIMIT_OF_STATIC_KEYS}"), is_far_ahead.to_owned()],
            [shown, limit, verdict],
        ];
        for (words, [shown, limit, verdict]) in
            ["time of `static-keys`, times ours", "our time, times that of `static-key`"].into_iter().zip(judged)
        {
            if is_judged {
                report.judged(format!("a flip of {sites} sites, one thread: {words}"), &shown, &limit, &verdict);
                cells.extend([shown, limit, verdict]);
            } else {
                cells.extend([shown, String::new(), String::new()]);
            }
        }
        table.row(cells);
        let mut chart =
            Chart::logarithmic(format!("a flip of {sites} sites, one thread"), "us: median and its interval");
        for (peer, samples) in PEERS.iter().zip(times) {
            chart.bar(*peer, samples[row].median(), samples[row].interval());
        }
        report.chart(chart);
        facts.push(json!({ "sites": sites, "jumplabel_us": ours, "static_keys_us": keys, "static_key_us": key,
            "static_keys_over_ours": over_keys, "ours_over_static_key": over_key }));
    }
    report.table(table);
    report.fact("flips", json!(facts));
}

fn shown(report: &mut Report, of: [[Result<Shown>; 2]; 3]) -> Result<()> {
    let mut table = Table::new(
        "what it does of 100 sites",
        &["", "where code must not become writable (MDWE)", "", "beside a thread that executes them", ""],
    );
    let mut facts = Vec::new();
    for (peer, shown) in PEERS.iter().zip(of) {
        let [mdwe, beside] = shown;
        let (mdwe, beside) = (mdwe?, beside?);
        let word = |shown: &Shown| if shown.is_well { "flips" } else { "ends" }.to_owned();
        table.row([(*peer).to_owned(), word(&mdwe), mdwe.words.clone(), word(&beside), beside.words.clone()]);
        facts.push(json!({ "library": peer, "mdwe": mdwe.is_well, "mdwe_says": mdwe.words,
            "beside": beside.is_well, "beside_says": beside.words }));
    }
    report.table(table);
    report.fact("shown", json!(facts));
    Ok(())
}

/// Runs a program that must not make code writable. Linux 6.3 can forbid this, and systemd requests it (`MemoryDenyWriteExecute`).
fn mdwe(program: PathBuf) -> Result<Shown> {
    let mut command = Command::new(program);
    // SAFETY: the closure makes one system call between fork and exec.
    unsafe {
        command.pre_exec(|| match libc::prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
    let output = match command.output() {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            return Ok(Shown { words: "this kernel cannot forbid it".into(), is_well: true });
        }
        output => output?,
    };
    Ok(said(&output, |text| format!("{text} of 100 say yes")))
}

fn beside(program: PathBuf, seconds: &str) -> Result<Shown> {
    let output = Command::new(program).args(["beside", seconds]).output()?;
    Ok(said(&output, |text| match text.split_once(' ') {
        Some((flips, executed)) => format!("{flips} times in {seconds} s; executed {executed} times"),
        None => text.to_owned(),
    }))
}

/// A text about the program's output, or about the way in which the program ended.
fn said(output: &Output, words: impl Fn(&str) -> String) -> Shown {
    if output.status.success() {
        return Shown { words: words(String::from_utf8_lossy(&output.stdout).trim()), is_well: true };
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let said = text.lines().find(|line| !line.trim().is_empty() && !line.contains("panicked at")).unwrap_or_default();
    Shown { words: format!("{}: {said}", output.status), is_well: false }
}
