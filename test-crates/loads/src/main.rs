//! A program that loads a library with callsites of tracing, and unloads it. For each line of its input it does what the line says, and prints what
//! its subscriber gets.

use std::ffi::{CStr, CString, c_void};

use shared as _;

jumplabel_agent::startup!();

/// The path of the library, which lies beside the program.
fn path() -> CString {
    let path = std::env::current_exe().unwrap().parent().unwrap().join("liblate.so");
    CString::new(path.into_os_string().into_encoded_bytes()).unwrap()
}

fn load() -> *mut c_void {
    // SAFETY: the library is one of this workspace.
    let library = unsafe { libc::dlopen(path().as_ptr(), libc::RTLD_NOW) };
    // SAFETY: after an error, `dlerror` returns a text.
    assert!(!library.is_null(), "{:?}", unsafe { CStr::from_ptr(libc::dlerror()) });
    library
}

fn unload(library: *mut c_void) {
    // SAFETY: the library was loaded by `load`. Nothing uses its code or data now.
    assert_eq!(unsafe { libc::dlclose(library) }, 0);
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    assert!(!maps.contains("liblate.so"), "the library is still there");
}

/// Makes the program say something, and the library if it is loaded.
fn say(library: Option<*mut c_void>) {
    tracing::trace!(target: "plugin", "host");
    if let Some(library) = library {
        // SAFETY: the library is loaded.
        let says = unsafe { libc::dlsym(library, c"late_says".as_ptr()) };
        assert!(!says.is_null());
        // SAFETY: the library declares the function so.
        let says: extern "C" fn() = unsafe { std::mem::transmute(says) };
        says();
    }
}

fn main() {
    let filter = std::env::args().nth(1).unwrap();
    let format = tracing_subscriber::fmt().with_writer(std::io::stdout).without_time().with_ansi(false);
    format.with_env_filter(filter).init();
    jumplabel_agent::serve(jumplabel_tracing::layer()).unwrap();
    println!("ready");
    let mut library = None;
    for line in std::io::stdin().lines() {
        match &*line.unwrap() {
            "load" => library = Some(load()),
            "unload" => unload(library.take().unwrap()),
            "rebuild" => tracing_core::callsite::rebuild_interest_cache(),
            "say" => say(library),
            word => panic!("{word}"),
        }
        println!("done");
    }
}
