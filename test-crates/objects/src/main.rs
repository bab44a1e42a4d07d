//! A program and its plugins, each with its own instance of the library, in one process. Each case is a process of its own:
//! `objects <case> [own_lock|pin]`. Prints `ok`, or dies. The second argument breaks the plugin on purpose, and then the
//! case must die.

mod early;
mod heard;
mod one_lock;
mod pace;
mod plugin;
#[path = "../../../crates/jumplabel/tests/refusals/seccomp.rs"]
#[allow(dead_code, unused_imports, reason = "shared with other tests")]
mod seccomp;
#[path = "../plugin/src/spy.rs"]
mod spy;
mod storm;

use std::ffi::CString;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use jumplabel::index_bytes;
use jumplabel::{
    Error, WriterKind, for_each_key, set_writer, static_branch_likely, static_branch_unlikely, static_key,
    text_reserved,
};
use one_lock::one_lock;
use pace::{rounds, slowness};
use plugin::Plugin;
use seccomp::{Fault, Faults};

/// On a slow machine, all threads on one processor. Emulated ones that take turns have turns of a tenth of a second, and in each
/// flip and each change of a mapping one waits for the other.
fn share_a_processor() {
    if slowness() == 1 {
        return;
    }
    // SAFETY: a set of processors is plain numbers, and outlives the call.
    unsafe {
        let mut first: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(0, &mut first);
        assert_eq!(libc::sched_setaffinity(0, size_of_val(&first), &raw const first), 0);
    }
}

static_key! {
    static PROGRAM: false;
    static OTHER: [true; 4];
}

#[inline(never)]
fn check() -> bool {
    let state = static_branch_unlikely!(PROGRAM);
    assert_eq!(state, static_branch_likely!(PROGRAM));
    state
}

fn flip(on: bool) {
    if on { PROGRAM.enable() } else { PROGRAM.disable() }.unwrap();
    assert_eq!(check(), on);
}

fn load(name: &str) -> Plugin {
    let plugin = Plugin::load(name);
    if let Some(how) = std::env::args().nth(2) {
        plugin.sabotage(&CString::new(format!("plugin_{how}")).unwrap());
    }
    plugin
}

/// The plugin comes before the first flip of anybody.
fn before() {
    let plugin = load("plugin");
    one_lock(&plugin);
    plugin.flip(true);
    flip(true);
}

/// The plugin comes when the program has flipped.
fn after() {
    flip(true);
    let plugin = load("plugin");
    one_lock(&plugin);
    plugin.flip(true);
    flip(true);
}

/// Both flip at the same time; sites of both, and keys of one flipped by the other.
fn concurrent() {
    let plugin = load("plugin");
    let flip_plugin = plugin.flip_function() as usize;
    let stop = AtomicBool::new(false);
    let done = AtomicU32::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // SAFETY: the plugin stays loaded until the scope ends.
            let flip_plugin: extern "C" fn(bool) -> i32 = unsafe { std::mem::transmute(flip_plugin) };
            while !stop.load(Ordering::Relaxed) {
                for on in [true, false] {
                    assert_eq!(flip_plugin(on), 0);
                }
                done.fetch_add(1, Ordering::Relaxed);
            }
        });
        while done.load(Ordering::Relaxed) < rounds(500) {
            flip(true);
            flip(false);
            plugin.flip_key(&OTHER[1], false);
            assert!(!static_branch_likely!(OTHER[1]));
            plugin.flip_key(&OTHER[1], true);
            assert!(static_branch_likely!(OTHER[1]));
        }
        stop.store(true, Ordering::Relaxed);
    });
    plugin.flip(true);
    one_lock(&plugin);
}

/// Loads, flips and unloads, again and again, while another thread of the program flips.
fn unload() {
    share_a_processor();
    flip(true);
    flip(false);
    let empty = index_bytes().unwrap();
    let keys = || {
        let mut count = 0;
        for_each_key(|_| count += 1).unwrap();
        count
    };
    let own_keys = keys();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                OTHER[0].disable().unwrap();
                assert!(!static_branch_likely!(OTHER[0]));
                OTHER[0].enable().unwrap();
                assert!(static_branch_likely!(OTHER[0]));
                std::thread::yield_now();
            }
        });
        for round in 0..rounds(1000) {
            let plugin = load(if round % 3 == 0 { "second" } else { "plugin" });
            plugin.flip(true);
            if round % 2 == 0 {
                plugin.flip(false);
            }
            let (site, count) = plugin.sites();
            assert!(count == 11 && text_reserved(site..site + 1) == Ok(true), "{count} sites");
            assert!(index_bytes().unwrap() > empty && keys() > own_keys);
            assert!(plugin.unload(), "the plugin stays loaded");
            assert_eq!(text_reserved(site..site + 1), Ok(false), "its sites stay");
            assert_eq!((index_bytes().unwrap(), keys()), (empty, own_keys), "its index or its keys stay");
            flip(round % 2 == 0);
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// Three instances; the two that come later go in both orders.
fn two() {
    for first_goes_first in [true, false] {
        let (plugin, second) = (load("plugin"), load("second"));
        for plugin in [&plugin, &second] {
            one_lock(plugin);
            plugin.flip(true);
        }
        assert!(plugin.check() && second.check());
        let (goes, stays) = if first_goes_first { (plugin, second) } else { (second, plugin) };
        assert!(goes.unload(), "the plugin stays loaded");
        one_lock(&stays);
        stays.flip(false);
        flip(true);
        // Comes back beside the one that stayed, and finds the same lock.
        let again = load(if first_goes_first { "plugin" } else { "second" });
        assert!(!again.check());
        one_lock(&again);
        again.flip(true);
        assert!(stays.unload() && again.unload(), "the plugin stays loaded");
        flip(false);
    }
}

/// Fork with a plugin, and after one has gone: the handlers of the plugin must be gone with it.
fn fork() {
    let child = |work: &dyn Fn()| {
        // SAFETY: the child flips and leaves; no other thread runs.
        match unsafe { libc::fork() } {
            0 => {
                work();
                // SAFETY: ends the child without the parent's exit handlers.
                unsafe { libc::_exit(0) }
            }
            pid => {
                let mut status = 0;
                // SAFETY: waits for our child.
                assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
                assert_eq!(status, 0);
            }
        }
    };
    for round in 0..20 {
        let plugin = load("plugin");
        flip(round % 2 == 0);
        child(&|| {
            plugin.flip(true);
            flip(round % 2 != 0);
            one_lock(&plugin);
        });
        assert!(!plugin.check() && check() == (round % 2 == 0));
        plugin.flip(true);
        assert!(plugin.unload(), "the plugin stays loaded");
        child(&|| flip(round % 2 != 0));
        flip(round % 2 != 0);
    }
}

/// A flip is left to a thread of the plugin's by a thread that ends, and the plugin is unloaded before the flip comes, or
/// before that thread has taken its first step: it must stay.
fn deferred() {
    let plugin = load("plugin");
    std::thread::scope(|scope| {
        scope.spawn(|| plugin.flip_later()).join().unwrap();
    });
    assert!(!plugin.unload(), "the plugin goes, and its worker loses the ground under its feet");
    for _ in 0..20 {
        std::thread::sleep(std::time::Duration::from_millis(5));
        flip(true);
        flip(false);
    }
    load("plugin").flip(true);
}

/// The program flips a key of the plugin's, which is refused in mid-batch and cannot be undone; then the plugin goes, and
/// there is nothing left to be restored.
fn stuck() {
    let faults = Faults::new(&[libc::SYS_pwrite64]);
    let plugin_key = || {
        let mut found = None;
        for_each_key(|info| found = if info.name.ends_with("::PLUGIN") { Some(info.key) } else { found }).unwrap();
        found.unwrap()
    };
    set_writer(Some(WriterKind::Procmem));
    flip(true);
    let mut stuck = 0;
    for ordinal in 1.. {
        let plugin = load("plugin");
        faults.arm(libc::SYS_pwrite64, ordinal, u32::MAX, Fault::Errno(libc::EIO));
        let result = plugin_key().enable();
        if faults.fired() == 0 {
            break;
        }
        stuck += u32::from(matches!(result, Err(Error::RollbackFailed { .. })));
        assert!(plugin.unload(), "the plugin stays loaded");
        faults.disarm();
        flip(ordinal % 2 == 0);
    }
    assert!(stuck > 5, "hardly a flip could not be undone: {stuck}");
}

/// Signals cannot be blocked, and flips are refused: plugins come and go all the same, with their sites and their index.
fn unblocked() {
    flip(true);
    let empty = index_bytes().unwrap();
    let faults = Faults::new(&[libc::SYS_rt_sigprocmask]);
    for _ in 0..3 {
        let plugin = load("plugin");
        plugin.flip(true);
        let (site, _) = plugin.sites();
        assert!(index_bytes().unwrap() > empty);
        faults.arm(libc::SYS_rt_sigprocmask, 1, u32::MAX, Fault::Errno(libc::EPERM));
        assert!(matches!(PROGRAM.disable(), Err(Error::Denied { .. })));
        assert!(plugin.unload(), "the plugin stays loaded");
        let again = load("plugin");
        faults.disarm();
        assert!(text_reserved(site..site + 1).is_ok());
        again.flip(true);
        assert!(again.unload(), "the plugin stays loaded");
        assert_eq!(index_bytes().unwrap(), empty, "its index stays");
        flip(false);
        flip(true);
    }
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("before") => before(),
        Some("after") => after(),
        Some("concurrent") => concurrent(),
        Some("unload") => unload(),
        Some("two") => two(),
        Some("fork") => fork(),
        Some("deferred") => deferred(),
        Some("storm") => storm::storm(),
        Some("stuck") => stuck(),
        Some("unblocked") => unblocked(),
        Some("early") => early::case(),
        Some(case @ ("heard_program_first" | "heard_plugin_first")) => heard::case(case),
        other => panic!("no such case: {other:?}"),
    }
    println!("ok");
}
