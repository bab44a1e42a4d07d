//! Tracers by the kernel's uprobes, as `perf` and `bpftrace` set them: an event that names the nop and the semaphore.

use std::fs::File;
use std::io::{Error, Read, Write};
use std::os::fd::FromRawFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use jumplabel::{emit, tracepoint, usdt};
use jumplabel_testing::scenario::{fork, passes, wait_for};
use jumplabel_testing::stop::Stop;

use super::note::{NOP, Note, read};

tracepoint! {
    traced, hit(number: u32);
    traced, died();
    traced, flipped(number: u32);
}

/// `PERF_FLAG_FD_CLOEXEC` of linux/perf_event.h.
const CLOSE_ON_EXEC: i32 = 8;

/// Counts how often a thread of the process executes the nop. While this is open, the kernel has counted the semaphore up.
struct Event(File);

impl Event {
    /// `None` where the system does not let us, with a message.
    fn open(note: &Note, process: i32) -> Option<Event> {
        let kind = std::fs::read_to_string("/sys/bus/event_source/devices/uprobe/type");
        let Ok(kind) = kind.unwrap_or_default().trim().parse::<u32>() else {
            println!("no uprobes of the kernel here");
            return None;
        };
        let path = std::ffi::CString::new(std::env::current_exe().unwrap().to_str().unwrap()).unwrap();
        // struct perf_event_attr of linux/perf_event.h: type, size; config; four words; flags; two words; config1; config2.
        let mut attributes = [0u64; 16];
        attributes[0] = u64::from(kind) | 128 << 32;
        attributes[1] = note.semaphore_offset << 32;
        attributes[7] = path.as_ptr() as u64;
        attributes[8] = note.offset;
        // SAFETY: attributes of that size, and a path that lives as long as the call.
        let event =
            unsafe { libc::syscall(libc::SYS_perf_event_open, attributes.as_ptr(), process, -1, -1, CLOSE_ON_EXEC) };
        if event < 0 {
            println!("no uprobes of the kernel here, which need root: {}", Error::last_os_error());
            return None;
        }
        // SAFETY: a new descriptor.
        Some(Event(unsafe { File::from_raw_fd(event as i32) }))
    }

    fn count(&mut self) -> u64 {
        let mut bytes = [0; 8];
        self.0.read_exact(&mut bytes).unwrap();
        u64::from_le_bytes(bytes)
    }
}

fn semaphore(note: &Note) -> u16 {
    u16::from_le_bytes(read(note.semaphore))
}

/// A tracer comes, counts each emission, and leaves: the nop is as it was.
#[test]
fn counts_emissions() {
    passes(|| {
        let note = Note::of("traced", "hit");
        for _ in 0..3 {
            emit!(hit, 1);
            let Some(mut event) = Event::open(&note, 0) else { return };
            assert_eq!((semaphore(&note), usdt::look().unwrap().traced), (1, 1));
            assert!(hit.key().is_enabled());
            (0..10).for_each(|number| emit!(hit, number));
            assert_eq!(event.count(), 10);
            drop(event);
            while semaphore(&note) != 0 {
                std::thread::yield_now();
            }
            assert_eq!(usdt::look().unwrap().traced, 0);
            assert!(!hit.key().is_enabled());
            while note.nop() != NOP {
                std::thread::yield_now();
            }
        }
    });
}

/// A tracer that is killed: the kernel counts the semaphore down, and so the tracepoint goes off.
#[test]
fn a_tracer_dies() {
    passes(|| {
        let note = Note::of("traced", "died");
        let own = std::process::id() as i32;
        if Event::open(&note, own).is_none() {
            return;
        }
        let (mut attached, mut attaches) = std::io::pipe().unwrap();
        let tracer = fork(|| {
            let event = Event::open(&note, own);
            attaches.write_all(&[u8::from(event.is_some())]).unwrap();
            while event.is_some() {
                // SAFETY: waits to be killed.
                unsafe { libc::pause() };
            }
            false
        });
        let mut is_attached = [0];
        attached.read_exact(&mut is_attached).unwrap();
        assert_eq!(is_attached, [1]);
        usdt::look().unwrap();
        assert!(semaphore(&note) > 0 && died.key().is_enabled());
        emit!(died);
        // SAFETY: a child of ours.
        unsafe { libc::kill(tracer, libc::SIGKILL) };
        wait_for(tracer);
        while semaphore(&note) != 0 {
            std::thread::yield_now();
        }
        usdt::look().unwrap();
        assert!(!died.key().is_enabled() && died.probes() == 0);
        emit!(died);
    });
}

/// Tracers come and leave while another thread adds and removes a probe, others emit, and a third one looks: each emission of a thread with a
/// probe of its own is heard.
#[test]
fn while_the_key_flips() {
    passes(|| {
        static HEARD: AtomicUsize = AtomicUsize::new(0);
        let note = Note::of("traced", "flipped");
        let stop = AtomicBool::new(false);
        let running = || !stop.load(Relaxed);
        let mut tracers = 0;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while running() {
                    let before = HEARD.load(Relaxed);
                    let probe = flipped.add(|number| _ = HEARD.fetch_add(number as usize, Relaxed)).unwrap();
                    emit!(flipped, 1);
                    assert_ne!(HEARD.load(Relaxed), before);
                    probe.remove().unwrap();
                }
            });
            scope.spawn(|| {
                while running() {
                    emit!(flipped, 0)
                }
            });
            scope.spawn(|| {
                while running() {
                    assert_eq!(usdt::look().unwrap().error, None);
                }
            });
            let _stop = Stop(&stop);
            for _ in 0..20 {
                let Some(mut event) = Event::open(&note, 0) else { return };
                while event.count() == 0 {
                    emit!(flipped, 0);
                }
                tracers += 1;
            }
        });
        usdt::look().unwrap();
        while semaphore(&note) != 0 {
            std::thread::yield_now();
        }
        usdt::look().unwrap();
        emit!(flipped, 0);
        assert!(!flipped.key().is_enabled() && flipped.probes() == 0);
        println!("{tracers} tracers");
    });
}
