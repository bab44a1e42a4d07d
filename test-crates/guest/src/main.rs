//! The first process of a guest (cargo xtask guests): mounts what the tests look at, runs the programs that /list names, one to a line
//! with its arguments, and switches the machine off. The last line that it prints says whether all of them succeeded.

use std::ffi::CString;
use std::process::Command;

fn mount(kind: &str, at: &str) {
    std::fs::create_dir_all(at).expect("a directory in memory");
    let [kind, at] = [kind, at].map(|text| CString::new(text).expect("no zero"));
    // SAFETY: three strings, no options.
    let result = unsafe { libc::mount(kind.as_ptr(), at.as_ptr(), kind.as_ptr(), 0, std::ptr::null()) };
    assert_eq!(result, 0, "mount {kind:?}: {}", std::io::Error::last_os_error());
}

fn main() {
    if std::process::id() != 1 {
        return; // It is /bin/true as well, for the tests that start a program.
    }
    mount("proc", "/proc");
    mount("sysfs", "/sys");
    mount("devtmpfs", "/dev");
    mount("tmpfs", "/tmp");
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    // SAFETY: asks for a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    println!("guest: Linux {}, {processors} processors, pages of {page} bytes", release.trim());
    let list = std::fs::read_to_string("/list").expect("cargo xtask guests puts it there");
    let mut failed = 0;
    for line in list.lines() {
        let mut words = line.split_whitespace();
        let Some(program) = words.next() else { continue };
        let status = Command::new(program).args(words).status();
        println!("guest: {line}: {status:?}");
        failed += u32::from(!status.is_ok_and(|status| status.success()));
    }
    println!("guest: {failed} failed");
    // SAFETY: nothing is left to be lost.
    unsafe {
        libc::sync();
        libc::reboot(libc::RB_POWER_OFF);
    }
}
