//! Does what lines on standard input say, and answers each with a line: `reach NAME` what a point returns, `pause` when a thread has begun that
//! reaches `wait.here`, `go` when that thread has gone on, `cfg NAME ACTIONS`, `callback NAME`, `remove NAME`, `list`. With the argument `unserved`, its agent
//! knows nothing of fail points.

use std::io::BufRead;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread::JoinHandle;

use jumplabel_fail::fail_point;

jumplabel_agent::startup!(no_remote: "fail:kept.*");

static CALLED: AtomicUsize = AtomicUsize::new(0);

fn reach(name: &str) -> String {
    let returned = |text: Option<String>| format!("returns {text:?}");
    match name {
        "before_save" => fail_point!("before_save", returned),
        "net.read" => fail_point!("net.read", returned),
        // Two points of one name.
        "net.write" => {
            fail_point!("net.write", returned);
            fail_point!("net.write", |_| "the second".to_owned());
        }
        "kept.secret" => fail_point!("kept.secret", returned),
        "called" => {
            fail_point!("called");
            return CALLED.load(SeqCst).to_string();
        }
        computed => fail_point!(computed, returned),
    }
    "goes on".to_owned()
}

fn answer(line: &str, waiting: &mut Vec<JoinHandle<()>>) -> Result<String, String> {
    let words: Vec<&str> = line.splitn(3, ' ').collect();
    match words[..] {
        ["reach", name] => return Ok(reach(name)),
        ["pause"] => waiting.push(std::thread::spawn(|| fail_point!("wait.here"))),
        ["go"] => waiting.drain(..).for_each(|thread| thread.join().unwrap()),
        ["cfg", name, actions] => jumplabel_fail::cfg(name, actions)?,
        ["callback", name] => jumplabel_fail::cfg_callback(name, || drop(CALLED.fetch_add(1, SeqCst)))?,
        ["remove", name] => jumplabel_fail::remove(name),
        ["list"] => {
            let mut all = jumplabel_fail::list();
            all.sort();
            return Ok(format!("{all:?}"));
        }
        _ => return Err(format!("{line}?")),
    }
    Ok("done".to_owned())
}

fn main() {
    let _scenario = jumplabel_fail::FailScenario::setup();
    if std::env::args().nth(1).as_deref() != Some("unserved") {
        jumplabel_agent::serve(jumplabel_fail::layer()).unwrap();
    }
    println!("ready");
    let mut waiting = Vec::new();
    for line in std::io::stdin().lock().lines() {
        println!("{}", answer(&line.unwrap(), &mut waiting).unwrap_or_else(|error| error));
    }
    // Threads that pause end with the process.
    std::process::exit(0);
}
