//! Lines on standard error.

#[cfg(not(windows))]
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// A pipe that has room takes so many bytes without blocking (Linux: `PIPE_BUF`).
const WHOLE: usize = 4096;

/// One line on standard error. If that is closed or full, there is nobody to tell: it never waits. It takes no lock, so that a process
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

/// It waits if standard error is full: nothing asks a pipe for room there.
#[cfg(windows)]
fn write(line: &[u8]) {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), line);
}

/// Without characters that steer a terminal or end a line.
pub fn printable(text: &str) -> String {
    text.chars().map(|char| if char.is_control() { char::REPLACEMENT_CHARACTER } else { char }).collect()
}
