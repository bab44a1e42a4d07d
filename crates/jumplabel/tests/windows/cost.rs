//! Compares the cost of a flip with the cost of the system calls that it needs.

use std::ffi::c_void;
use std::time::{Duration, Instant};

use jumplabel::{for_each_site, static_branch_unlikely, static_key};
use jumplabel_testing::scenario::passes;

#[link(name = "kernel32")]
unsafe extern "system" {
    fn VirtualProtect(address: *mut c_void, bytes: usize, protection: u32, old: *mut u32) -> i32;
    safe fn GetCurrentProcess() -> isize;
    fn FlushInstructionCache(process: isize, address: *const c_void, bytes: usize) -> i32;
    safe fn FlushProcessWriteBuffers();
}

const EXECUTE_READ: u32 = 0x20;
const EXECUTE_READWRITE: u32 = 0x40;

static_key! { static KEY: false; }

#[inline(never)]
fn check() -> bool {
    static_branch_unlikely!(KEY)
}

/// Runs `body`, and keeps the shortest time that it has taken.
fn shortest(shortest: &mut Duration, body: impl FnOnce()) {
    let start = Instant::now();
    body();
    *shortest = start.elapsed().min(*shortest);
}

/// Compares a flip, which is not the first one of its site, with the system calls and the store that it makes, made without the library.
#[test]
fn a_flip_beside_its_system_calls() {
    passes(|| {
        KEY.enable().unwrap();
        let mut site = 0;
        for_each_site(&KEY, |one| site = one.address).unwrap();
        let [mut bare, mut flip] = [Duration::MAX; 2];
        const EACH: usize = 100;
        for _ in 0..100 {
            shortest(&mut bare, || {
                for _ in 0..EACH {
                    let mut old = 0;
                    // SAFETY: the address is that of a site of this test. Nobody runs it meanwhile, and it gets the byte that it has.
                    unsafe {
                        assert_ne!(VirtualProtect(site as *mut c_void, 1, EXECUTE_READWRITE, &raw mut old), 0);
                        (site as *mut u8).write_volatile((site as *const u8).read_volatile());
                        FlushInstructionCache(GetCurrentProcess(), site as *const c_void, 1);
                        FlushProcessWriteBuffers();
                        assert_ne!(VirtualProtect(site as *mut c_void, 1, EXECUTE_READ, &raw mut old), 0);
                    }
                }
            });
            shortest(&mut flip, || {
                for round in 0..EACH {
                    if round % 2 == 0 { KEY.disable() } else { KEY.enable() }.unwrap();
                }
            });
        }
        assert!(check());
        let ratio = flip.as_secs_f64() / bare.as_secs_f64();
        println!("a flip: {:?}, bare: {:?}, {ratio:.2} times", flip / EACH as u32, bare / EACH as u32);
        assert!(ratio < if cfg!(debug_assertions) { 4.0 } else { 2.0 }, "{ratio}");
    });
}
