//! Plugins, by what the dynamic loader tells of them.

use std::ffi::{CStr, CString, c_void};

use super::maps;

/// A plugin, looked at with C's eyes.
pub struct Plugin {
    handle: *mut c_void,
    file: String,
}

// SAFETY: a handle is not tied to a thread.
unsafe impl Sync for Plugin {}
// SAFETY: as above.
unsafe impl Send for Plugin {}

impl Plugin {
    pub fn load(name: &str) -> Plugin {
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
    pub unsafe fn function<F: Copy>(&self, name: &CStr) -> F {
        // SAFETY: a loaded object.
        let address = unsafe { libc::dlsym(self.handle, name.as_ptr()) };
        assert!(!address.is_null(), "{name:?}");
        // SAFETY: by the contract, a function pointer.
        unsafe { std::mem::transmute_copy(&address) }
    }

    /// 0, 1, or 2 if the sites of the key disagree.
    pub fn check(&self) -> u32 {
        // SAFETY: as the plugin declares it; so below.
        unsafe { self.function::<extern "C" fn() -> u32>(c"plugin_check")() }
    }

    /// 0, or the number of an error.
    pub fn try_flip(&self, on: bool) -> i32 {
        // SAFETY: as declared.
        unsafe { self.function::<extern "C" fn(bool) -> i32>(c"plugin_flip")(on) }
    }

    pub fn flip(&self, on: bool) {
        assert_eq!(self.try_flip(on), 0);
        assert_eq!(self.check(), u32::from(on));
    }

    /// Unloads it. False if it stays.
    pub fn unload(self) -> bool {
        // SAFETY: nobody has a function of it any more.
        assert_eq!(unsafe { libc::dlclose(self.handle) }, 0);
        !maps().contains(&self.file)
    }
}
