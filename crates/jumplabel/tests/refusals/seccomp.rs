//! Makes system calls of one thread fail: for good, by a filter, or the k-th of a kind, by a filter that asks a second
//! thread for each call what to do (`SECCOMP_RET_USER_NOTIF`). Children of the filtered thread are filtered too.

use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

/// The fault that a call meets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// The call fails.
    Errno(i32),
    /// `pwrite` reports success and has written nothing.
    Lie,
    /// `pwrite` writes that many bytes less than it was asked for, and the rest is refused.
    Short(usize),
    /// Like the fault above, and the next `pwrite` is refused, too.
    Torn(usize),
    /// The call fails, and so does every later one.
    Everything(i32),
}

/// The number of a system call.
pub type Call = libc::c_long;

/// The calls that ask for memory, and for a file's status.
#[cfg(target_pointer_width = "64")]
pub use libc::{SYS_mmap as MMAP, SYS_newfstatat as STATUS};
#[cfg(target_pointer_width = "32")]
pub use libc::{SYS_mmap2 as MMAP, SYS_statx as STATUS};

/// Calls that begin with a descriptor, by which files are read and written that the library opens.
pub const OF_DESCRIPTORS: &[Call] = &[
    libc::SYS_ioctl,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_read,
    libc::SYS_openat,
    libc::SYS_getdents64,
    libc::SYS_fstatfs,
    #[cfg(target_pointer_width = "64")]
    libc::SYS_newfstatat,
];

/// All system calls that can give a core sync.
pub const CORE_SYNC: &[Call] = &[
    libc::SYS_membarrier,
    #[cfg(target_arch = "riscv64")]
    259, // riscv_flush_icache
];

/// From now on, the calls of this thread with these numbers fail with `errno`.
pub fn deny(calls: &[Call], errno: i32) {
    install(calls, libc::SECCOMP_RET_ERRNO | errno as u32, 0);
}

/// From now on, the calls of this thread with these numbers raise SIGSYS.
#[cfg(target_arch = "x86_64")]
pub fn trap(calls: &[Call]) {
    install(calls, libc::SECCOMP_RET_TRAP, 0);
}

/// Old calls, with the calls that do the same today: programs use either, if there are both.
const OLD: &[(Call, Call)] = &[
    #[cfg(not(any(target_arch = "aarch64", target_arch = "riscv64")))]
    (libc::SYS_open, libc::SYS_openat),
    #[cfg(not(any(target_arch = "aarch64", target_arch = "riscv64")))]
    (libc::SYS_stat, STATUS),
];

fn current(call: Call) -> Call {
    OLD.iter().find(|&&(old, _)| old == call).map_or(call, |&(_, new)| new)
}

fn install(calls: &[Call], action: u32, flags: libc::c_ulong) -> i32 {
    let old = OLD.iter().filter(|(_, new)| calls.contains(new)).map(|&(old, _)| old);
    let calls: Vec<Call> = calls.iter().copied().chain(old).collect();
    let statement = |code: u32, k: u32, jt: u8| libc::sock_filter { code: code as u16, jt, jf: 0, k };
    // The number of the call is the first word of what the filter sees.
    let mut program = vec![statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0)];
    for (at, &call) in calls.iter().enumerate() {
        let to_action = (calls.len() - at) as u8;
        program.push(statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, call as u32, to_action));
    }
    program.push(statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0));
    program.push(statement(libc::BPF_RET | libc::BPF_K, action, 0));
    load(program, flags)
}

/// From now on, this filter is asked for each call of this thread.
pub fn load(mut program: Vec<libc::sock_filter>, flags: libc::c_ulong) -> i32 {
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: a whole program, read by the kernel during the call.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let result = libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program);
        assert!(result >= 0, "seccomp: {}", std::io::Error::last_os_error());
        result as i32
    }
}

/// The plan that the second thread follows, in memory that children share.
struct Plan {
    /// The call that is counted; -1: none.
    call: AtomicI32,
    /// Calls with these ordinals, counted from 1, meet the fault.
    first: AtomicU32,
    last: AtomicU32,
    /// Calls whose bit is set meet the fault, too. Call 0 has bit 0.
    others: AtomicU64,
    /// The kind of the fault: 0 errno, 1 lie, 2 short, 3 everything, 4 torn. Then the number that belongs to it.
    fault: AtomicU32,
    number: AtomicI32,
    seen: AtomicU32,
    fired: AtomicU32,
    /// The address to which the rest of a short write would go.
    rest: AtomicU64,
    /// The lowest descriptor that a call has named.
    lowest: AtomicU32,
}

/// Faults for the thread that made this, and for its children.
#[derive(Clone, Copy)]
pub struct Faults(&'static Plan);

impl Faults {
    /// Filters this thread: `calls` can be made to fail from now on.
    pub fn new(calls: &[Call]) -> Faults {
        // SAFETY: a new mapping of zeros, which are a valid plan, never unmapped.
        let plan: &'static Plan = unsafe {
            let (read_write, shared) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
            let memory = libc::mmap(std::ptr::null_mut(), size_of::<Plan>(), read_write, shared, -1, 0);
            assert_ne!(memory, libc::MAP_FAILED);
            &*memory.cast()
        };
        plan.call.store(-1, Ordering::SeqCst);
        plan.lowest.store(u32::MAX, Ordering::SeqCst);
        static LISTENER: AtomicI32 = AtomicI32::new(-1);
        let (running, is_running) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            running.send(()).unwrap();
            while LISTENER.load(Ordering::SeqCst) < 0 {
                std::thread::yield_now();
            }
            answer(LISTENER.load(Ordering::SeqCst), plan);
        });
        // A thread that begins waits for the dynamic loader, and the thread that holds the loader's lock may wait for an answer.
        is_running.recv().unwrap();
        LISTENER.store(install(calls, libc::SECCOMP_RET_USER_NOTIF, FILTER_FLAG_NEW_LISTENER), Ordering::SeqCst);
        Faults(plan)
    }

    /// The calls with number `call` and ordinals `first` to `last`, counted from 1 and from now, meet `fault`.
    pub fn arm(&self, call: Call, first: u32, last: u32, fault: Fault) {
        let (kind, number) = match fault {
            Fault::Errno(errno) => (0, errno),
            Fault::Lie => (1, 0),
            Fault::Short(bytes) => (2, bytes as i32),
            Fault::Everything(errno) => (3, errno),
            Fault::Torn(bytes) => (4, bytes as i32),
        };
        self.0.others.store(0, Ordering::SeqCst);
        self.0.first.store(first, Ordering::SeqCst);
        self.0.last.store(last, Ordering::SeqCst);
        self.0.fault.store(kind, Ordering::SeqCst);
        self.0.number.store(number, Ordering::SeqCst);
        self.0.seen.store(0, Ordering::SeqCst);
        self.0.fired.store(0, Ordering::SeqCst);
        self.0.call.store(call as i32, Ordering::SeqCst);
    }

    /// The calls with number `call` whose bit is set in `pattern`, counted from bit 0 and from now, fail with `errno`.
    pub fn pattern(&self, call: Call, pattern: u64, errno: i32) {
        self.arm(call, u32::MAX, 0, Fault::Errno(errno));
        self.0.others.store(pattern, Ordering::SeqCst);
    }

    /// Counts the calls with number `call` from now, and lets all of them happen.
    pub fn count(&self, call: Call) {
        self.arm(call, u32::MAX, 0, Fault::Lie);
    }

    /// The number of calls since [`count`](Self::count) or [`arm`](Self::arm).
    pub fn seen(&self) -> u32 {
        self.0.seen.load(Ordering::SeqCst)
    }

    /// No more faults. Returns how many there were.
    pub fn disarm(&self) -> u32 {
        self.0.call.store(-1, Ordering::SeqCst);
        self.fired()
    }

    /// The lowest descriptor that a filtered call of [`OF_DESCRIPTORS`] has named.
    pub fn lowest(&self) -> u32 {
        self.0.lowest.load(Ordering::SeqCst)
    }

    /// The number of faults since [`arm`](Self::arm).
    pub fn fired(&self) -> u32 {
        self.0.fired.load(Ordering::SeqCst)
    }
}

const FILTER_FLAG_NEW_LISTENER: libc::c_ulong = 1 << 3;
const NOTIF_RECV: libc::c_ulong = 0xc050_2100;
const NOTIF_SEND: libc::c_ulong = 0xc018_2101;
const FLAG_CONTINUE: u32 = 1;

/// The second thread's work. It allocates nothing and takes no lock that the filtered thread could hold.
fn answer(listener: i32, plan: &Plan) {
    loop {
        // SAFETY: both structures are plain numbers, as large as the kernel's.
        unsafe {
            let mut call: libc::seccomp_notif = std::mem::zeroed();
            if libc::ioctl(listener, NOTIF_RECV as _, &raw mut call) != 0 {
                continue; // Somebody has killed the caller meanwhile.
            }
            let mut reply: libc::seccomp_notif_resp = std::mem::zeroed();
            reply.id = call.id;
            match judge(plan, &call.data) {
                None => reply.flags = FLAG_CONTINUE,
                Some(Ok(value)) => reply.val = value,
                Some(Err(errno)) => reply.error = -errno,
            }
            libc::ioctl(listener, NOTIF_SEND as _, &raw mut reply);
        }
    }
}

/// The result that a call gets instead. `None` lets the call happen.
fn judge(plan: &Plan, call: &libc::seccomp_data) -> Option<Result<i64, i32>> {
    if OF_DESCRIPTORS.contains(&call.nr.into()) {
        plan.lowest.fetch_min(call.args[0] as u32, Ordering::SeqCst);
    }
    let armed = Call::from(plan.call.load(Ordering::SeqCst));
    let number = plan.number.load(Ordering::SeqCst);
    let fault = plan.fault.load(Ordering::SeqCst);
    if armed >= 0 && fault == 3 && plan.fired.load(Ordering::SeqCst) > 0 {
        return Some(Err(number));
    }
    if current(call.nr.into()) != armed {
        return None;
    }
    let ordinal = plan.seen.fetch_add(1, Ordering::SeqCst) + 1;
    // An argument of 64 bits takes two registers if registers have 32, on arm an even and an odd one.
    let offset = if cfg!(target_arch = "arm") { 4 } else { 3 };
    let (length, address) = (call.args[2], call.args[offset]);
    if fault == 2 && plan.rest.swap(0, Ordering::SeqCst) == address {
        return Some(Err(libc::EIO));
    }
    let is_due = (plan.first.load(Ordering::SeqCst)..=plan.last.load(Ordering::SeqCst)).contains(&ordinal)
        || plan.others.load(Ordering::SeqCst).checked_shr(ordinal - 1).is_some_and(|bits| bits & 1 != 0);
    if fault == 4 && plan.rest.swap(0, Ordering::SeqCst) != 0 {
        return Some(Err(libc::EIO));
    }
    if !is_due || (matches!(fault, 2 | 4) && length <= number as u64) {
        return None;
    }
    plan.fired.fetch_add(1, Ordering::SeqCst);
    match fault {
        0 | 3 => Some(Err(number)),
        1 => Some(Ok(length as i64)),
        _ => {
            let part = length - number as u64;
            plan.rest.store(address + part, Ordering::SeqCst);
            // Only in one process: the caller's memory is this thread's, too.
            Some(Ok(write_memory(address as usize, call.args[1] as *const u8, part as usize) as i64))
        }
    }
}

/// Writes code of this process through a descriptor of its own, whoever is filtered.
pub fn write_memory(address: usize, bytes: *const u8, length: usize) -> isize {
    // SAFETY: the callers name bytes of theirs and code that may change.
    unsafe {
        let memory = libc::open(c"/proc/self/mem".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        let written = libc::pwrite64(memory, bytes.cast(), length, address as i64);
        libc::close(memory);
        written
    }
}
