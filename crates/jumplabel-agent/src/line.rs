//! Writes lines to standard error.

#[cfg(not(windows))]
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The largest number of bytes that a pipe with room takes at once without blocking (Linux: `PIPE_BUF`).
const WHOLE: usize = 4096;

/// Writes one line to standard error, cut off after [`WHOLE`] bytes. Does not wait, except on Windows: if standard error is closed or full, the line
/// is lost. Takes no lock on Linux, so a process may fork meanwhile.
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

/// Writes the line, and waits if standard error is full: Windows has no way to ask whether a pipe has room.
#[cfg(windows)]
fn write(line: &[u8]) {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), line);
}

/// The text with a replacement character for each character that steers a terminal or ends a line.
pub fn printable(text: &str) -> String {
    text.chars().map(|char| if char.is_control() { char::REPLACEMENT_CHARACTER } else { char }).collect()
}
