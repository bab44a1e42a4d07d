//! An agent in this process, and its clients.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use jumplabel_agent::protocol::{Answer, VERSION};
use jumplabel_agent::{Event, Options};

/// How long something may take that happens on any machine.
pub const LIMIT: Duration = Duration::from_secs(60);

/// A directory of one test, which goes with it.
pub struct Directory(pub PathBuf);

impl Directory {
    pub fn new() -> Directory {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("jumplabel-agent-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Directory(path)
    }

    /// One that an agent makes in it.
    pub fn inner(&self) -> PathBuf {
        self.0.join("jumplabel")
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The agent of this process.
pub struct Agent {
    pub socket: PathBuf,
    events: Mutex<Receiver<Event>>,
    pub directory: Directory,
}

impl Agent {
    pub fn start(with: impl FnOnce(Options) -> Options) -> Agent {
        crate::use_all();
        let (directory, (sender, events)) = (Directory::new(), channel());
        let options = Options::new().directory(directory.inner()).log(move |event| drop(sender.send(event.clone())));
        let socket = with(options).start().unwrap();
        Agent { socket, events: Mutex::new(events), directory }
    }

    pub fn client(&self) -> Client {
        Client::new(&self.socket)
    }

    /// The next line of the log.
    pub fn logged(&self) -> String {
        self.events.lock().unwrap().recv_timeout(LIMIT).expect("an event").to_string()
    }

    /// Nothing more was logged.
    pub fn is_quiet(&self) -> bool {
        self.events.lock().unwrap().try_recv().is_err()
    }
}

/// A connection.
pub struct Client(pub BufReader<UnixStream>);

impl Client {
    pub fn new(socket: &Path) -> Client {
        let stream = UnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        Client(BufReader::new(stream))
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).unwrap();
    }

    /// The next line; `None` at the end.
    pub fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let length = self.0.read_line(&mut line).unwrap_or(0);
        (length > 0).then_some(line)
    }

    pub fn answer(&mut self) -> Answer {
        let line = self.line().expect("an answer");
        let answer: Answer = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(answer.version, VERSION);
        answer
    }

    pub fn ask(&mut self, request: &str) -> Answer {
        self.send(format!("{request}\n").as_bytes());
        self.answer()
    }

    /// Asks for what must be done.
    #[track_caller]
    pub fn done(&mut self, request: &str) -> Answer {
        let answer = self.ask(request);
        assert_eq!((answer.status, &answer.error), (0, &None), "{request}");
        answer
    }

    /// Asks for what must be refused; why.
    #[track_caller]
    pub fn refused(&mut self, request: &str, status: u8) -> String {
        let answer = self.ask(request);
        assert_eq!(answer.status, status, "{request}: {answer:?}");
        answer.error.unwrap()
    }
}
