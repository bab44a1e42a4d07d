//! Programs that were started without standard streams.

use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};

use jumplabel_agent::Options;
use jumplabel_testing::scenario::{fork, passes, reap};

use crate::client::{Client, Directory};
use crate::use_all;

/// The program prints all the time. None of that comes to a client, and no stream is open afterwards.
#[test]
fn closed() {
    passes(|| {
        for closed in [&[0, 1, 2][..], &[1], &[0, 2]] {
            let directory = Directory::new();
            let inner = directory.inner();
            let [(mut ready, mut started), (mut end, mut ends)] = [std::io::pipe().unwrap(), std::io::pipe().unwrap()];
            assert!(end.as_raw_fd() > 2);
            let child = fork(|| {
                use_all();
                // SAFETY: of this process, which prints nothing else.
                closed.iter().for_each(|&fd| assert_eq!(unsafe { libc::close(fd) }, 0));
                let socket = Options::new().directory(&inner).name("x").log(|_| {}).start();
                started.write_all(b".").unwrap();
                static HAS_ENDED: AtomicBool = AtomicBool::new(false);
                let printed = std::thread::spawn(|| {
                    let mut printed = 0;
                    while !HAS_ENDED.load(Ordering::Relaxed) {
                        for fd in [1, 2] {
                            let text = b"printed by the program\n";
                            // SAFETY: a text, and whatever has that number.
                            printed += i32::from(unsafe { libc::write(fd, text.as_ptr().cast(), text.len()) } > 0);
                        }
                    }
                    printed
                });
                end.read_exact(&mut [0]).unwrap();
                let is_open = |fd: &i32| std::fs::read_link(format!("/proc/self/fd/{fd}")).is_ok();
                let are_closed = !closed.iter().any(is_open);
                HAS_ENDED.store(true, Ordering::Relaxed);
                // A stream that is there has taken what was printed.
                let has_stream = [1, 2].iter().any(|fd| !closed.contains(fd));
                socket.is_ok() && are_closed && (printed.join().unwrap() > 0) == has_stream
            });
            ready.read_exact(&mut [0]).unwrap();
            let socket = inner.join(format!("x.{child}.sock"));
            let mut clients = Vec::new();
            for _ in 0..300 {
                clients.push(Client::new(&socket));
                clients.last_mut().unwrap().done("hello");
            }
            clients.iter_mut().rev().take(60).for_each(|client| drop(client.done("check net.trace=off")));
            ends.write_all(b".").unwrap();
            reap(child);
        }
    });
}
