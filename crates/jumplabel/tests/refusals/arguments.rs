//! Makes system calls of one thread fail if an argument has a value.

use crate::seccomp::{Call, load};

/// From now on, `rt_sigprocmask` of this thread fails with `errno` if its first argument is an operation that does not exist.
pub fn deny_unknown_masks(errno: i32) {
    deny_with(libc::SYS_rt_sigprocmask, 0, u32::MAX, errno);
}

/// From now on, `futex` of this thread fails with `errno` if it is to take a lock with priority inheritance.
pub fn deny_locks_with_inheritance(errno: i32) {
    deny_with(libc::SYS_futex, 1, (libc::FUTEX_LOCK_PI | libc::FUTEX_PRIVATE_FLAG) as u32, errno);
}

/// From now on, the calls of this thread with this number fail with `errno` if the argument, counted from 0, is `value`.
fn deny_with(call: Call, argument: u32, value: u32, errno: i32) {
    let statement = |code: u32, k: u32, jf: u8| libc::sock_filter { code: code as u16, jt: 0, jf, k };
    let low_half = if cfg!(target_endian = "big") { 4 } else { 0 };
    let (word, equal) = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K);
    load(
        vec![
            statement(word, 0, 0),
            statement(equal, call as u32, 3),
            statement(word, 16 + 8 * argument + low_half, 0),
            statement(equal, value, 1),
            statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | errno as u32, 0),
            statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0),
        ],
        0,
    );
}
