//! A loaded plugin.

use std::ffi::{CStr, CString, c_void};

use jumplabel::RawKey;

pub struct Plugin {
    handle: *mut c_void,
    name: String,
}

// SAFETY: a handle is not tied to a thread.
unsafe impl Sync for Plugin {}

impl Plugin {
    /// Loads `lib<name>.so` from the program's directory.
    pub fn load(name: &str) -> Plugin {
        let directory = std::env::current_exe().unwrap().parent().unwrap().to_owned();
        let file = directory.join(format!("lib{name}.so"));
        let path = CString::new(file.to_str().unwrap()).unwrap();
        // SAFETY: loads one of our plugins.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        assert!(!handle.is_null(), "{file:?}: {}", error());
        Plugin { handle, name: format!("lib{name}.so") }
    }

    /// # Safety
    /// `F` is the type of the plugin's function of that name.
    unsafe fn function<F: Copy>(&self, name: &CStr) -> F {
        // SAFETY: a loaded object.
        let address = unsafe { libc::dlsym(self.handle, name.as_ptr()) };
        assert!(!address.is_null(), "{}", error());
        // SAFETY: by the contract, a function pointer.
        unsafe { std::mem::transmute_copy(&address) }
    }

    pub fn check(&self) -> bool {
        // SAFETY: as the plugin declares it; so below.
        let check = unsafe { self.function::<extern "C" fn() -> u32>(c"plugin_check") };
        match check() {
            0 => false,
            1 => true,
            _ => panic!("the plugin's sites disagree"),
        }
    }

    pub fn flip(&self, on: bool) {
        // SAFETY: as declared.
        let flip = unsafe { self.function::<extern "C" fn(bool) -> i32>(c"plugin_flip") };
        assert_eq!(flip(on), 0);
        assert_eq!(self.check(), on);
    }

    pub fn flip_key(&self, key: &RawKey, on: bool) {
        // SAFETY: as declared.
        let flip = unsafe { self.function::<extern "C" fn(&RawKey, bool) -> i32>(c"plugin_flip_key") };
        assert_eq!(flip(key, on), 0);
    }

    pub fn flip_later(&self) {
        // SAFETY: as declared.
        let flip_later = unsafe { self.function::<extern "C" fn() -> i32>(c"plugin_flip_later") };
        assert_eq!(flip_later(), 0);
    }

    /// Has a function of the plugin's hear of flips.
    pub fn hear(&self) {
        // SAFETY: as declared.
        let hear = unsafe { self.function::<extern "C" fn() -> i32>(c"plugin_hear") };
        assert_eq!(hear(), 0);
    }

    /// Of how many flips that function has heard since the last call.
    pub fn heard(&self) -> u32 {
        // SAFETY: as declared.
        let heard = unsafe { self.function::<extern "C" fn() -> u32>(c"plugin_heard") };
        heard()
    }

    /// Address of a site, and how many its key has.
    pub fn sites(&self) -> (usize, usize) {
        let mut first = 0;
        // SAFETY: as declared.
        let sites = unsafe { self.function::<extern "C" fn(&mut usize) -> usize>(c"plugin_sites") };
        let count = sites(&mut first);
        (first, count)
    }

    /// What `inside` gets while the plugin holds its lock.
    pub fn locked(&self, inside: extern "C" fn() -> i32) -> i32 {
        // SAFETY: as declared.
        let locked = unsafe { self.function::<extern "C" fn(extern "C" fn() -> i32) -> i32>(c"plugin_locked") };
        locked(inside)
    }

    pub fn flip_function(&self) -> extern "C" fn(bool) -> i32 {
        // SAFETY: as declared.
        unsafe { self.function(c"plugin_flip") }
    }

    /// Breaks the plugin: `plugin_own_lock` or `plugin_pin`.
    pub fn sabotage(&self, how: &CStr) {
        // SAFETY: as declared.
        let sabotage = unsafe { self.function::<extern "C" fn()>(how) };
        sabotage();
    }

    /// Unloads it. False where it stays.
    pub fn unload(self) -> bool {
        // SAFETY: nobody has a function of it any more.
        assert_eq!(unsafe { libc::dlclose(self.handle) }, 0, "{}", error());
        !std::fs::read_to_string("/proc/self/maps").unwrap().contains(&self.name)
    }
}

fn error() -> String {
    // SAFETY: called after an error, on the thread that met it.
    unsafe { CStr::from_ptr(libc::dlerror()) }.to_string_lossy().into_owned()
}
