//! Explains why a process has no agent although it should have one: the agent is a thread, and the child of a fork does not have that thread.

use std::path::PathBuf;

use jumplabel_agent::directory;

/// A hint for the message that a target has no agent. Empty if there is no sign that the process should have one.
pub fn no_agent(target: &str, directories: &[PathBuf]) -> String {
    let cure =
        "a child of a fork, as a daemon is, has no agent unless the program is started with JUMPLABEL_AGENT=children";
    match target.strip_prefix('@') {
        // Nobody listens at a socket of this name; otherwise the agent would have been found.
        Some(name) => {
            let mut sockets =
                directories.iter().flat_map(|directory| directory::sockets(directory).unwrap_or_default());
            let last = sockets.rfind(|socket| socket.name == name);
            last.map_or(String::new(), |socket| format!("; process {} had the name, and has ended: {cure}", socket.pid))
        }
        None => {
            let environment = std::fs::read(format!("/proc/{target}/environ")).unwrap_or_default();
            let words = environment.split(|&byte| byte == 0).find_map(|line| line.strip_prefix(b"JUMPLABEL_AGENT="));
            match words.map(String::from_utf8_lossy) {
                Some(words) if !matches!(words.trim(), "" | "0" | "off") => {
                    format!("; it was started with JUMPLABEL_AGENT={words}: {cure}")
                }
                _ => String::new(),
            }
        }
    }
}
