//! Programs that close descriptors which are not their own, as many do when they start.

use std::fs::read_link;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;

use jumplabel_testing::scenario::{fork, passes, reap};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::client::Agent;
use crate::now;

/// What a descriptor of this process stands for.
fn file(fd: RawFd) -> Option<PathBuf> {
    read_link(format!("/proc/self/fd/{fd}")).ok()
}

/// The sockets of this process.
fn sockets() -> Vec<RawFd> {
    let all = std::fs::read_dir("/proc/self/fd").unwrap();
    let all = all.map(|fd| fd.unwrap().file_name().to_str().unwrap().parse().unwrap());
    all.filter(|&fd| file(fd).is_some_and(|file| file.to_str().unwrap().starts_with("socket:"))).collect()
}

/// While no descriptor is free, the socket cannot be opened again. The agent tries until it can.
#[test]
fn none_is_free() {
    passes(|| {
        let before = sockets();
        let agent = Agent::start(|options| options.name("x"));
        let of_agent: Vec<_> = sockets().into_iter().filter(|fd| !before.contains(fd)).collect();
        let client = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
        let limit = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: Some(3), ..limit }).unwrap();
        // SAFETY: the agent looks whether its descriptors are its own.
        of_agent.iter().for_each(|&fd| assert_eq!(unsafe { libc::close(fd) }, 0));
        // Wakes the agent, if it still waits for the old socket.
        let _ = rustix::net::connect(&client, &SocketAddrUnix::new(&agent.socket).unwrap());
        let line = agent.logged();
        assert!(line.starts_with("agent: nobody can connect: the program has closed the agent's socket: "), "{line}");
        setrlimit(Resource::Nofile, limit).unwrap();
        assert_eq!(agent.logged(), "agent: the program had closed the agent's socket: it is open again");
        agent.client().done("hello");
    });
}

/// Starts an agent and lets a client watch. Gives the numbers of the agent's descriptors to `close`, which takes them away. Then a client is served.
fn served_after(close: impl Fn(RawFd)) -> (Agent, Vec<RawFd>) {
    let before = sockets();
    let agent = Agent::start(|options| options.name("x"));
    let mut watcher = agent.client();
    watcher.done("watch");
    let client = watcher.0.get_ref().as_raw_fd();
    let of_agent: Vec<_> = sockets().into_iter().filter(|fd| *fd != client && !before.contains(fd)).collect();
    assert_eq!(of_agent.len(), 2, "the socket, and the connection");
    of_agent.iter().for_each(|&fd| close(fd));
    // Wakes the agent, if it still waits for the old socket.
    let _ = UnixStream::connect(&agent.socket);
    assert_eq!(agent.logged(), "agent: the program had closed the agent's socket: it is open again");
    agent.client().done("set net.trace=on");
    assert!(now().0 && watcher.line().is_none(), "the watcher's connection is closed, and so is nothing else");
    agent.client().done("set net.trace=off");
    (agent, of_agent)
}

/// The numbers stand for nothing.
#[test]
fn by_the_program() {
    passes(|| {
        // SAFETY: the agent looks whether its descriptors are its own.
        let (agent, _) = served_after(|fd| assert_eq!(unsafe { libc::close(fd) }, 0));
        assert!(agent.logged().starts_with("net.trace off -> on") && agent.logged().starts_with("net.trace on -> off"));
        assert!(agent.is_quiet());
    });
}

/// The numbers stand for a socket of the program: the agent takes none of its clients, and does not close it, nor does a child of a fork.
#[test]
fn number_taken() {
    passes(|| {
        let directory = crate::client::Directory::new();
        let path = directory.0.join("of the program");
        let listener = UnixListener::bind(&path).unwrap();
        let own = file(listener.as_raw_fd());
        let _client = UnixStream::connect(&path).unwrap();
        // SAFETY: as above.
        let take = |fd| assert_eq!(unsafe { libc::dup2(listener.as_raw_fd(), fd) }, fd);
        let (_agent, taken) = served_after(take);
        assert!(taken.iter().all(|&fd| file(fd) == own), "the agent has closed it");
        listener.set_nonblocking(true).unwrap();
        listener.accept().expect("the program's client");
        reap(fork(|| taken.iter().all(|&fd| file(fd) == own)));
    });
}
