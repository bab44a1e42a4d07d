//! Children of a fork, and programs that take the place of this one.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use jumplabel_agent::Options;
use jumplabel_testing::scenario::{fork, passes, reap, wait_for};

use crate::client::{Agent, Client, Directory};
use crate::{now, use_all};

/// The child has no agent, and nothing of the parent's; it may have its own. It leaves the parent's socket where it is.
#[test]
fn forked() {
    passes(|| {
        let agent = Agent::start(|options| options.name("x"));
        let mut client = agent.client();
        client.done("hello");
        let sockets = || {
            let fds = std::fs::read_dir("/proc/self/fd").unwrap();
            fds.filter(|fd| {
                let target = std::fs::read_link(fd.as_ref().unwrap().path());
                target.is_ok_and(|target| target.to_str().unwrap().starts_with("socket:"))
            })
            .count()
        };
        let before = sockets();
        reap(fork(|| {
            // The client's end stays; those of the agent, the socket and the connection, are gone.
            assert_eq!(sockets(), before - 2);
            assert!(!std::fs::read_dir("/proc/self/task").unwrap().any(|task| {
                std::fs::read_to_string(task.unwrap().path().join("comm")).unwrap() == "jumplabel-agent\n"
            }));
            let socket = Options::new().directory(agent.directory.inner()).name("x").start().unwrap();
            assert_ne!(socket, agent.socket);
            Client::new(&socket).done("set net.trace=on");
            assert!(now().0);
            // SAFETY: runs the handlers of a normal end.
            unsafe { libc::exit(0) }
        }));
        assert!(!now().0, "a child has its own keys");
        let left = jumplabel_agent::directory::sockets(&agent.directory.inner()).unwrap();
        assert_eq!(left.iter().map(|socket| &socket.path).collect::<Vec<_>>(), [&agent.socket]);
        client.done("hello");
        agent.client().done("hello");
    });
}

/// A child outlives its parent: nobody must wait at the parent's socket. What becomes of who connects.
fn orphaned(fork: fn(&mut dyn FnMut()) -> i32) -> std::io::Result<UnixStream> {
    let directory = Directory::new();
    let inner = directory.inner();
    let (reader, writer) = std::io::pipe().unwrap();
    let (mut begun, mut begins) = std::io::pipe().unwrap();
    let parent = jumplabel_testing::scenario::fork(|| {
        use_all();
        Options::new().directory(&inner).name("x").start().unwrap();
        fork(&mut || {
            // Lives until the test closes its end of the pipe: a copy of it must not keep it open.
            // SAFETY: of this process.
            unsafe { libc::close(writer.as_raw_fd()) };
            begins.write_all(&[0]).unwrap();
            let _ = (&reader).read(&mut [0]);
        });
        // What handlers there are have run.
        begun.read_exact(&mut [0]).unwrap();
        // SAFETY: as if it were killed.
        unsafe { libc::_exit(0) }
    });
    reap(parent);
    let stream = UnixStream::connect(inner.join(format!("x.{parent}.sock")));
    drop(writer);
    stream
}

#[test]
fn orphan() {
    passes(|| {
        let stream = orphaned(|body| {
            fork(|| {
                body();
                true
            })
        });
        assert_eq!(stream.unwrap_err().kind(), ErrorKind::ConnectionRefused);
    });
}

/// A raw `clone` runs no handlers: the socket stays open, which the test above would see.
#[test]
fn orphan_twin() {
    passes(|| {
        let stream = orphaned(|body| {
            // SAFETY: as fork, without handlers; the child only sleeps.
            match unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) } {
                0 => {
                    body();
                    // SAFETY: its end.
                    unsafe { libc::_exit(0) }
                }
                child => child as i32,
            }
        });
        assert!(stream.is_ok());
    });
}

/// A program that is replaced keeps nothing open, and the next one takes the place of what is left.
#[test]
fn exec() {
    passes(|| {
        let directory = Directory::new();
        let inner = directory.inner();
        let child = fork(|| {
            use_all();
            let socket = Options::new().directory(&inner).name("x").start().unwrap();
            let _connected = UnixStream::connect(&socket).unwrap();
            Client::new(&socket).done("hello");
            // The connection of this test has CLOEXEC, too.
            let mut shell = Command::new("sh");
            shell.args(["-c", "ls -l /proc/$$/fd | grep -c socket: || exit 7"]).stdin(Stdio::null());
            let error = std::os::unix::process::CommandExt::exec(&mut shell);
            panic!("{error}");
        });
        let status = wait_for(child);
        assert_eq!(status.code(), Some(7), "the new program has sockets");
    });
}

/// Becomes a daemon by `daemon(3)`, two forks, with an agent or without one in each child; whether the last one
/// answers.
fn daemon(with: fn(Options) -> Options) -> std::io::Result<()> {
    let directory = Directory::new();
    let inner = directory.inner();
    let [(mut begun, mut begins), (mut end, ends)] = [std::io::pipe().unwrap(), std::io::pipe().unwrap()];
    let first = fork(|| {
        use_all();
        with(Options::new().directory(&inner).name("x")).start().unwrap();
        // SAFETY: it has no threads but the agent's.
        assert_eq!(unsafe { libc::daemon(1, 1) }, 0);
        // It ends with the test, whose end of the pipe it must not keep open.
        // SAFETY: of this process, where nobody else uses it.
        unsafe { libc::close(ends.as_raw_fd()) };
        begins.write_all(&std::process::id().to_ne_bytes()).unwrap();
        let _ = end.read(&mut [0]);
        // SAFETY: its end.
        unsafe { libc::_exit(0) }
    });
    assert!(wait_for(first).success());
    let mut pid = [0; 4];
    begun.read_exact(&mut pid).unwrap();
    let socket = inner.join(format!("x.{}.sock", u32::from_ne_bytes(pid)));
    let hello = UnixStream::connect(&socket).map(|_| Client::new(&socket).done("hello").hello.unwrap().pid);
    drop(ends);
    hello.map(|pid| assert!(socket.to_str().unwrap().contains(&format!(".{pid}."))))
}

#[test]
fn daemons() {
    passes(|| daemon(Options::children).unwrap());
}

/// Without the option, the agent stays with the process that was started.
#[test]
fn daemons_twin() {
    passes(|| assert_eq!(daemon(|options| options).unwrap_err().kind(), ErrorKind::NotFound));
}
