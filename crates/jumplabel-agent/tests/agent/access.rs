//! Who may do what.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use jumplabel_agent::outside::Text;
use jumplabel_agent::{Event, Options, StartError, no_remote, no_remote_because};
use jumplabel_testing::scenario::{fork, passes, reap, skip};

use crate::client::{Agent, Client, Directory};
use crate::now;

const NOBODY: u32 = 65534;

/// Ends the scenario if this is not root, who alone can be somebody else.
pub fn as_root() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can have a child of another user");
        skip();
    }
}

/// Becomes `nobody`, for good.
pub fn leave_root() {
    // SAFETY: of this process alone.
    assert!(unsafe { libc::setgid(NOBODY) == 0 && libc::setuid(NOBODY) == 0 });
}

/// So that an agent of that user can be there.
pub fn give_to_nobody(path: &Path) {
    std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn modes() {
    passes(|| {
        for umask in [0o000, 0o022, 0o077] {
            // SAFETY: of this process alone.
            unsafe { libc::umask(umask) };
            reap(fork(|| {
                let agent = Agent::start(|options| options);
                let [socket, directory] =
                    [&*agent.socket, &agent.directory.inner()].map(|path| path.metadata().unwrap());
                socket.mode() & 0o7777 == 0o600 && directory.mode() & 0o7777 == 0o700
            }));
        }
    });
}

/// Directories in which others may put sockets, or have.
#[test]
fn directories() {
    passes(|| {
        let base = Directory::new();
        let of = |name: &str, mode: u32| {
            let path = base.0.join(name);
            std::fs::DirBuilder::new().create(&path).unwrap();
            set_mode(&path, mode);
            path
        };
        let refused = |path: &Path| Options::new().directory(path).start().unwrap_err().to_string();
        for mode in [0o755, 0o750, 0o1700, 0o500] {
            let why = refused(&of(&format!("{mode:o}"), mode));
            assert!(why.contains(&format!("with mode {mode:o}")) && why.contains("it must be of user"), "{why}");
        }
        symlink(of("real", 0o700), base.0.join("link")).unwrap();
        assert!(refused(&base.0.join("link")).contains("/link: "));
        std::fs::write(base.0.join("file"), "").unwrap();
        assert!(refused(&base.0.join("file")).contains("/file: "));
        assert!(refused(&base.0.join("no/such")).contains("/no/such: No such file"));
        let long = of(&"long".repeat(25), 0o700);
        assert!(refused(&long).contains("107 bytes: give another directory"), "{}", refused(&long));
        as_root();
        let foreign = of("foreign", 0o700);
        std::os::unix::fs::chown(&foreign, Some(NOBODY), None).unwrap();
        assert!(refused(&foreign).contains(&format!("is of user {NOBODY}")));
        // After all that, one is started.
        Options::new().directory(base.0.join("real")).start().unwrap();
    });
}

/// Where it is if nobody says where.
#[test]
fn default_directory() {
    passes(|| {
        let base = Directory::new();
        let start = |runtime: &Path| {
            // SAFETY: the child of a fork, where nobody else reads the environment.
            unsafe { std::env::set_var("XDG_RUNTIME_DIR", runtime) };
            jumplabel_agent::start().map(|socket| socket.parent().unwrap().to_owned())
        };
        reap(fork(|| start(&base.0).unwrap() == base.inner()));
        reap(fork(|| {
            let error = start(&base.0.join("missing")).unwrap_err().to_string();
            error.contains("missing/jumplabel: No such file")
        }));
        // A path that depends on where the program is started is none.
        reap(fork(|| {
            let user = format!("/run/user/{}", rustix::process::geteuid().as_raw());
            match start(Path::new("not/absolute")) {
                Ok(directory) => directory == Path::new(&user).join("jumplabel"),
                Err(error) => {
                    let why = "for the socket: set XDG_RUNTIME_DIR, or give a directory of your own";
                    !Path::new(&user).exists() && error.to_string() == format!("there is no {user} {why}")
                }
            }
        }));
    });
}

/// Another user cannot even come near; and if somebody opens the directory, the agent cuts them off.
#[test]
fn other_users() {
    passes(|| {
        as_root();
        let agent = Agent::start(|options| options);
        let try_it = |expected: fn(&Path) -> bool| {
            reap(fork(|| {
                leave_root();
                expected(&agent.socket)
            }));
        };
        set_mode(&agent.directory.0, 0o755);
        try_it(|socket| UnixStream::connect(socket).is_err_and(|error| error.kind() == ErrorKind::PermissionDenied));
        set_mode(&agent.directory.inner(), 0o755);
        try_it(|socket| UnixStream::connect(socket).is_err_and(|error| error.kind() == ErrorKind::PermissionDenied));
        set_mode(&agent.socket, 0o666);
        try_it(|socket| {
            // It may be cut off before it has sent anything.
            let mut client = Client::new(socket);
            let _ = client.0.get_mut().write_all(b"set net.trace=on\n");
            client.line().is_none()
        });
        assert!(agent.logged().starts_with(&format!("cut off uid {NOBODY} (pid ")));
        assert!(agent.is_quiet() && !now().0);
        agent.client().done("set net.trace=on");
    });
}

/// A server that does not ask who connects: what the test above sees is the agent's doing, not the system's.
#[test]
fn other_users_twin() {
    passes(|| {
        as_root();
        let directory = Directory::new();
        let socket = directory.0.join("socket");
        let listener = UnixListener::bind(&socket).unwrap();
        set_mode(&directory.0, 0o755);
        set_mode(&socket, 0o666);
        let child = fork(|| {
            leave_root();
            Client::new(&socket).line().is_some()
        });
        listener.accept().unwrap().0.write_all(b"{}\n").unwrap();
        reap(child);
    });
}

/// Root may, whoever runs the program.
#[test]
fn root() {
    passes(|| {
        as_root();
        let directory = Directory::new();
        give_to_nobody(&directory.0);
        let inner = directory.inner();
        let (mut ready, started) = std::io::pipe().unwrap();
        let (mut end, answered) = std::io::pipe().unwrap();
        let child = fork(|| {
            leave_root();
            crate::use_all();
            let (sender, events) = std::sync::mpsc::channel();
            let log = move |event: &Event| drop(sender.send(event.to_string()));
            Options::new().directory(&inner).name("x").log(log).start().unwrap();
            (&started).write_all(b".").unwrap();
            end.read_exact(&mut [0]).unwrap();
            events.recv().is_ok_and(|line| line.starts_with("net.trace off -> on by uid 0 ")) && now().0
        });
        ready.read_exact(&mut [0]).unwrap();
        Client::new(&inner.join(format!("x.{child}.sock"))).done("set net.trace=on");
        (&answered).write_all(b".").unwrap();
        reap(child);
    });
}

#[test]
fn forbidden_keys() {
    passes(|| {
        let agent = Agent::start(|options| options.no_remote("auth.*"));
        let mut client = agent.client();
        for request in
            ["set auth.strict=off", "set *=off", "set net.trace=on,auth.strict=off for 3", "set auth.*-1 dry-run"]
        {
            let why = client.refused(request, 4);
            assert_eq!(why, "auth.strict: the program lets nobody change it from outside (`auth.*`): nothing is set");
            if !request.ends_with("dry-run") {
                assert!(agent.logged().ends_with(&why));
            } else {
                assert!(agent.logged().ends_with(&why), "who tries it out is seen, too");
            }
            assert_eq!(now(), (false, false, true, 1), "{request}");
        }
        // Another one, while it runs; and what it does not choose can be set.
        no_remote("net.packets").unwrap();
        client.refused("set net.*=on", 4);
        client.done("set net.trace=on");
        assert_eq!(now(), (true, false, true, 1));
        client.done("check auth.strict=on");
    });
}

/// The program's own words for why.
#[test]
fn forbidden_for_a_reason() {
    passes(|| {
        let agent = Agent::start(|options| options.no_remote_because("auth.*", "the audit demands a restart"));
        let why = agent.client().refused("set auth.strict=off", 4);
        let because = "(`auth.*`: the audit demands a restart): nothing is set";
        assert_eq!(why, format!("auth.strict: the program lets nobody change it from outside {because}"));
        // A reason that comes later counts; the same selector without one takes none away.
        no_remote("net.packets").unwrap();
        assert!(agent.client().refused("set net.packets=on", 4).contains("(`net.packets`)"));
        for reason in ["not by day", "never", "not by day"] {
            no_remote_because("net.packets", reason).unwrap();
            no_remote("net.packets").unwrap();
            assert!(agent.client().refused("set net.packets=on", 4).contains(&format!("(`net.packets`: {reason})")));
        }
        assert_eq!(now(), (false, false, true, 1));
    });
}

/// The program has a `startup!` of its own, which ran first.
#[test]
fn forbidden_by_a_second_startup() {
    passes(|| {
        static SELECTORS: [Text; 2] = [Text::new("auth.*"), Text::new("nobody.*")];
        let agent = Agent::start(|options| options);
        jumplabel_agent::__startup(&SELECTORS);
        agent.client().refused("set auth.strict=off", 4);
        assert!(now().2);
    });
}

/// Without it, the same request does it.
#[test]
fn forbidden_keys_twin() {
    passes(|| {
        let agent = Agent::start(|options| options);
        agent.client().done("set auth.strict=off");
        assert!(!now().2);
    });
}

/// A selector that protects nothing is no protection.
#[test]
fn misspelt() {
    passes(|| {
        let directory = Directory::new();
        for (selector, why) in [
            ("atuh.*", "no_remote `atuh.*`: nothing matches"),
            ("auth.strict=off", "leave out what it is to be"),
            ("file:", "a pattern is missing"),
            ("fn:check", "does not know functions"),
        ] {
            let error = Options::new().directory(directory.inner()).no_remote(selector).start().unwrap_err();
            assert!(matches!(error, StartError::NoRemote { .. }) && error.to_string().contains(why), "{error}");
        }
        assert!(!directory.inner().exists());
        assert!(Options::new().name("../x").start().unwrap_err().to_string().contains("cannot be its name"));
    });
}

#[test]
fn read_only() {
    passes(|| {
        let agent = Agent::start(Options::read_only);
        let mut client = agent.client();
        assert!(client.refused("set net.trace=on", 4).contains("read-only"));
        assert!(agent.logged().contains("read-only") && !now().0);
        assert!(client.done("hello").hello.unwrap().read_only);
        assert_eq!(client.done("set net.trace=on dry-run").set.unwrap().changes.len(), 1);
        client.done("check net.trace=off");
        client.done("watch");
    });
}
