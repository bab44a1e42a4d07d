//! Runs in processes of their own: each test starts this binary again for itself alone, reads what the run prints, and judges its end. A run that
//! crashes is a report with a signal in it.

use std::io::{BufRead, BufReader};
use std::process::{ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::fault::fault;
use crate::report::{Row, grouped};
use crate::scenario::this_program;

const CHILD: &str = "JUMPLABEL_TORTURE_CHILD";

/// A run that is this late hangs.
const LATE: Duration = Duration::from_secs(120);

/// A sign of life of a long run.
const PROGRESS: Duration = Duration::from_secs(60);

/// The end of a run.
pub struct Report {
    /// `None` where it had to be killed.
    pub status: Option<ExitStatus>,
    pub rows: Vec<Row>,
    pub failures: Vec<String>,
    /// The cell that it visited last.
    pub at: String,
    /// Part of the time of all processors that the run's threads ran.
    pub busy: f64,
    pub time: Duration,
}

impl Report {
    /// In words.
    pub fn ended(&self) -> String {
        let how = match self.status {
            None => "hung".into(),
            Some(status) => fault(status).map_or_else(|| format!("{status}"), |(fault, _)| fault),
        };
        format!("{how} in {:.1} s, visiting {}: {:?}", self.time.as_secs_f64(), self.at, self.failures)
    }

    /// Whether the run came to its end and nothing failed.
    pub fn is_good(&self) -> bool {
        self.status.is_some_and(|status| status.success()) && self.failures.is_empty()
    }
}

/// Carries out `run`, which ends its process, in a child; `test` is the name of the calling test.
pub fn run_in_child(test: &str, time: Duration, run: impl FnOnce(Duration)) -> Report {
    if std::env::var_os(CHILD).is_some() {
        run(time);
        unreachable!("a run ends its process");
    }
    let start = Instant::now();
    let mut child = this_program()
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(CHILD, test)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (sender, lines) = channel();
    let output = BufReader::new(child.stdout.take().unwrap());
    std::thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));

    let (rows, failures) = (Vec::new(), Vec::new());
    let mut report = Report { status: None, rows, failures, at: String::new(), busy: 0.0, time };
    let mut told = start;
    loop {
        match lines.recv_timeout((start + time + LATE).saturating_duration_since(Instant::now())) {
            Ok(line) => report.note(&line),
            Err(RecvTimeoutError::Disconnected) => {
                report.status = Some(child.wait().unwrap());
                break;
            }
            Err(RecvTimeoutError::Timeout) => {
                child.kill().unwrap();
                child.wait().unwrap();
                break;
            }
        }
        if told.elapsed() > PROGRESS {
            told = Instant::now();
            println!("{test}: {} s, {}", start.elapsed().as_secs(), report.at);
        }
    }
    report.time = start.elapsed();
    report
}

impl Report {
    fn note(&mut self, line: &str) {
        let fields: Vec<&str> = line.split('\t').collect();
        match fields[..] {
            ["row", ..] => self.rows.push(Row::parse(&fields[1..])),
            ["failure", message] => self.failures.push(message.into()),
            ["at", name, sites, flips] => {
                self.at = format!("{name} {sites}, after {} site flips", grouped(flips.parse().unwrap()));
            }
            ["busy", busy, wall, processors] => {
                let [busy, wall, processors] = [busy, wall, processors].map(|field| field.parse::<f64>().unwrap());
                self.busy = busy / (wall * processors);
            }
            _ => {}
        }
    }
}
