//! Loads and unloads late.dll, whose path is the argument: its key is listed only while it is loaded. Prints "ok".

use std::ffi::{CString, c_void};

use jumplabel::{Error, find_key, for_each_key};

#[link(name = "kernel32")]
unsafe extern "system" {
    fn LoadLibraryA(name: *const i8) -> *mut c_void;
    fn FreeLibrary(module: *mut c_void) -> i32;
    fn GetProcAddress(module: *mut c_void, name: *const i8) -> *const c_void;
}

fn listed() -> usize {
    let mut keys = 0;
    for_each_key(|_| keys += 1).unwrap();
    keys
}

fn main() {
    let path = CString::new(std::env::args().nth(1).unwrap()).unwrap();
    let before = listed();
    for round in 0..5 {
        // SAFETY: the library has this function, of this type, and nobody uses it after it is unloaded.
        unsafe {
            let module = LoadLibraryA(path.as_ptr().cast());
            assert!(!module.is_null());
            let check = GetProcAddress(module, c"late_check".as_ptr().cast());
            assert!(!check.is_null());
            let check = std::mem::transmute::<*const c_void, extern "C" fn() -> u32>(check);
            assert_eq!(listed(), before + 1);
            shared::SHARED.enable().unwrap();
            find_key("late::LATE").unwrap().key.enable().unwrap();
            assert_eq!(check(), 3, "in round {round}");
            shared::SHARED.disable().unwrap();
            assert_eq!(check(), 2);
            assert_ne!(FreeLibrary(module), 0);
        }
        assert_eq!((listed(), find_key("late::LATE").err()), (before, Some(Error::NoSuchKey)));
    }
    println!("ok");
}
