//! Clients that do what they should not: the others are served meanwhile, and the program lives.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::{Duration, Instant};

use jumplabel_agent::Options;
use jumplabel_testing::scenario::{Scenario, passes};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::client::{Agent, Client, Directory, LIMIT};
use crate::{now, use_all};

/// As long as a server that waits for one client is watched.
const WATCHED: Duration = Duration::from_secs(2);

/// Sends as much as is taken.
fn push(stream: &UnixStream, bytes: &[u8], most: usize) {
    stream.set_nonblocking(true).unwrap();
    let mut sent = 0;
    while sent < most {
        match (&*stream).write(bytes) {
            Ok(length) => sent += length,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // It takes no more, or has cut this client off.
            Err(_) => return,
        }
    }
}

/// One of each kind of bad client, in turn.
fn bad(number: usize, socket: &Path) -> UnixStream {
    let stream = UnixStream::connect(socket).unwrap();
    let noise: Vec<u8> = (0..4096_usize).map(|at| (at * 7 + number * 13 + at / 251) as u8).collect();
    match number % 6 {
        0 => {}
        1 => push(&stream, b"set net.tra", 11),
        2 => push(&stream, b"list\n", usize::MAX),
        3 => push(&stream, &[b'x'; 4096], 1 << 20),
        4 => push(&stream, &noise, 1 << 20),
        _ => {
            push(&stream, b"list\nwatch\nlist\n", 4096);
            drop(stream.try_clone().unwrap().shutdown(std::net::Shutdown::Write));
        }
    }
    stream
}

/// Whether a client that behaves is answered while 100 others are there.
fn is_served(socket: &Path, limit: Duration) -> bool {
    let _others: Vec<_> = (0..100).map(|number| bad(number, socket)).collect();
    let stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(limit)).unwrap();
    (&stream).write_all(b"hello\n").unwrap();
    (&stream).read(&mut [0; 16]).is_ok_and(|length| length > 0)
}

#[test]
fn others_are_served() {
    passes(|| {
        // A write to a client that has gone must not end the program.
        // SAFETY: no handler.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
        let agent = Agent::start(|options| options);
        for _ in 0..3 {
            assert!(is_served(&agent.socket, LIMIT));
        }
        agent.client().done("set net.trace=on");
        assert!(now().0);
    });
}

/// A server that waits for each client.
#[test]
fn others_are_served_twin() {
    Scenario::new().fails("a client waits", || {
        let directory = Directory::new();
        let socket = directory.0.join("socket");
        let listener = UnixListener::bind(&socket).unwrap();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut bytes = [0; 4096];
                while !bytes.contains(&b'\n') && stream.read(&mut bytes).is_ok_and(|length| length > 0) {}
                let _ = stream.write_all(b"{}\n");
            }
        });
        // Fewer, because nobody accepts them: the backlog takes 128.
        assert!(is_served(&socket, WATCHED), "a client waits");
    });
}

#[test]
fn ten_thousand() {
    passes(|| {
        let limit = getrlimit(Resource::Nofile);
        let most = limit.maximum.map_or(20_000, |maximum| maximum.min(20_000));
        setrlimit(Resource::Nofile, Rlimit { current: Some(most), maximum: limit.maximum }).unwrap();
        let held = 10_000.min(most.saturating_sub(200) as usize);
        let agent = Agent::start(|options| options);
        let mut early = agent.client();
        early.done("hello");
        let (mut clients, mut served) = (std::collections::VecDeque::new(), 0);
        for number in 0..10_000 {
            if clients.len() == held {
                clients.pop_front();
            }
            clients.push_back(UnixStream::connect(&agent.socket).unwrap());
            if number % 1000 == 999 {
                agent.client().done("hello");
                served += 1;
            }
        }
        // One that has asked something is not dropped for those that say nothing.
        early.done("set net.trace=on");
        assert_eq!((served, now().0), (10, true));
        // Those that were dropped hear why.
        let (mut first, mut told) = (clients.pop_front().unwrap(), String::new());
        first.set_read_timeout(Some(LIMIT)).unwrap();
        first.read_to_string(&mut told).unwrap();
        assert!(told.contains("silent for longest when another came"), "{told}");
    });
}

/// A line without an end is answered once, and the client is cut off.
#[test]
fn endless_line() {
    passes(|| {
        let agent = Agent::start(|options| options);
        let mut client = agent.client();
        let longest = format!("list {}", "x".repeat(4096 - 6));
        client.refused(&longest, 1);
        push(client.0.get_ref(), &[b'x'; 4096], 1 << 20);
        client.0.get_ref().set_nonblocking(false).unwrap();
        assert_eq!(client.answer().error.unwrap(), "a request has at most 4096 bytes");
        assert_eq!(client.line(), None);
    });
}

#[test]
fn no_text() {
    passes(|| {
        let agent = Agent::start(|options| options);
        let mut client = agent.client();
        client.send(b"\xff\xfe\n\n\0\nlist \x1b[2J\nhello\n");
        for why in ["UTF-8", "no such request", "no such request", "nothing matches"] {
            let line = client.line().unwrap();
            assert!(line.contains(why) && !line.trim_end().contains(|char: char| char.is_control()), "{line:?}");
        }
        assert!(client.answer().hello.is_some());
    });
}

/// Those who watch and do not read are cut off; those who read get all of it.
#[test]
fn watchers() {
    passes(|| {
        let agent = Agent::start(|options| options.log(|_| {}));
        let mut watchers: Vec<_> = (0..32).map(|_| agent.client()).collect();
        watchers.iter_mut().for_each(|watcher| drop(watcher.done("watch")));
        assert!(agent.client().refused("watch", 3).contains("too many clients watch"));
        let (mut reads, mut client) = (watchers.pop().unwrap(), agent.client());
        let changes = 4000;
        for number in 0..changes {
            client.done(["set net.trace=on", "set net.trace=off"][number % 2]);
            assert!(reads.answer().event.is_some());
        }
        for mut watcher in watchers {
            let mut events = 0;
            while watcher.line().is_some() {
                events += 1;
            }
            assert!((1..changes).contains(&events), "{events}");
        }
        reads.done("hello");
        // There is room for others again.
        agent.client().done("watch");
    });
}

/// No descriptor is left: nobody is accepted, those who are there are served, and the thread does not spin.
#[test]
fn no_descriptors() {
    passes(|| {
        let agent = Agent::start(|options| options);
        let mut client = agent.client();
        client.done("hello");
        let late = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
        let next = rustix::io::dup(late.as_fd()).unwrap().as_raw_fd();
        let limit = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: Some(next as u64), ..limit }).unwrap();
        rustix::net::connect(&late, &SocketAddrUnix::new(&agent.socket).unwrap()).unwrap();
        let start = Instant::now();
        assert_eq!(agent.logged(), "agent: nobody can connect for a second: Too many open files (os error 24)");
        client.done("set net.trace=on");
        std::thread::sleep(Duration::from_secs(2));
        assert!(agent.logged().starts_with("net.trace off -> on"));
        let (mut tries, seconds) = (0, start.elapsed().as_secs());
        while !agent.is_quiet() {
            tries += 1;
        }
        assert!(tries <= seconds + 1, "{tries} tries in {seconds} s");
        setrlimit(Resource::Nofile, limit).unwrap();
        let stream = UnixStream::from(late);
        (&stream).write_all(b"hello\n").unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        assert!((&stream).read(&mut [0; 16]).unwrap() > 0);
    });
}

/// Nobody reads standard error: the lines are dropped, and the agent goes on.
#[test]
fn full_stderr() {
    passes(|| {
        use_all();
        let directory = Directory::new();
        let socket = Options::new().directory(directory.inner()).start().unwrap();
        let (_reader, writer) = std::io::pipe().unwrap();
        rustix::io::ioctl_fionbio(&writer, true).unwrap();
        while (&writer).write(&[b'.'; 4096]).is_ok() {}
        rustix::io::ioctl_fionbio(&writer, false).unwrap();
        let stderr = rustix::io::fcntl_dupfd_cloexec(std::io::stderr(), 0).unwrap();
        rustix::stdio::dup2_stderr(&writer).unwrap();
        let mut client = Client::new(&socket);
        for number in 0..1000 {
            client.done(["set net.trace=on", "set net.trace=off"][number % 2]);
        }
        rustix::stdio::dup2_stderr(&stderr).unwrap();
    });
}

/// The disk is full that standard error goes to: the lines are lost, and keys change all the same.
#[test]
fn full_disk() {
    passes(|| {
        use_all();
        let directory = Directory::new();
        let socket = Options::new().directory(directory.inner()).start().unwrap();
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        assert_eq!((&full).write(b".").unwrap_err().kind(), ErrorKind::StorageFull);
        let stderr = rustix::io::fcntl_dupfd_cloexec(std::io::stderr(), 0).unwrap();
        rustix::stdio::dup2_stderr(&full).unwrap();
        let mut client = Client::new(&socket);
        client.done("set net.trace=on");
        client.refused("set auth.strict-1,auth.strict-1", 2);
        let is_on = now().0;
        rustix::stdio::dup2_stderr(&stderr).unwrap();
        assert!(is_on);
    });
}
