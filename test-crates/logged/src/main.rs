//! A program that uses log. Its first argument names a case. A case checks itself and prints `ok`, or prints what the same program with
//! upstream's log prints, too.

#[cfg(feature = "patched")]
mod keys;

use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use log::{Level, LevelFilter, Log, Metadata, Record, debug, error, info, trace, warn};

/// Prints what begins with its target.
struct Logger(RwLock<&'static str>);

static LOGGER: Logger = Logger(RwLock::new(""));
static ASKED: AtomicUsize = AtomicUsize::new(0);

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        ASKED.fetch_add(1, Ordering::SeqCst);
        metadata.target().starts_with(*self.0.read().unwrap())
    }
    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let (level, target, file) = (record.level(), record.target(), record.file().unwrap_or("?"));
            print!("{level} {target} {file}:{} {}", record.line().unwrap_or(0), record.args());
            let count = record.key_values().count();
            println!("{}", if count > 0 { format!(" and {count} values") } else { String::new() });
        }
    }
    fn flush(&self) {}
}

/// Does all that the program can say.
fn work() {
    println!("{}", chatty::one(2));
    chatty::targets(4);
    println!("{:?} {:?}", chatty::forms(3, &LOGGER), chatty::forms(13, &LOGGER));
    chatty::generic(1_u8);
    chatty::generic("text");
    error!("error");
    warn!("warn");
    info!("info");
    debug!("debug");
    trace!("trace");
}

/// Another thread speaks while the maximum level changes. Each change counts at once for whoever made it.
fn reloads() {
    static ENDS: AtomicBool = AtomicBool::new(false);
    static SAID: AtomicUsize = AtomicUsize::new(0);
    struct Counting;
    impl Log for Counting {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }
        fn log(&self, record: &Record<'_>) {
            if record.level() == Level::Error {
                SAID.fetch_add(1, Ordering::SeqCst);
            }
        }
        fn flush(&self) {}
    }
    log::set_logger(&Counting).unwrap();
    let beside = std::thread::spawn(|| {
        while !ENDS.load(Ordering::Relaxed) {
            chatty::generic(1);
        }
    });
    for round in 0..2000 {
        log::set_max_level(LevelFilter::Error);
        error!("heard");
        assert_eq!(SAID.load(Ordering::SeqCst), round + 1, "a line is lost");
        log::set_max_level(LevelFilter::Off);
        error!("not heard");
        assert_eq!(SAID.load(Ordering::SeqCst), round + 1, "a line of nobody's");
    }
    ENDS.store(true, Ordering::Relaxed);
    beside.join().unwrap();
    println!("ok");
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match *words.as_slice() {
        // Without a logger, then with one.
        ["print", level, target] => {
            work();
            log::set_max_level(level.parse().unwrap());
            work();
            log::set_logger(&LOGGER).unwrap();
            *LOGGER.0.write().unwrap() = String::leak(target.to_owned());
            work();
            log::set_max_level(LevelFilter::Off);
            work();
        }
        ["reloads"] => reloads(),
        ["status"] => println!("{}", jumplabel_log::status().unwrap_err()),
        #[cfg(feature = "patched")]
        ["keys"] => keys::follow(),
        #[cfg(feature = "patched")]
        ["asked"] => keys::asked(),
        #[cfg(feature = "patched")]
        ["refused", level] => keys::refused(level),
        #[cfg(feature = "patched")]
        ["recovers"] => keys::recovers(),
        _ => panic!("{words:?}"),
    }
}
