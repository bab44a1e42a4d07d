//! The variable `JUMPLABEL_AGENT`, in this program started again.

use std::io::Read;
use std::process::Stdio;

use jumplabel_agent::directory::sockets;
use jumplabel_testing::scenario::this_program;

use crate::client::{Client, Directory};
use crate::{now, use_all};

/// Waits until its standard input ends.
#[test]
fn child() {
    if std::env::var_os("JUMPLABEL_AGENT").is_some() {
        use_all();
        println!("ready");
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        println!("trace {}", now().0);
    }
}

/// What it says on standard error, and whether what `with` does with its socket, if it has one, was done.
fn run(value: &str, with: impl FnOnce(Option<&mut Client>)) -> (String, String) {
    let directory = Directory::new();
    let mut command = this_program();
    command.args(["--exact", "variable::child", "--nocapture"]);
    command.env("XDG_RUNTIME_DIR", &directory.0).env("JUMPLABEL_AGENT", value);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    let (mut said, mut byte) = (Vec::new(), [0]);
    while !said.ends_with(b"ready\n") {
        out.read_exact(&mut byte).expect("it was started");
        said.push(byte[0]);
    }
    let found = sockets(&directory.inner()).unwrap_or_default();
    assert!(found.iter().all(|socket| socket.pid == child.id()), "{found:?}");
    match found.first() {
        None => with(None),
        Some(socket) => with(Some(&mut Client::new(&socket.path))),
    }
    drop(child.stdin.take());
    let (mut rest, mut err) = (String::new(), String::new());
    out.read_to_string(&mut rest).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert!(child.wait().unwrap().success(), "{err}");
    assert_eq!(sockets(&directory.inner()).unwrap_or_default(), [], "the socket was left behind");
    (rest, err)
}

#[test]
fn starts_an_agent() {
    let (out, err) = run("1", |client| {
        let client = client.expect("an agent");
        let program = std::env::current_exe().unwrap();
        let file = program.file_name().unwrap().to_str().unwrap();
        assert_eq!(client.done("hello").hello.unwrap().name, file[..file.len().min(32)]);
        client.done("set net.trace=on");
    });
    assert!(out.contains("trace true"), "{out}");
    let pid = std::process::id();
    assert!(
        err.contains(&format!(
            "jumplabel: net.trace off -> on by uid {} (pid {pid})\n",
            rustix::process::geteuid().as_raw()
        )),
        "{err}"
    );
}

#[test]
fn words() {
    let (out, err) = run("read-only, name=a", |client| {
        let client = client.expect("an agent");
        let hello = client.done("hello").hello.unwrap();
        assert_eq!((&*hello.name, hello.read_only), ("a", true));
        client.refused("set net.trace=on", 4);
    });
    assert!(out.contains("trace false") && err.contains("jumplabel: refused to uid"), "{err}");
}

#[test]
fn none() {
    for (value, why) in [
        ("", ""),
        ("0", ""),
        ("off", ""),
        ("yes", "jumplabel: JUMPLABEL_AGENT: no agent: `yes`: write 1, read-only"),
        ("1,dir=/dev/null/x", "jumplabel: JUMPLABEL_AGENT: no agent: /dev/null/x: Not a directory"),
        ("name=../x", "cannot be its name"),
    ] {
        let (_, err) = run(value, |client| assert!(client.is_none(), "{value}"));
        let lines: Vec<_> = err.lines().filter(|line| line.starts_with("jumplabel")).collect();
        assert_eq!(lines.len(), usize::from(!why.is_empty()), "{value}: {err}");
        assert!(err.contains(why), "{value}: {err}");
    }
}
