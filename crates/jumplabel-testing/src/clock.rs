//! Processors and time: where a thread may run, how much processor time it has used, and page faults on purpose.

/// Processor time of this thread, in nanoseconds.
pub fn thread_nanos() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: every thread has this clock, and `time` is a place for its value.
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) }, 0);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The processors that this thread may run on.
pub fn processors() -> Vec<usize> {
    // SAFETY: all zeros is an empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the call gets a set and the set's size.
    assert_eq!(unsafe { libc::sched_getaffinity(0, size_of_val(&set), &raw mut set) }, 0);
    // SAFETY: `processor` is below the number of processors that a set has.
    (0..libc::CPU_SETSIZE as usize).filter(|&processor| unsafe { libc::CPU_ISSET(processor, &set) }).collect()
}

/// Makes this thread run on `processors` only.
pub fn move_to(processors: &[usize]) {
    // SAFETY: all zeros is an empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for &processor in processors {
        // SAFETY: `processor` comes from `processors`, so it is one that a set has.
        unsafe { libc::CPU_SET(processor, &mut set) };
    }
    // SAFETY: the call gets a set and the set's size. A refusal (a processor that went away) leaves the thread where it is.
    unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) };
}

/// Causes page faults, and interrupts to other processors: maps memory, touches it and unmaps it.
pub fn fault() {
    const PAGES: usize = 8;
    // SAFETY: the mapping is fresh and private. All writes are within its `size` bytes, and `munmap` gets the same size.
    unsafe {
        let size = PAGES * libc::sysconf(libc::_SC_PAGESIZE) as usize;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let memory = libc::mmap(std::ptr::null_mut(), size, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        assert_ne!(memory, libc::MAP_FAILED);
        for page in 0..PAGES {
            memory.cast::<u8>().add(page * size / PAGES).write_volatile(1);
        }
        libc::munmap(memory, size);
    }
}
