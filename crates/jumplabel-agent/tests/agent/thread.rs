//! The agent's thread: what it costs, which signals it takes, when it waits.

use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use jumplabel_agent::{Options, StartError};
use jumplabel_testing::scenario::passes;

use crate::client::{Agent, Directory};
use crate::{now, use_all};

/// A file of the agent's thread in /proc, when the thread has begun: it gives itself its name.
fn of_thread(file: &str) -> String {
    let is_agent = |task: &PathBuf| std::fs::read_to_string(task.join("comm")).unwrap() == "jumplabel-agent\n";
    loop {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path());
        if let Some(task) = tasks.into_iter().find(is_agent) {
            return std::fs::read_to_string(task.join(file)).unwrap();
        }
        std::thread::yield_now();
    }
}

/// A line of it.
fn field(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    u64::from_str_radix(line.trim().trim_end_matches(" kB"), if name.starts_with("Sig") { 16 } else { 10 }).unwrap()
}

/// How often the thread has gone to sleep.
fn sleeps() -> u64 {
    field(&of_thread("status"), "voluntary_ctxt_switches:")
}

/// Waits until the thread sleeps.
fn is_asleep() {
    while !of_thread("status").contains("State:\tS") {
        std::thread::yield_now();
    }
}

#[test]
fn idle() {
    passes(|| {
        let agent = Agent::start(|options| options);
        let (mut client, mut watcher) = (agent.client(), agent.client());
        client.done("hello");
        watcher.done("watch");
        client.done("set net.trace=on for 1000");
        watcher.answer();
        // It may still be on its way there.
        let stays_asleep = || {
            is_asleep();
            let before = sleeps();
            std::thread::sleep(Duration::from_secs(1));
            sleeps() == before
        };
        assert!((0..5).any(|_| stays_asleep()), "it wakes up, though nothing happens");
        let before = sleeps();
        client.done("hello");
        is_asleep();
        assert!(sleeps() > before, "the number means nothing");
    });
}

/// Of memory that is its own: what files hold was there before, or goes when somebody needs the room.
#[test]
fn memory() {
    passes(|| {
        use_all();
        let own = || {
            let maps = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap();
            field(&maps, "Anonymous:")
        };
        let directory = Directory::new();
        let options = Options::new().directory(directory.inner());
        own();
        let before = own();
        let socket = options.start().unwrap();
        // That it was connected to shows that it is ready; what it takes for that counts, too.
        drop(UnixStream::connect(&socket).unwrap());
        is_asleep();
        let more = own() - before;
        assert!(more < 64, "{more} KiB");
    });
}

#[test]
fn signals() {
    passes(|| {
        // SAFETY: no condition.
        let real_time = libc::SIGRTMIN();
        let blocked = || field(&std::fs::read_to_string("/proc/thread-self/status").unwrap(), "SigBlk:");
        let before = blocked();
        let _agent = Agent::start(|options| options.unblocked(real_time));
        assert_eq!(blocked(), before, "those of this thread are as they were");
        let of_agent = field(&of_thread("status"), "SigBlk:");
        let bit = |signal: i32| 1_u64 << (signal - 1);
        // The system leaves these two open, and the C library its own.
        let never = bit(libc::SIGKILL) | bit(libc::SIGSTOP) | bit(32) | bit(33) | bit(34);
        assert_eq!(of_agent | never | bit(real_time), u64::MAX);
        assert_eq!(of_agent & bit(real_time), 0);
    });
}

/// While a pause lives, requests wait; then they are answered.
#[test]
fn paused() {
    passes(|| {
        let agent = Agent::start(|options| options);
        let mut client = agent.client();
        client.done("hello");
        let pause = jumplabel_agent::pause();
        client.send(b"set net.trace=on\n");
        // It waits for the lock: it has read the request, or has not done yet with the one before.
        let waits = format!("{} ", libc::SYS_futex);
        while !of_thread("syscall").starts_with(&waits) {
            std::thread::yield_now();
        }
        assert!(!now().0);
        drop(pause);
        assert_eq!(client.answer().status, 0);
        assert!(now().0);
    });
}

/// Where there is no agent, nothing waits.
#[test]
fn pause_without_agent() {
    drop((jumplabel_agent::pause(), jumplabel_agent::pause()));
}

/// One that starts at the same time as another finds out.
#[test]
fn two_threads() {
    passes(|| {
        let directory = Directory::new();
        let inner = directory.inner();
        let start = || Options::new().directory(&inner).start();
        let results = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(start)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1, "{results:?}");
        let is_refusal = |error: &StartError| matches!(error, StartError::Running(_) | StartError::Starting);
        assert!(results.iter().all(|result| result.as_ref().err().is_none_or(is_refusal)), "{results:?}");
    });
}
