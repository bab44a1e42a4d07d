//! Tests of a thread that `TerminateThread` ends in the middle of a flip.

use std::os::windows::io::AsRawHandle;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::super::kernel32::{self, WAIT_OBJECT_0};
use super::*;

unsafe extern "system" {
    fn TerminateThread(thread: isize, code: u32) -> i32;
}

std::thread_local! {
    /// The number of points that this thread still passes. At the next one it stops.
    static LEFT: Cell<u32> = const { Cell::new(u32::MAX) };
}
/// Whether a thread has stopped.
static STOPPED: AtomicBool = AtomicBool::new(false);

/// A point in a flip: before each call that changes protections, before each store, and before each core sync.
pub(super) fn point() {
    match LEFT.get() {
        0 => {
            STOPPED.store(true, Ordering::Release);
            loop {
                thread::sleep(Duration::from_secs(1));
            }
        }
        u32::MAX => {}
        left => LEFT.set(left - 1),
    }
}

static_key! { static KEY: false; }

#[inline(never)]
fn checks() -> [bool; 2] {
    [static_branch_unlikely!(KEY), static_branch_unlikely!(KEY)]
}

/// The bytes of the key's two sites.
fn bytes(sites: &[usize]) -> Vec<[u8; 5]> {
    // SAFETY: each is the address of a site of five bytes.
    sites.iter().map(|site| unsafe { (*site as *const [u8; 5]).read_volatile() }).collect()
}

/// A flip from the nop takes three steps. Its thread is ended at each point, while another thread waits for the lock. That thread has to undo the
/// steps, to restore protections, and to flip.
#[test]
fn in_the_middle_of_a_flip() {
    let _one = one_at_a_time();
    let mut sites = Vec::new();
    assert_eq!(for_each_site(&KEY, |site| sites.push(site.address)), Ok(2));
    let (mut changed, mut opened, mut mixed) = (0, 0, 0);
    for points in 0.. {
        STOPPED.store(false, Ordering::Relaxed);
        let before = bytes(&sites);
        let victim = thread::spawn(move || {
            LEFT.set(points);
            KEY.enable().map(|outcome| outcome.primed)
        });
        while !STOPPED.load(Ordering::Acquire) && !victim.is_finished() {
            thread::yield_now();
        }
        if !STOPPED.load(Ordering::Acquire) {
            assert_eq!(victim.join().unwrap(), Ok(2));
            assert!(points > 13 && changed > 5 && opened > 10 && mixed == 1, "{points}: {changed} {opened} {mixed}");
            break;
        }
        let shown = checks(); // Each site has a whole instruction.
        mixed += u32::from(shown[0] != shown[1]);
        changed += u32::from(bytes(&sites) != before);
        opened += u32::from(Region::at(sites[0]).unwrap().protection != PAGE_EXECUTE_READ);
        let waiter = thread::spawn(|| KEY.disable().map(|outcome| outcome.sites));
        // As long as the thread lives, it has the lock, however long that takes.
        thread::sleep(Duration::from_millis(if points == 7 { 400 } else { 5 }));
        assert!(!waiter.is_finished());
        let handle = victim.as_raw_handle() as isize;
        // SAFETY: the thread sleeps in `point`. It holds no lock but the library's.
        unsafe {
            assert_ne!(TerminateThread(handle, 0), 0);
            assert_eq!(kernel32::WaitForSingleObject(handle, 10_000), WAIT_OBJECT_0);
        }
        core::mem::forget(victim); // The thread has no result that a join could return.
        let flipped = waiter.join().unwrap();
        let lock = Lock::take().unwrap();
        assert!(flipped.is_ok(), "after {points}: {flipped:?}");
        assert_eq!((checks(), KEY.is_enabled()), ([false; 2], false), "after {points}");
        assert_eq!(protection(sites[0], &lock), PAGE_EXECUTE_READ, "after {points}");
        drop(lock);
        // The next flip takes all steps again.
        assert_eq!(KEY.enable().map(|outcome| outcome.sites), Ok(2));
        assert_eq!(checks(), [true; 2]);
        KEY.disable().unwrap();
        crate::restore_pristine(&KEY).unwrap();
    }
    assert_eq!(checks(), [true; 2]);
}
