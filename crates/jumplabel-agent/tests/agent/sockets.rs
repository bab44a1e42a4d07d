//! The socket's place: who was there before, and when it is removed.

use std::os::unix::net::UnixListener;
use std::process::Command;

use jumplabel_agent::{Options, StartError};
use jumplabel_testing::scenario::{fork, passes, reap};

use crate::client::{Agent, Client, Directory};
use crate::{now, use_all};

/// What processes that were killed have left is removed, and nothing else.
#[test]
fn stale() {
    passes(|| {
        let directory = Directory::new();
        let inner = directory.inner();
        let killed = fork(|| {
            use_all();
            Options::new().directory(&inner).name("x").start().unwrap();
            // SAFETY: of this process.
            unsafe { libc::_exit(0) }
        });
        reap(killed);
        let left = inner.join(format!("x.{killed}.sock"));
        assert!(left.exists());
        // Of a number that is in use; the own place, by an earlier process; and what is no socket of an agent.
        let own = inner.join(format!("x.{}.sock", std::process::id()));
        let init = inner.join("x.1.sock");
        for path in [&own, &init, &inner.join("other.sock"), &inner.join("x.0.sock")] {
            drop(UnixListener::bind(path).unwrap());
        }
        // A process of that number is not to be seen, but somebody listens.
        let hidden = inner.join(format!("y.{killed}.sock"));
        let listener = UnixListener::bind(&hidden).unwrap();
        use_all();
        let socket = Options::new().directory(&inner).name("x").start().unwrap();
        assert_eq!(socket, own);
        Client::new(&socket).done("hello");
        assert!(!left.exists(), "it was not removed");
        for path in [&init, &inner.join("other.sock"), &inner.join("x.0.sock"), &hidden] {
            assert!(path.exists(), "{}", path.display());
        }
        drop(listener);
    });
}

/// Somebody listens where the socket is to be: not to be replaced.
#[test]
fn taken() {
    passes(|| {
        let agent_directory = Directory::new();
        let inner = agent_directory.inner();
        use_all();
        Options::new().directory(&inner).name("other").start().unwrap();
        let again = Options::new().directory(&inner).start().unwrap_err();
        assert!(
            matches!(again, StartError::Running(_)) && again.to_string().contains("has an agent already"),
            "{again}"
        );
        reap(fork(|| {
            let place = inner.join(format!("x.{}.sock", std::process::id()));
            let _listener = UnixListener::bind(&place).unwrap();
            let error = Options::new().directory(&inner).name("x").start().unwrap_err();
            assert!(error.to_string().ends_with("Address already in use (os error 98)"), "{error}");
            // Under another name there is room.
            Options::new().directory(&inner).name("y").start().unwrap();
            place.exists()
        }));
    });
}

/// The end, by `exit` and by the end of `main`.
#[test]
fn removed_at_the_end() {
    passes(|| {
        let directory = Directory::new();
        let inner = directory.inner();
        for ends_well in [true, false] {
            let child = fork(|| {
                use_all();
                Options::new().directory(&inner).name("x").start().unwrap();
                // SAFETY: this process ends; the handlers run, or not.
                unsafe { if ends_well { libc::exit(0) } else { libc::_exit(0) } }
            });
            reap(child);
            assert_eq!(inner.join(format!("x.{child}.sock")).exists(), !ends_well);
        }
    });
}

/// The directory goes while it runs: the program lives on and ends well, and those who are connected are served.
#[test]
fn removed_directory() {
    passes(|| {
        let agent = Agent::start(|options| options);
        let mut client = agent.client();
        client.done("hello");
        std::fs::remove_dir_all(&agent.directory.0).unwrap();
        client.done("set net.trace=on");
        assert!(now().0);
    });
}

/// No file can be made: an error that says where, and no agent.
#[test]
fn full_disk() {
    passes(|| {
        if !rustix::process::geteuid().is_root() {
            return eprintln!("skipped: only root can mount a full disk");
        }
        // SAFETY: of this process, whose other thread sleeps.
        if unsafe { libc::unshare(libc::CLONE_NEWNS) } != 0 {
            return eprintln!("skipped: no mount namespace of its own");
        }
        let directory = Directory::new();
        let mount = |options: &str| {
            Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(&directory.0).status().unwrap()
        };
        let private = Command::new("mount").args(["--make-rprivate", "/"]).status().unwrap();
        if !private.success() || !mount("nr_inodes=2").success() {
            return eprintln!("skipped: nothing can be mounted");
        }
        // There is room for the directory alone.
        let error = Options::new().directory(directory.inner()).start().unwrap_err().to_string();
        assert!(error.contains(".sock: No space left on device"), "{error}");
        assert!(std::fs::read_dir(directory.inner()).unwrap().next().is_none());
        Command::new("umount").arg(&directory.0).status().unwrap();
        Options::new().directory(directory.inner()).start().unwrap();
    });
}
