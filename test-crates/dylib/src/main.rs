//! Keys in a dynamic library, sites in it, in the program, and in a library that is loaded late. `dylib` prints `ok`, or
//! dies. `dylib serve` is for others to change its keys.

#[path = "../../../crates/jumplabel/tests/refusals/seccomp.rs"]
#[allow(dead_code, unused_imports, reason = "shared with other tests")]
mod seccomp;

use std::ffi::{CStr, CString, c_void};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use jumplabel::{
    Batch, Error, ObjectChange, RawKey, WriterKind, for_each_site, set_writer, static_branch_likely,
    static_branch_unlikely, static_key,
};
use seccomp::{Fault, Faults};

static_key! { static PROGRAM: false; }

/// The program's own sites agree with the library's.
#[inline(never)]
fn check() -> [bool; 4] {
    assert_eq!(static_branch_unlikely!(shared::PLAIN), shared::check());
    assert_eq!(static_branch_likely!(shared::PLAIN), shared::check());
    [
        static_branch_likely!(shared::PLAIN),
        static_branch_unlikely!(shared::ARRAY[3]),
        static_branch_likely!(shared::CONFIG.key),
        static_branch_unlikely!(PROGRAM),
    ]
}

fn sites(key: &RawKey) -> usize {
    for_each_site(key, |_| ()).unwrap()
}

struct Late(*mut c_void);

impl Late {
    fn load() -> Late {
        let path = std::env::current_exe().unwrap().parent().unwrap().join("liblate.so");
        let path = CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: loads our library.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
        if handle.is_null() {
            // SAFETY: behind an error.
            panic!("{:?}", unsafe { CStr::from_ptr(libc::dlerror()) });
        }
        Late(handle)
    }

    fn symbol(&self, name: &CStr) -> *mut c_void {
        // SAFETY: a loaded library.
        let address = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        assert!(!address.is_null(), "{name:?}");
        address
    }

    fn check(&self) -> u32 {
        // SAFETY: as the library declares it; so below.
        let check: extern "C" fn() -> u32 = unsafe { std::mem::transmute(self.symbol(c"late_check")) };
        check()
    }

    fn places(&self) -> u32 {
        // SAFETY: as declared.
        let places: extern "C" fn() -> u32 = unsafe { std::mem::transmute(self.symbol(c"late_places")) };
        places()
    }

    fn key(&self) -> &'static RawKey {
        // SAFETY: as declared, and used while the library is loaded.
        let key: extern "C" fn() -> &'static RawKey = unsafe { std::mem::transmute(self.symbol(c"late_key")) };
        key()
    }

    fn naked_key(&self) -> &'static RawKey {
        // SAFETY: as above.
        let key: extern "C" fn() -> &'static RawKey = unsafe { std::mem::transmute(self.symbol(c"late_naked_key")) };
        key()
    }

    fn constructor_saw(&self) -> u32 {
        // SAFETY: as declared.
        unsafe { &*self.symbol(c"LATE_SAW").cast::<AtomicU32>() }.load(Ordering::Relaxed)
    }

    fn unload(self) {
        // SAFETY: nothing of it is in use.
        assert_eq!(unsafe { libc::dlclose(self.0) }, 0);
    }
}

/// A flip is refused in mid-batch, and undoing it is, too. A library with some of the sites goes; the others are restored.
fn unloaded_before_it_is_restored(faults: Faults) {
    set_writer(Some(WriterKind::Procmem));
    shared::PLAIN.disable().unwrap();
    let mut stuck = 0;
    for ordinal in 1.. {
        let late = Late::load();
        faults.arm(libc::SYS_pwrite64, ordinal, u32::MAX, Fault::Errno(libc::EIO));
        let result = shared::PLAIN.enable();
        late.unload();
        if faults.disarm() == 0 {
            break;
        }
        stuck += u32::from(matches!(result, Err(Error::RollbackFailed { .. })));
        PROGRAM.disable().unwrap();
        PROGRAM.enable().unwrap();
        assert!(!check()[0], "a site stays on: {result:?} at write {ordinal}");
    }
    assert!(stuck > 5, "hardly a flip could not be undone: {stuck}");
    set_writer(None);
    shared::PLAIN.disable().unwrap();
}

/// Pages of a library cannot be closed, and the library goes. Whatever comes in its place keeps its protection.
fn unloaded_before_it_is_closed(faults: Faults) {
    set_writer(Some(WriterKind::Mprotect));
    let mut warned = 0;
    for ordinal in 1.. {
        let late = Late::load();
        let mut site = 0;
        for_each_site(late.key(), |found| site = found.address).unwrap();
        faults.arm(libc::SYS_mprotect, ordinal, u32::MAX, Fault::Errno(libc::ENOMEM));
        let result = late.key().disable();
        late.unload();
        if faults.disarm() == 0 {
            break;
        }
        warned += u32::from(result.is_ok_and(|outcome| outcome.warnings.left_writable));
        let (page, size) = ((site & !4095) as *mut c_void, 4096);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
        // SAFETY: maps memory where there is none, and unmaps it.
        unsafe {
            assert_eq!(libc::mmap(page, size, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0), page);
            shared::PLAIN.enable().unwrap();
            shared::PLAIN.disable().unwrap();
            let protection = std::fs::read_to_string("/proc/self/maps").unwrap();
            let start = format!("{:x}-", page as usize);
            let line = protection.lines().find(|line| line.starts_with(&start)).unwrap();
            assert!(line.contains(" rw-p "), "a flip has changed what is no code: {line}");
            assert_eq!(libc::munmap(page, size), 0);
        }
    }
    assert!(warned > 0, "nothing was left writable");
    set_writer(None);
}

/// Answers each line of standard input with what its sites yield, and those of a library that was loaded late.
fn serve() {
    let late = Late::load();
    println!("ready");
    for _ in std::io::stdin().lines() {
        println!("{:?} {}", check(), late.check() & 1);
    }
}

/// What the hook of the list was called with.
static TOLD: Mutex<Vec<(ObjectChange, String)>> = Mutex::new(Vec::new());

/// Turns the places on whose name ends in `second`.
fn told(change: ObjectChange, places: &[&'static shared::Place]) {
    let mut names: Vec<_> = places.iter().map(|place| place.name).collect();
    names.sort_unstable();
    TOLD.lock().unwrap().push((change, names.join(" ")));
    let second = places.iter().filter(|place| place.name.ends_with("second"));
    jumplabel::set_all(second.map(|place| (place.key.raw(), change == ObjectChange::Loaded))).unwrap();
}

/// A list has elements in the library that declares it, in the program, and in a library that comes and goes.
fn lists() {
    let names = || {
        let mut names = Vec::new();
        shared::PLACES.for_each(|place| names.push(place.name)).unwrap();
        names.sort_unstable();
        names
    };
    assert_eq!((shared::placed(), shared::place!("program"), names()), (false, false, vec!["program", "shared"]));
    // Without a hook.
    let late = Late::load();
    assert_eq!((late.places(), names()), (0, vec!["late.first", "late.second", "program", "shared"]));
    late.unload();
    shared::PLACES.on_change(told);
    for _ in 0..10 {
        let late = Late::load();
        assert_eq!(late.places(), 2, "the hook was not called, or too late");
        assert_eq!(names().len(), 4);
        late.unload();
        assert_eq!(names(), ["program", "shared"]);
        let told = std::mem::take(&mut *TOLD.lock().unwrap());
        let expected =
            [ObjectChange::Loaded, ObjectChange::Unloading].map(|change| (change, "late.first late.second".to_owned()));
        assert_eq!(told, expected);
    }
    shared::PLACES.on_change(|_, _| ());
}

/// Before all constructors.
extern "C" fn show_key() {
    shared::PROGRAM_KEY.store((&raw const *PROGRAM.raw()).cast_mut(), Ordering::Relaxed);
}

#[used]
#[unsafe(link_section = ".preinit_array")]
static SHOW_KEY: extern "C" fn() = show_key;

fn main() {
    assert!(shared::IS_REFUSED.load(Ordering::Relaxed), "a change before this program's constructors says Ok");
    if std::env::args().nth(1).is_some_and(|word| word == "serve") {
        return serve();
    }
    // A key of the library; sites in the library and here.
    for on in [true, false, true, false] {
        if on { shared::PLAIN.enable() } else { shared::PLAIN.disable() }.unwrap();
        assert_eq!(check(), [on, true, true, false]);
    }
    Batch::new().enable(&PROGRAM).disable(&shared::ARRAY[3]).disable(&shared::CONFIG.key).commit().unwrap();
    assert_eq!(check(), [false, false, false, true]);
    assert_eq!((sites(&shared::PLAIN), sites(&shared::ARRAY[3]), sites(&shared::CONFIG.key)), (5, 1, 1));

    // A private key of the library whose only site is here.
    assert!(!shared::generic::<u8>());
    shared::flip_private(true);
    assert!(shared::generic::<u8>());

    // Naked keys of the library: one function, called from here, too.
    for on in [true, false, true, false] {
        assert_eq!(if on { shared::NAKED.enable() } else { shared::NAKED.disable() }.unwrap().sites, 1);
        shared::flip_naked(on);
        assert_eq!([shared::NAKED.get(), shared::naked(), shared::naked_generic::<u8>()], [on; 3]);
        assert_eq!(sites(&shared::NAKED), 1);
    }

    // A static call of the library, called from both. The program's function is too far from the library for a jump.
    fn far(a: u64, b: u64, c: u64, d: u64, e: u64, f: u64) -> u64 {
        [f, e, d, c, b, a].iter().fold(0, |all, one| all * 10 + one)
    }
    let called = || [shared::called(), (shared::CALLED)(1, 2, 3, 4, 5, 6)];
    for _ in 0..2 {
        assert_eq!(called(), [123_456; 2]);
        shared::CALLED.update(far).unwrap();
        assert_eq!(called(), [654_321; 2]);
        shared::CALLED.reset().unwrap();
    }

    // A library that comes when its keys are flipped, in both states, again and again; one of its own.
    for round in 0..50 {
        let on = round % 2 == 0;
        let batch = Batch::new().set(&shared::PLAIN, on).set(&shared::ARRAY[3], !on).set(&shared::CONFIG.key, on);
        batch.set(&shared::NAKED, on).commit().unwrap();
        let late = Late::load();
        let expected = u32::from(on) | u32::from(!on) << 1 | u32::from(on) << 2 | 8 | u32::from(on) << 4 | 32;
        assert_eq!(late.constructor_saw(), expected, "the constructor of the late library ran stale sites");
        assert_eq!(late.check(), expected);
        assert_eq!(check(), [on, !on, on, true]);
        let batch = Batch::new().set(&shared::PLAIN, !on).set(&shared::NAKED, !on);
        batch.disable(late.key()).disable(late.naked_key()).commit().unwrap();
        assert_eq!(late.check(), (expected ^ 17) & !40);
        assert_eq!(check(), [!on, !on, on, true]);
        assert_eq!(sites(&shared::PLAIN), 7);
        late.unload();
        shared::PLAIN.inc().unwrap();
        shared::PLAIN.dec().unwrap();
    }
    lists();
    let faults = Faults::new(&[libc::SYS_pwrite64, libc::SYS_mprotect]);
    unloaded_before_it_is_restored(faults);
    unloaded_before_it_is_closed(faults);
    println!("ok");
}
