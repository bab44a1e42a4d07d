//! What listens where the tool asks, and may be anybody's.

use std::fmt::Write as _;
use std::fs::Permissions;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::Command;

use crate::programs::jumplabel;
use crate::server::Server;

/// A process that listens may not be an agent. It must not be able to take all the tool's memory, or all its time.
#[test]
fn endless_answer() {
    let server = Server::start("endless", "1");
    let path = server.runtime.join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let other = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut sent = 0_u64;
        while std::io::Write::write_all(&mut stream, &[b' '; 1 << 16]).is_ok() {
            sent += 1 << 16;
        }
        sent
    });
    server.refuses(&["list", path.to_str().unwrap()], 3, "its answer has no end");
    let sent = other.join().unwrap();
    assert!(sent < 128 << 20, "{sent}");
}

/// JSON of the right form that answers something else, or nothing: a change that nobody has made is not reported as made.
#[test]
fn other_answers() {
    let server = Server::start("other", "1");
    let path = server.runtime.join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let answers = ["\"status\":0", "\"status\":0,\"error\":\"no\"", "\"status\":1", "\"status\":4", "\"status\":200"];
    let commands: [&[&str]; 5] = [
        &["list"],
        &["set", "net.trace=on"],
        &["check", "--repair"],
        &["check", "net.trace=on"],
        &["trace", "net.trace"],
    ];
    let other = std::thread::spawn(move || {
        for answer in answers.iter().flat_map(|answer| commands.map(|_| answer)) {
            let mut stream = BufReader::new(listener.accept().unwrap().0);
            stream.read_line(&mut String::new()).unwrap();
            writeln!(stream.get_mut(), "{{\"version\":1,{answer}}}").unwrap();
        }
    });
    for words in answers.iter().flat_map(|_| commands) {
        let words: Vec<_> = words[..1].iter().chain([&path.to_str().unwrap()]).chain(&words[1..]).copied().collect();
        server.refuses(&words, 3, "no agent: this answers something else");
    }
    other.join().unwrap();
}

/// Files that are none, or have no end: each command says so at once. Pipes have nobody at the other end.
#[test]
fn no_files() {
    let server = Server::start("no-files", "1");
    let pipe = server.runtime.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let large = server.runtime.join("large");
    std::fs::File::create(&large).unwrap().set_len(17 << 20).unwrap();
    let [pipe, large] = [&pipe, &large].map(|path| path.to_str().unwrap());
    for command in ["list", "sites", "check", "link", "apply"] {
        for path in [pipe, "/dev/zero", "/"] {
            server.refuses(&[command, path], 3, "not a regular file");
        }
    }
    server.refuses(&["apply", pipe], 3, "`-` reads standard input");
    server.refuses(&["apply", large], 3, "longer than 16 MiB: nothing is set");
    // The kernel makes these while they are read, and some wait for what there will be.
    let waits = ["/proc/kmsg", "/sys/kernel/tracing/trace_pipe", "/proc/self/status"];
    for path in waits.into_iter().filter(|path| std::fs::File::open(path).is_ok()) {
        for command in ["list", "sites", "check", "link"] {
            server.refuses(&[command, path], 3, "empty, and so not an ELF file");
        }
    }
    // Standard input may have no end either.
    let endless = server.command(&["apply", "-"]).stdin(std::fs::File::open("/dev/zero").unwrap()).output().unwrap();
    let why = String::from_utf8(endless.stderr).unwrap();
    assert!(endless.status.code() == Some(3) && why.contains("-: longer than 16 MiB"), "{why}");
}

/// Why a process is out of reach: each case has a message of its own.
#[test]
fn out_of_reach() {
    let server = Server::start("reach", "name=web");
    let mut ended = Command::new("true").spawn().unwrap();
    ended.wait().unwrap();
    server.refuses(&["list", &ended.id().to_string()], 3, &format!("{}: there is no such process", ended.id()));
    server.refuses(&["list", &std::process::id().to_string()], 3, ": no agent in ");
    server.refuses(&["list", "@nobody"], 3, "@nobody: no agent in ");
    // A directory that is none is not the same as one without a socket.
    let file = server.runtime.join("file");
    std::fs::write(&file, "").unwrap();
    let output = server.command(&["list", "@web"]).env("XDG_RUNTIME_DIR", &file).output().unwrap();
    let why = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.code() == Some(3) && why.contains("/file/jumplabel cannot be read: Not a directory"),
        "{why}"
    );
    // A queue that is full, because a stopped process accepts nobody.
    let path = server.runtime.join("socket");
    let _listener = UnixListener::bind(&path).unwrap();
    let mut waiting = Vec::new();
    let full = loop {
        let socket = rustix::net::socket_with(
            rustix::net::AddressFamily::UNIX,
            rustix::net::SocketType::STREAM,
            rustix::net::SocketFlags::NONBLOCK,
            None,
        );
        let socket = socket.unwrap();
        match rustix::net::connect(&socket, &rustix::net::SocketAddrUnix::new(&path).unwrap()) {
            Ok(()) => waiting.push(socket),
            Err(error) => break error,
        }
    };
    assert_eq!(full, rustix::io::Errno::AGAIN);
    server.refuses(&["list", path.to_str().unwrap()], 3, "too many wait there already: is the process stopped?");
}

/// Who may not ask: the directory, the socket, or the agent says no.
#[test]
fn not_allowed() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("skipped: only root can be another user");
    }
    let directory = std::env::temp_dir().join(format!("jumplabel-allowed-{}", std::process::id()));
    let sockets = directory.join("jumplabel");
    std::fs::create_dir_all(&sockets).unwrap();
    let tool = directory.join("tool");
    jumplabel_testing::programs::copy(std::path::Path::new(env!("CARGO_BIN_EXE_jumplabel")), &tool).unwrap();
    let mode = |path: &Path, mode: u32| std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    let socket = sockets.join("web.1.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    // As the agent does with other users.
    let agent = std::thread::spawn(move || {
        let mut first = [0];
        while first != *b"." {
            let _ = listener.accept().unwrap().0.read(&mut first);
        }
    });
    let list = || {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--clear-groups"]).arg(&tool).args(["list", "@web"]);
        let said = command.env("XDG_RUNTIME_DIR", &directory).output().unwrap();
        (said.status.code(), String::from_utf8(said.stderr).unwrap())
    };
    mode(&directory, 0o755);
    let mut said = Vec::new();
    for [of_directory, of_socket] in [[0o700, 0o600], [0o755, 0o600], [0o755, 0o666]] {
        mode(&sockets, of_directory);
        mode(&socket, of_socket);
        said.push(list());
    }
    UnixStream::connect(&socket).unwrap().write_all(b".").unwrap();
    agent.join().unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
    for ((code, why), expected) in said.into_iter().zip([
        "/jumplabel cannot be read: Permission denied (os error 13): its own user and root may",
        "/web.1.sock: not allowed: its own user and root may connect",
        "@web: not allowed: the agent of user 0 answers that user and root",
    ]) {
        assert!(code == Some(3) && why.contains(expected), "{why}");
    }
}

/// A path may be longer than the address of a socket: in the directory of a container, say.
#[test]
fn long_path() {
    let server = Server::start("long", "name=web");
    let long = server.runtime.join("x".repeat(120));
    std::os::unix::fs::symlink(server.runtime.join("jumplabel"), &long).unwrap();
    let socket = long.join(format!("web.{}.sock", server.pid()));
    assert_eq!(server.prints(&["check", socket.to_str().unwrap(), "net.trace=off"]), "");
}

/// What listens under the number of another process is not asked: that one has ended, and its number was given again.
#[test]
fn another_process() {
    let server = Server::start("another", "name=web");
    let (mut sleep, agents) = (Command::new("sleep").arg("1000").spawn().unwrap(), server.runtime.join("jumplabel"));
    jumplabel_testing::programs::wait_until_begun(sleep.id());
    let other = sleep.id().to_string();
    std::fs::hard_link(agents.join(format!("web.{}.sock", server.pid())), agents.join(format!("web.{other}.sock")))
        .unwrap();
    let said = server.tool(&["set", &other, "net.trace=on"]);
    sleep.kill().unwrap();
    sleep.wait().unwrap();
    assert!(said.0 == 3 && said.2.contains(&format!("process {} listens there", server.pid())), "{said:?}");
    assert_eq!(server.prints(&["check", &server.pid(), "net.trace=off"]), "");
}

/// A directory that another user owns, with a socket that looks like one of our agents.
#[test]
fn another_user() {
    // SAFETY: asks for a number.
    if unsafe { libc::geteuid() } != 0 {
        return eprintln!("skipped: only root can be another user");
    }
    let directory = std::env::temp_dir().join(format!("jumplabel-foreign-{}", std::process::id()));
    let socket = directory.join("jumplabel").join("web.1.sock");
    std::fs::create_dir_all(socket.parent().unwrap()).unwrap();
    let tool = directory.join("tool");
    jumplabel_testing::programs::copy(std::path::Path::new(env!("CARGO_BIN_EXE_jumplabel")), &tool).unwrap();
    // Who listens is whoever made it listen: a process of user 65533, which the tool of user 65534 must not believe.
    let script = "import os,socket,sys,time\nos.setuid(65533)\ns=socket.socket(socket.AF_UNIX)\ns.bind(sys.argv[1])\n\
                  os.chmod(sys.argv[1],0o666)\ns.listen()\ntime.sleep(1000)";
    std::os::unix::fs::chown(socket.parent().unwrap(), Some(65533), Some(65533)).unwrap();
    let Ok(mut other) = Command::new("python3").args(["-c", script]).arg(&socket).spawn() else {
        return eprintln!("skipped: no python3");
    };
    while UnixStream::connect(&socket).is_err() {
        std::thread::yield_now();
    }
    let list = |uid: &str| {
        let mut command = Command::new("setpriv");
        command.args([&format!("--reuid={uid}"), "--clear-groups"]).arg(&tool).args(["list", "@web"]);
        command.env("XDG_RUNTIME_DIR", &directory).output().unwrap()
    };
    let said = list("65534");
    let why = String::from_utf8(said.stderr).unwrap();
    let _ = (other.kill(), other.wait());
    std::fs::remove_dir_all(&directory).unwrap();
    assert!(
        said.status.code() == Some(4) && why.contains("user 65533 listens there: it is no agent of yours"),
        "{why}"
    );
}

/// What etcd says of 10,000 hosts is more than the 10 MB that a client of HTTP takes unasked; and numbers may be of any size.
#[test]
fn ten_thousand_hosts() {
    use base64::prelude::{BASE64_STANDARD, Engine};

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let etcd = format!("http://{}", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let mut sent = 0;
        for number in 0..2 {
            let (mut stream, _) = listener.accept().unwrap();
            let (mut reader, mut length) = (BufReader::new(stream.try_clone().unwrap()), 0);
            for line in reader.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty()) {
                let line = line.to_ascii_lowercase();
                length = line.strip_prefix("content-length:").map_or(length, |text| text.trim().parse().unwrap());
            }
            reader.take(length).read_to_end(&mut Vec::new()).unwrap();
            let mut body = r#"{"header":{"revision":"7"},"kvs":["#.to_owned();
            for host in 0..number * 10_000 {
                let states = r#"{"on":1}"#;
                let keys: Vec<_> = (0..5).map(|key| format!(r#""key.of.a.program.{key:0150}":{states}"#)).collect();
                let processes = if host == 0 { usize::MAX } else { 1 };
                let report = format!(
                    r#"{{"version":1,"processes":{processes},"revision":7,"keys":{{{}}},"failed":[]}}"#,
                    keys.join(",")
                );
                let [key, value] =
                    [&*format!("/jumplabel/report/host{host}"), &report].map(|text| BASE64_STANDARD.encode(text));
                let comma = if host == 0 { "" } else { "," };
                write!(body, r#"{comma}{{"key":"{key}","value":"{value}","mod_revision":"7"}}"#).unwrap();
            }
            body += "]}";
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            stream.write_all((head + &body).as_bytes()).unwrap();
            sent = body.len();
        }
        sent
    });
    let printed = jumplabel(&["fleet", "list", "--etcd", &etcd]);
    assert_eq!((printed.code, &*printed.err), (0, ""), "{}", printed.out);
    assert!(server.join().unwrap() > 10 << 20, "the limit was not met");
    assert!(printed.out.lines().any(|line| line.split_whitespace().eq([
        &*format!("key.of.a.program.{:0150}", 3),
        "on",
        "10000"
    ])));
    assert!(printed.out.contains(&format!("10000 hosts with {} processes; 0 behind", usize::MAX)), "{}", printed.out);
}
