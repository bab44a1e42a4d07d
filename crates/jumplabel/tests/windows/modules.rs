//! Several instances of the library in one process: a DLL that is loaded and unloaded (test-crates/dll), and this program.

use std::ffi::{CStr, CString, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use jumplabel::{Error, find_key, for_each_key, static_branch_unlikely, static_key};
use jumplabel_testing::scenario::passes;

#[link(name = "kernel32")]
unsafe extern "system" {
    fn LoadLibraryA(name: *const i8) -> *mut c_void;
    fn FreeLibrary(module: *mut c_void) -> i32;
    fn GetProcAddress(module: *mut c_void, name: *const i8) -> *const c_void;
}

static_key! { static OWN: false; }

#[inline(never)]
fn check() -> bool {
    static_branch_unlikely!(OWN)
}

/// The DLL while it is loaded.
struct Dll {
    module: *mut c_void,
    check: extern "C" fn() -> bool,
    set: extern "C" fn(bool) -> i32,
    locked: extern "C" fn(extern "C" fn()) -> bool,
    flips_at_the_end: extern "C" fn(Told),
}

/// What the DLL calls while it is unloaded: for two flips, how many sites each has changed, and what the check said then.
type Told = extern "C" fn(i32, bool, i32, bool);

impl Dll {
    fn load(path: &CStr) -> Dll {
        // SAFETY: the DLL has these functions, of these types.
        unsafe {
            let module = LoadLibraryA(path.as_ptr().cast());
            assert!(!module.is_null());
            let find = |name: &CStr| GetProcAddress(module, name.as_ptr().cast());
            let functions = [c"dll_check", c"dll_set", c"dll_locked", c"dll_flips_at_the_end"].map(find);
            assert!(functions.iter().all(|function| !function.is_null()));
            let [check, set, locked, flips_at_the_end] = functions;
            Dll {
                module,
                check: std::mem::transmute::<*const c_void, extern "C" fn() -> bool>(check),
                set: std::mem::transmute::<*const c_void, extern "C" fn(bool) -> i32>(set),
                locked: std::mem::transmute::<*const c_void, extern "C" fn(extern "C" fn()) -> bool>(locked),
                flips_at_the_end: std::mem::transmute::<*const c_void, extern "C" fn(Told)>(flips_at_the_end),
            }
        }
    }

    fn unload(self) {
        // SAFETY: nobody uses the module's functions or keys any more.
        assert_ne!(unsafe { FreeLibrary(self.module) }, 0);
    }
}

/// The path of the DLL, if it was built.
fn path() -> Option<CString> {
    let path = std::env::var("JUMPLABEL_DLL").ok();
    if path.is_none() {
        println!("skipped: JUMPLABEL_DLL does not name the library of test-crates/dll (make wine)");
    }
    path.map(|path| CString::new(path).unwrap())
}

fn listed() -> usize {
    let mut keys = 0;
    for_each_key(|_| keys += 1).unwrap();
    keys
}

static REFUSED: AtomicU32 = AtomicU32::new(0);

extern "C" fn flip_own() {
    assert_eq!(OWN.enable(), Err(Error::Reentrant));
    REFUSED.fetch_add(1, Ordering::Relaxed);
}

/// The DLL is loaded and unloaded twenty times. In all rounds but the first, the program has flipped before.
#[test]
fn come_and_go() {
    passes(|| {
        let Some(path) = path() else { return };
        let before = listed();
        for round in 1..=20 {
            let dll = Dll::load(&path);
            assert_eq!(((dll.check)(), (dll.set)(true), (dll.check)()), (false, 1, true));
            // There is one list of keys, and one lock.
            assert_eq!((listed(), find_key("dll::PLUGGED").is_ok()), (before + 1, true));
            assert!((dll.locked)(flip_own));
            assert_eq!((REFUSED.load(Ordering::Relaxed), check()), (round, OWN.is_enabled()));
            // The program flips a key of the DLL, which it has found by its name.
            find_key("dll::PLUGGED").unwrap().key.disable().unwrap();
            assert!(!(dll.check)());
            OWN.enable().unwrap();
            dll.unload();
            OWN.disable().unwrap();
            assert_eq!((listed(), find_key("dll::PLUGGED").err(), check()), (before, Some(Error::NoSuchKey), false));
        }
    });
}

/// Both instances flip, and threads check, while the DLL is loaded and unloaded.
#[test]
fn come_and_go_beside_flips() {
    passes(|| {
        let Some(path) = path() else { return };
        let (stop, flips) = (AtomicBool::new(false), AtomicU32::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    OWN.enable().unwrap();
                    assert!(check());
                    OWN.disable().unwrap();
                    assert!(!check());
                    flips.fetch_add(2, Ordering::Relaxed);
                }
            });
            for _ in 0..50 {
                let dll = Dll::load(&path);
                for round in 0..20 {
                    let on = round % 2 == 0;
                    assert_eq!(((dll.set)(on), (dll.check)()), (1, on));
                }
                dll.unload();
            }
            while flips.load(Ordering::Relaxed) == 0 {
                std::thread::yield_now();
            }
            stop.store(true, Ordering::Relaxed);
        });
    });
}

static TOLD: AtomicU32 = AtomicU32::new(0);

extern "C" fn told(on: i32, is_on: bool, off: i32, is_still_on: bool) {
    assert_eq!((on, is_on, off, is_still_on), (1, true, 1, false));
    TOLD.fetch_add(1, Ordering::Relaxed);
}

/// The DLL flips its own key in `DllMain`, while it is unloaded. Afterwards nobody knows the key.
#[test]
fn flips_while_it_is_unloaded() {
    passes(|| {
        let Some(path) = path() else { return };
        let before = listed();
        for round in 1..=5 {
            let dll = Dll::load(&path);
            (dll.flips_at_the_end)(told);
            dll.unload();
            assert_eq!((TOLD.load(Ordering::Relaxed), listed()), (round, before));
            OWN.enable().unwrap();
            OWN.disable().unwrap();
        }
    });
}

/// Two copies of one DLL want the same addresses, so the loader relocates at least one. Its sites, tables and records need no relocations.
#[test]
fn relocated() {
    passes(|| {
        let Some(path) = path() else { return };
        let file = std::fs::read(path.to_str().unwrap()).unwrap();
        let header = u32::from_le_bytes(file[60..64].try_into().unwrap()) as usize;
        let wanted = usize::from_le_bytes(file[header + 48..header + 56].try_into().unwrap());
        let copy = std::env::temp_dir().join(format!("jumplabel-copy-{}.dll", std::process::id()));
        std::fs::write(&copy, &file).unwrap();
        let before = listed();
        let [one, other] = [&path, &CString::new(copy.to_str().unwrap()).unwrap()].map(|path| Dll::load(path));
        let at = [&one, &other].map(|dll| dll.module as usize);
        assert!(at[0] != at[1] && at.iter().any(|at| *at != wanted), "{at:x?} {wanted:x}");
        assert_eq!(listed(), before + 2);
        for on in [true, false, true] {
            assert_eq!(((one.set)(on), (one.check)(), (other.check)()), (1, on, false));
            for other_on in [true, false] {
                assert_eq!(((other.set)(other_on), (one.check)(), (other.check)()), (1, on, other_on));
            }
        }
        one.unload();
        assert_eq!(((other.set)(true), (other.check)(), listed()), (1, true, before + 1));
        other.unload();
        std::fs::remove_file(copy).unwrap();
    });
}
