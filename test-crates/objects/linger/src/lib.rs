//! Keeps the end of the process waiting, so that other threads go on running when the destructors of plugins that were loaded
//! before have run.

extern "C" fn linger() {
    std::thread::sleep(std::time::Duration::from_millis(300));
}

#[used]
#[unsafe(link_section = ".fini_array")]
static DESTRUCTOR: extern "C" fn() = linger;

/// So that the object is not empty.
#[unsafe(no_mangle)]
pub extern "C" fn linger_is_here() {}
