//! Processes that have no agent, because they are children of the one that has it.

use std::process::Command;

use crate::server::Server;

/// The message says why, and what to do.
#[test]
fn no_agent_in_a_child() {
    let mut server = Server::start("daemon", "name=web");
    let why =
        "a child of a fork, as a daemon is, has no agent unless the program is started with JUMPLABEL_AGENT=children";
    let mut child = Command::new("sleep").arg("1000").env("JUMPLABEL_AGENT", "read-only").spawn().unwrap();
    jumplabel_testing::programs::wait_until_begun(child.id());
    let shown = format!("; it was started with JUMPLABEL_AGENT=read-only: {why}");
    server.refuses(&["list", &child.id().to_string()], 3, &shown);
    child.kill().unwrap();
    child.wait().unwrap();
    let pid = server.pid();
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    server.refuses(&["list", "@web"], 3, &format!("; process {pid} had the name, and has ended: {why}"));
    let (_, _, other) = server.tool(&["list", "@other"]);
    assert!(!other.contains("fork"), "{other}");
}
