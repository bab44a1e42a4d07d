//! A program without the library, whose plugins have instances of it. Each case is a process of its own: `host <case>`. Prints
//! `ok`, or dies.

mod exit;
#[path = "../../src/pace.rs"]
mod pace;
mod plugin;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use exit::{exit, exit_in_children};
use pace::{rounds, slowness};
use plugin::Plugin;

fn maps() -> String {
    std::fs::read_to_string("/proc/self/maps").unwrap()
}

/// Forks, and waits for the child, which ends with the status that `body` returns, without the parent's handlers. How it ended.
fn in_child(body: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child does what `body` does, and ends.
    match unsafe { libc::fork() } {
        // SAFETY: ends the child.
        0 => unsafe { libc::_exit(body()) },
        child => {
            let mut status = 0;
            // SAFETY: waits for our child.
            assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
            status
        }
    }
}

/// Plugins are loaded, flipped and unloaded while another thread forks: a handler of fork must not be unloaded. Nothing is left
/// behind by a plugin that goes.
fn fork_beside_dlclose(names: &'static [&str]) {
    let (forks_wanted, loads_wanted) = (rounds(3000) / names.len() as u32, rounds(300));
    let stop = AtomicBool::new(false);
    let loads = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for name in names {
            let (stop, loads) = (&stop, &loads);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let plugin = Plugin::load(name);
                    plugin.flip(true);
                    plugin.flip(false);
                    plugin.unload();
                    loads.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let mut forks = 0;
        while forks < forks_wanted || loads.load(Ordering::Relaxed) < loads_wanted {
            assert_eq!(in_child(|| 0), 0, "a child");
            forks += 1;
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// The first instance has the handlers of fork and stays. One that comes later finds it, and goes.
fn only_the_first_stays() {
    assert!(!Plugin::load("plugin").unload(), "the plugin with the handlers of fork goes");
    let mappings = || {
        let second = Plugin::load("second");
        second.flip(true);
        second.flip(false);
        // SAFETY: as the plugin declares it.
        let probe = unsafe { second.function::<extern "C" fn() -> i32>(c"plugin_probe") };
        assert_eq!(probe(), 0);
        assert!(second.unload(), "the second plugin stays");
        maps().lines().count()
    };
    let pages = || {
        let numbers = std::fs::read_to_string("/proc/self/statm").unwrap();
        numbers.split(' ').next().unwrap().parse::<usize>().unwrap()
    };
    let (first, first_pages) = (mappings(), pages());
    let rounds = rounds(100);
    for _ in 0..rounds {
        assert_eq!(in_child(|| 0), 0, "a child");
        let now = mappings();
        assert!(now <= first + 2, "{first} mappings, then {now}: a plugin leaves memory behind");
    }
    // The heap may grow.
    let more = pages() - first_pages;
    assert!(more < 40 + rounds as usize / 4, "{more} pages more after {rounds} rounds: a plugin leaves memory behind");
}

/// A plugin's static call leads to a function of a plugin that goes: then it leads to its default.
fn target_goes() {
    let first = Plugin::load("plugin");
    // SAFETY: as the plugin declares them; so below.
    let call = unsafe { first.function::<extern "C" fn() -> u32>(c"plugin_call") };
    // SAFETY: as above.
    let lead = unsafe { first.function::<extern "C" fn(extern "C" fn() -> u32) -> i32>(c"plugin_lead") };
    for round in 0..3 {
        assert_eq!(call(), 0, "round {round}: into what was unloaded");
        let second = Plugin::load("second");
        // SAFETY: as above.
        let target = unsafe { second.function::<extern "C" fn() -> u32>(c"plugin_target") };
        assert_eq!((lead(target), call()), (0, 1));
        assert!(second.unload(), "the second plugin stays");
    }
    assert_eq!(call(), 0);
    // SAFETY: as above.
    let lead = unsafe { first.function::<extern "C" fn(extern "C" fn() -> u32) -> i32>(c"plugin_lead_sealed") };
    let second = Plugin::load("second");
    // SAFETY: as above.
    let target = unsafe { second.function::<extern "C" fn() -> u32>(c"plugin_target") };
    assert_eq!((lead(target), call()), (0, 3));
    assert!(second.unload(), "the second plugin stays");
    assert_eq!(call(), 0, "into what was unloaded");
}

/// A lock of the host's, which its handlers of fork take before the plugin's take theirs.
static HOSTS: std::sync::Mutex<()> = std::sync::Mutex::new(());

mod handlers {
    use super::HOSTS;
    use std::cell::RefCell;
    use std::sync::MutexGuard;

    thread_local! { static HELD: RefCell<Option<MutexGuard<'static, ()>>> = const { RefCell::new(None) }; }

    pub extern "C" fn prepare() {
        HELD.set(Some(HOSTS.lock().unwrap()));
    }

    pub extern "C" fn release() {
        HELD.take();
    }
}

/// A thread flips while it holds a lock that the host's handlers of fork take. The plugin registers its handlers later, so that
/// they run first: fork takes the library's lock, then the host's, and the thread takes them in the other order.
fn order_of_locks() {
    // SAFETY: functions of the program.
    unsafe { libc::pthread_atfork(Some(handlers::prepare), Some(handlers::release), Some(handlers::release)) };
    let plugin = Plugin::load("plugin");
    let stop = AtomicBool::new(false);
    let flips = AtomicU32::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let held = HOSTS.lock().unwrap();
                plugin.flip(true);
                plugin.flip(false);
                drop(held);
                flips.fetch_add(1, Ordering::Relaxed);
                std::thread::yield_now();
            }
        });
        for number in 0..rounds(60) {
            let status = in_child(|| {
                let whole = plugin.check() != 2;
                let flips = plugin.try_flip(true) == 0 && plugin.check() == 1 && plugin.try_flip(false) == 0;
                i32::from(!whole) + 2 * i32::from(!flips)
            });
            assert_eq!(status, 0, "child {number}");
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(flips.load(Ordering::Relaxed) > 0);
}

mod flipping_handler {
    use std::sync::atomic::{AtomicUsize, Ordering};

    pub static FLIP: AtomicUsize = AtomicUsize::new(0);

    pub extern "C" fn child() {
        // SAFETY: the function of a plugin that is loaded.
        let flip: extern "C" fn(bool) -> i32 = unsafe { std::mem::transmute(FLIP.load(Ordering::Relaxed)) };
        assert_eq!(flip(true), 0);
    }
}

/// In the child of a fork, a handler of the host's flips before the plugin's handler has run. The child is as cancellable as
/// its parent, and takes the same signals.
fn handler_that_flips() {
    // SAFETY: a function of the program.
    unsafe { libc::pthread_atfork(None, None, Some(flipping_handler::child)) };
    let plugin = Plugin::load("plugin");
    plugin.flip(false);
    // SAFETY: as the plugin declares it.
    let flip = unsafe { plugin.function::<extern "C" fn(bool) -> i32>(c"plugin_flip") };
    flipping_handler::FLIP.store(flip as usize, Ordering::Relaxed);
    let state = || {
        let mut cancellable = -1;
        let mut signals = 0_u64;
        // SAFETY: both write to places of ours that are large enough for what the system call, and the function, write.
        unsafe {
            pthread_setcancelstate(0, &raw mut cancellable);
            libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_BLOCK, std::ptr::null::<u64>(), &raw mut signals, 8);
        }
        (cancellable, signals)
    };
    let before = state();
    let status = in_child(|| {
        assert_eq!(plugin.check(), 1);
        assert_eq!(state(), before, "in the child");
        plugin.flip(false);
        0
    });
    assert_eq!(status, 0, "the child");
    assert_eq!(state(), before, "in the parent");
    assert_eq!(plugin.check(), 0);
}

unsafe extern "C" {
    fn pthread_setcancelstate(state: libc::c_int, old: *mut libc::c_int) -> libc::c_int;
}

fn main() {
    std::thread::spawn(|| {
        std::thread::sleep(Duration::from_secs(120) * slowness());
        eprintln!("still running: a deadlock?");
        std::process::abort();
    });
    match std::env::args().nth(1).as_deref() {
        Some("fork_beside_dlclose") => fork_beside_dlclose(&["plugin"]),
        Some("fork_beside_two") => fork_beside_dlclose(&["plugin", "second"]),
        Some("only_the_first_stays") => only_the_first_stays(),
        Some("target_goes") => target_goes(),
        Some("order_of_locks") => order_of_locks(),
        Some("handler_that_flips") => handler_that_flips(),
        Some("exit") => exit(),
        Some("exit_in_children") => exit_in_children(),
        other => panic!("no such case: {other:?}"),
    }
    println!("ok");
}
