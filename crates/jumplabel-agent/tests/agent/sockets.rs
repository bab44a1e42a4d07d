//! The socket's place: who was there before, and when it is removed.

use std::os::unix::fs::{DirBuilderExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
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
        // No process of that number is visible here, but somebody listens, as a process in another container would.
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

/// What bears the name of a dead process's socket, or of the own one, and is no socket of this user: it stays.
#[test]
fn no_sockets() {
    passes(|| {
        let directory = Directory::new();
        let inner = directory.inner();
        std::fs::DirBuilder::new().mode(0o700).create(&inner).unwrap();
        let dead = fork(|| true);
        reap(dead);
        let [notes, other] = ["notes", "other"].map(|name| inner.join(name));
        std::fs::write(&notes, "of the user").unwrap();
        drop(UnixListener::bind(&other).unwrap());
        let named = |name: &str, pid: i32| inner.join(format!("{name}.{pid}.sock"));
        let file = named("file", dead);
        std::fs::write(&file, "of the user").unwrap();
        symlink(&notes, named("to-file", dead)).unwrap();
        symlink(&other, named("to-socket", dead)).unwrap();
        let mut left = vec![file, named("to-file", dead), named("to-socket", dead)];
        if rustix::process::geteuid().is_root() {
            let foreign = named("foreign", dead);
            drop(UnixListener::bind(&foreign).unwrap());
            std::os::unix::fs::lchown(&foreign, Some(65534), None).unwrap();
            left.push(foreign);
        }
        use_all();
        let own = named("x", std::process::id().cast_signed());
        for make in [|at: &Path| std::fs::write(at, "of the user").unwrap(), |at: &Path| symlink("other", at).unwrap()]
        {
            make(&own);
            let error = Options::new().directory(&inner).name("x").start().unwrap_err().to_string();
            assert!(error.contains("no socket of this user: remove it"), "{error}");
            assert!(own.symlink_metadata().is_ok(), "it was removed");
            std::fs::remove_file(&own).unwrap();
        }
        // At the end of a process, too: what has taken its socket's place meanwhile is not its own.
        let ended = fork(|| {
            let socket = Options::new().directory(&inner).name("x").start().unwrap();
            std::fs::remove_file(&socket).unwrap();
            std::fs::write(&socket, "of the user").unwrap();
            // SAFETY: this process ends; the handlers run.
            unsafe { libc::exit(0) }
        });
        reap(ended);
        left.push(named("x", ended));
        Options::new().directory(&inner).name("x").start().unwrap();
        for path in &left {
            assert!(path.symlink_metadata().is_ok(), "{} was removed", path.display());
        }
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
