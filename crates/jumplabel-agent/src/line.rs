//! Lines on standard error.

#[cfg(not(windows))]
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// A pipe that has room takes up to this many bytes without blocking (Linux: `PIPE_BUF`).
const WHOLE: usize = 4096;

/// Writes one line to standard error. It never waits: if standard error is closed or full, the line is lost. It takes no lock, so a process
/// may fork meanwhile.
pub fn say(message: &str) {
    let mut line = format!("jumplabel: {}", printable(message));
    while line.len() >= WHOLE {
        line.pop();
    }
    line.push('\n');
    write(line.as_bytes());
}

#[cfg(not(windows))]
fn write(line: &[u8]) {
    let stderr = rustix::stdio::stderr();
    let mut has_room = [PollFd::new(&stderr, PollFlags::OUT)];
    if poll(&mut has_room, Some(&Timespec::default())).is_ok_and(|ready| ready > 0) {
        let _ = rustix::io::write(stderr, line);
    }
}

/// Writes the line. It waits if standard error is full, because Windows has no way to ask a pipe for room.
#[cfg(windows)]
fn write(line: &[u8]) {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), line);
}

/// The text without characters that steer a terminal or end a line.
pub fn printable(text: &str) -> String {
    text.chars().map(|char| if char.is_control() { char::REPLACEMENT_CHARACTER } else { char }).collect()
}
