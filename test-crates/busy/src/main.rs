//! Threads run through sites and compare them with the counts of their keys, until standard input ends. Lines of it are commands; each is
//! answered by a line. The first argument is the number of threads; if the second is `leaves`, the first thread ends.
//!
//! ```text
//!   flip KEY on|off   `done`, or why not
//!   agree             in this process and in a child of fork, after a flip of another key there: `yes`, or what differs
//!   report            looks, wrong looks, signals of two kinds that came
//!   shake             a thread flips `busy.shaken` from now on
//!   spawn             a thread starts threads that end at once, from now on
//!   seal              seals `busy.sealed`
//!   share             a child of vfork runs in this memory until it is killed: its number
//! ```

use std::io::{BufRead, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use jumplabel::{RawKey, naked_key, static_branch_likely, static_branch_unlikely, static_key};

static_key! {
    #[key(name = "busy.cold")]
    static COLD: false;
    #[key(name = "busy.hot")]
    static HOT: true;
    #[key(name = "busy.loads")]
    static LOADS: false, or_load;
    #[key(name = "busy.other")]
    static OTHER: false;
    #[key(name = "busy.shaken")]
    static SHAKEN: false;
    #[key(name = "busy.sealed")]
    static SEALED: false;
}

naked_key! {
    #[key(name = "busy.naked")]
    static NAKED: false;
}

static LOOKS: AtomicU64 = AtomicU64::new(0);
static WRONG: AtomicU64 = AtomicU64::new(0);
static SIGNALS: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

extern "C" fn on_signal(number: i32) {
    SIGNALS[usize::from(number != libc::SIGUSR1)].fetch_add(1, Relaxed);
}

/// How often this thread was taken off its processor. It is, if it is stopped.
fn switches() -> i64 {
    // SAFETY: numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: a place for them.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    usage.ru_nvcsw + usage.ru_nivcsw
}

/// What counts say, and what sites do: twice each, in functions of their own and in line.
fn counts() -> [bool; 4] {
    [COLD.is_enabled(), HOT.is_enabled(), LOADS.is_enabled(), NAKED.is_enabled()]
}

macro_rules! sites {
    () => {
        [static_branch_unlikely!(COLD), static_branch_likely!(HOT), static_branch_unlikely!(LOADS), NAKED.get()]
    };
}

#[inline(never)]
fn apart() -> [bool; 4] {
    sites!()
}

/// One change between the two looks at the counts is seen by them; two are not, but the thread was stopped twice then.
fn look() {
    let before = switches();
    let first = counts();
    let held = [sites!(), apart(), sites!()];
    let last = counts();
    let is_wrong = |at: usize| first[at] == last[at] && held.iter().any(|held| held[at] != first[at]);
    if (0..first.len()).any(is_wrong) && switches() - before < 2 {
        WRONG.fetch_add(1, Relaxed);
    }
    LOOKS.fetch_add(1, Relaxed);
}

fn flip(words: &[&str]) -> Result<(), jumplabel::Error> {
    let key: &RawKey = jumplabel::find_key(words[0])?.key;
    if words[1] == "on" {
        key.enable()?
    } else {
        key.disable()?
    };
    Ok(())
}

/// After a flip of a key that nobody else flips, all sites do what their keys say.
fn agree() -> String {
    let mut wrong = String::new();
    if let Err(error) = flip(&["busy.other", "on"]).and_then(|()| flip(&["busy.other", "off"])) {
        return error.to_string();
    }
    let visited = jumplabel::for_each_key(|info| {
        let look = |site: jumplabel::Site| {
            let is_so =
                site.state.is_some_and(|state| site.loads || (site.arm == state.falls_through()) == info.enabled);
            if !is_so {
                wrong += &format!("{} {:?} {}; ", info.name, site.state, info.enabled);
            }
        };
        let _ = jumplabel::for_each_site(info.key, look);
    });
    match visited {
        Err(error) => error.to_string(),
        Ok(_) if wrong.is_empty() => "yes".to_owned(),
        Ok(_) => wrong,
    }
}

/// The same in a child of fork, which looks before its parent has repaired anything.
fn agree_in_child() -> String {
    let mut pipe = [0; 2];
    // SAFETY: a place for two numbers; the child does what any thread may do, and ends.
    unsafe {
        assert_eq!(libc::pipe(pipe.as_mut_ptr()), 0);
        if libc::fork() == 0 {
            let text = agree();
            libc::write(pipe[1], text.as_ptr().cast(), text.len());
            libc::_exit(0);
        }
        libc::close(pipe[1]);
    }
    let mut text = [0_u8; 4096];
    // SAFETY: a place for so many bytes.
    let bytes = unsafe { libc::read(pipe[0], text.as_mut_ptr().cast(), text.len()) };
    // SAFETY: our descriptor; any child.
    unsafe { (libc::close(pipe[0]), libc::wait(std::ptr::null_mut())) };
    String::from_utf8_lossy(&text[..bytes.max(0) as usize]).into_owned()
}

/// The child of vfork is in its parent's memory, and its parent's thread waits for it.
fn share() -> i32 {
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut stack = vec![0_u64; 4096];
        extern "C" fn child(_: *mut libc::c_void) -> i32 {
            loop {
                // SAFETY: waits.
                unsafe { libc::pause() };
            }
        }
        // SAFETY: a stack of its own, which this thread keeps for good.
        let pid =
            unsafe { libc::clone(child, stack.as_mut_ptr().add(4000).cast(), libc::CLONE_VM, std::ptr::null_mut()) };
        send.send(pid).unwrap();
        std::mem::forget(stack);
    });
    receive.recv().unwrap()
}

fn main() {
    // SAFETY: a handler that counts. Anybody may trace this process, where the system asks it.
    unsafe {
        libc::signal(libc::SIGUSR1, on_signal as *const () as usize);
        libc::signal(libc::SIGRTMIN() + 3, on_signal as *const () as usize);
        libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY);
    }
    let threads = std::env::args().nth(1).map_or(3, |number| number.parse().unwrap());
    for _ in 0..threads {
        std::thread::spawn(|| {
            loop {
                look();
            }
        });
    }
    println!("ready");
    if std::env::args().nth(2).is_some_and(|word| word == "leaves") {
        std::thread::spawn(answer);
        // SAFETY: ends this thread; the others go on.
        unsafe { libc::syscall(libc::SYS_exit, 0) };
    }
    answer();
}

fn answer() {
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let words: Vec<_> = line.split_whitespace().collect();
        let answer = match words[0] {
            "flip" => flip(&words[1..]).map_or_else(|error| error.to_string(), |()| "done".to_owned()),
            "agree" => format!("{} {}", agree_in_child(), agree()),
            "report" => {
                let [usual, real_time] = SIGNALS.each_ref().map(|count| count.load(Relaxed));
                format!("{} {} {usual} {real_time}", LOOKS.load(Relaxed), WRONG.load(Relaxed))
            }
            "shake" => {
                std::thread::spawn(|| {
                    for on in [true, false].into_iter().cycle() {
                        flip(&["busy.shaken", if on { "on" } else { "off" }]).unwrap();
                    }
                });
                "done".to_owned()
            }
            "spawn" => {
                std::thread::spawn(|| {
                    loop {
                        std::thread::spawn(|| ()).join().unwrap();
                    }
                });
                "done".to_owned()
            }
            "seal" => SEALED.seal().map_or_else(|error| error.to_string(), |()| "done".to_owned()),
            "share" => share().to_string(),
            other => format!("{other}?"),
        };
        println!("{answer}");
        std::io::stdout().flush().unwrap();
    }
}
