//! Tests `jumplabel trace` on a running program, test-crates/traced with the patched tracing: what it prints, and when it ends.

use std::io::Write;
use std::sync::mpsc::{Sender, channel};

use serde_json::Value;

use crate::live::{ONE, Traced};
use crate::programs;

/// A stream that sends each of its lines through a channel.
struct Sent(Sender<String>, String);

impl Write for Sent {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.1 += std::str::from_utf8(bytes).unwrap();
        while let Some((line, rest)) = self.1.split_once('\n') {
            let _ = self.0.send(line.to_owned());
            self.1 = rest.to_owned();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// `jumplabel trace` prints events as text and as JSON, until the process ends. It refuses wrong selectors.
#[test]
fn followed_by_the_tool() {
    let mut traced = Traced::start(&programs().patched, "none");
    let (sender, lines) = channel();
    let trace = |words: &'static [&'static str]| {
        let (socket, mut out) = (traced.0.socket.clone(), Sent(sender.clone(), String::new()));
        std::thread::spawn(move || {
            let words = ["jumplabel", "trace", socket.to_str().unwrap()].into_iter().chain(words.iter().copied());
            jumplabel_cli::run(words.map(Into::into), &mut out, &mut std::io::sink())
        })
    };
    let tools = [trace(&["trace:elsewhere"]), trace(&[ONE, "--json", "--rate", "5"])];
    let (mut text, mut json) = (None, None);
    while text.is_none() || json.is_none() {
        traced.works();
        // The tool may have begun in the middle of a run.
        for line in lines.try_iter().filter(|line| line.contains("in 2") || line.contains("\"one\"")) {
            let to = if line.starts_with('{') { &mut json } else { &mut text };
            to.get_or_insert(line);
        }
    }
    let (text, json) = (text.unwrap(), json.unwrap());
    assert!(text.contains("Z DEBUG main elsewhere: in 2 y=3  noisy/src/lib.rs:"), "{text}");
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!([&json["message"], &json["level"], &json["thread"]], ["one", "TRACE", "main"]);
    assert_eq!([&json["fields"]["x"], &json["line"]], [2, 9]);
    for (item, why) in [
        ("trace:nowhere", "nothing matches"),
        ("trace:nowhere::*", "nothing matches"),
        ("trace:noisy=on", "trace takes selectors without values"),
    ] {
        let (code, says) = traced.0.tool(&["trace", item]);
        assert!(code != 0 && says.contains(why), "{item}: {code} {says}");
    }
    // A trace for a while ends without a further command.
    traced.0.prints(&["trace", "trace:noisy", "--for", "1s"]);
    drop(traced);
    assert_eq!(tools.map(|tool| tool.join().unwrap()), [0, 0]);
}
