//! A program without the library, whose plugins have copies of it. Each case is a process of its own: `host <case>`. Prints
//! `ok`, or dies.

use std::ffi::{CStr, CString, c_void};
use std::io::{Read, Seek};
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

/// How many times slower than a processor the machine is, if it is an emulated one (cargo xtask guests).
fn slowness() -> u32 {
    std::env::var("JUMPLABEL_SLOWNESS").map_or(1, |slowness| slowness.parse().expect("JUMPLABEL_SLOWNESS is a number"))
}

/// So many rounds; fewer on a slow machine, which has as many dangerous moments in each.
fn rounds(number: u32) -> u32 {
    number.div_ceil(slowness())
}

/// A plugin, looked at with C's eyes.
struct Plugin {
    handle: *mut c_void,
    file: String,
}

// SAFETY: a handle is not tied to a thread.
unsafe impl Sync for Plugin {}
// SAFETY: as above.
unsafe impl Send for Plugin {}

impl Plugin {
    fn load(name: &str) -> Plugin {
        let file = format!("{}/lib{name}.so", std::env::current_exe().unwrap().parent().unwrap().display());
        let path = CString::new(file.clone()).unwrap();
        // SAFETY: loads one of our plugins.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        // SAFETY: called after an error, on the thread that met it.
        assert!(!handle.is_null(), "{:?}", unsafe { CStr::from_ptr(libc::dlerror()) });
        Plugin { handle, file }
    }

    /// # Safety
    /// `F` is the type of the plugin's function of that name.
    unsafe fn function<F: Copy>(&self, name: &CStr) -> F {
        // SAFETY: a loaded object.
        let address = unsafe { libc::dlsym(self.handle, name.as_ptr()) };
        assert!(!address.is_null(), "{name:?}");
        // SAFETY: by the contract, a function pointer.
        unsafe { std::mem::transmute_copy(&address) }
    }

    /// 0, 1, or 2 if the sites of the key disagree.
    fn check(&self) -> u32 {
        // SAFETY: as the plugin declares it; so below.
        unsafe { self.function::<extern "C" fn() -> u32>(c"plugin_check")() }
    }

    /// 0, or the number of an error.
    fn try_flip(&self, on: bool) -> i32 {
        // SAFETY: as declared.
        unsafe { self.function::<extern "C" fn(bool) -> i32>(c"plugin_flip")(on) }
    }

    fn flip(&self, on: bool) {
        assert_eq!(self.try_flip(on), 0);
        assert_eq!(self.check(), u32::from(on));
    }

    /// Unloads it. False if it stays.
    fn unload(self) -> bool {
        // SAFETY: nobody has a function of it any more.
        assert_eq!(unsafe { libc::dlclose(self.handle) }, 0);
        !maps().contains(&self.file)
    }
}

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

/// The first copy has the handlers of fork and stays. One that comes later finds it, and goes.
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

/// A thread goes on flipping while the process ends: whatever the destructors of the plugin have done, a flip reaches its
/// sites, or fails.
fn exit() {
    let plugin: &Plugin = Box::leak(Box::new(Plugin::load("plugin")));
    plugin.flip(true);
    let lingers = [Plugin::load("linger")];
    let flipping: &AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
    std::thread::spawn(move || {
        for on in [true, false].into_iter().cycle() {
            let (flipped, state) = (plugin.try_flip(on), plugin.check());
            if flipped == 0 && state != u32::from(on) {
                eprintln!("the flip to {on} returned Ok, and the check says {state}");
                // SAFETY: ends the process.
                unsafe { libc::_exit(3) };
            }
            flipping.store(true, Ordering::Relaxed);
        }
    });
    while !flipping.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::mem::forget(lingers);
}

/// Children of fork end by `exit` while another thread of their parent loads and unloads: what the loader knows is copied in the
/// middle of that. Nothing of ours may ask it for anything then. glibc itself reads that copy at its end, in `dl-fini.c`: now and
/// then it hangs, and is ended, or ends the child by an assertion of its own. No other assertion passes.
fn exit_in_children() {
    let plugin = Plugin::load("plugin");
    plugin.flip(true);
    let stop = AtomicBool::new(false);
    let mut ended_well = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                Plugin::load("second").unload();
            }
        });
        for number in 0..rounds(200) {
            let said = Said::new();
            // SAFETY: a deadline, and the end of the child.
            let status = in_child(|| unsafe {
                said.takes_stderr();
                libc::alarm(1);
                libc::exit(0)
            });
            let was_ended = libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGALRM;
            let said = said.text();
            let by_the_loader_itself = libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 127 && said.contains(": dl-fini.c: ");
            ended_well += u32::from(status == 0);
            assert!(status == 0 || was_ended || by_the_loader_itself, "child {number}: {status:#x}: {said}");
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(ended_well > 0);
}

/// What a child writes to its standard error.
struct Said(std::fs::File);

impl Said {
    fn new() -> Self {
        // SAFETY: a string with an end; the new descriptor is owned by the file.
        Self(unsafe { std::fs::File::from_raw_fd(libc::memfd_create(c"said".as_ptr(), libc::MFD_CLOEXEC)) })
    }

    /// From now on this process writes to it.
    fn takes_stderr(&self) {
        // SAFETY: both are descriptors of ours.
        unsafe { libc::dup2(self.0.as_raw_fd(), libc::STDERR_FILENO) };
    }

    fn text(mut self) -> String {
        let mut bytes = Vec::new();
        self.0.rewind().unwrap();
        self.0.read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    }
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
