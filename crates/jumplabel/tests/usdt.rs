//! Tracers: the contents of the notes of tracepoints, the arguments that a tracer gets, and that a tracepoint is on while there is a tracer or a
//! probe. With a tracer of this process's own everywhere, and with the kernel's uprobes where it allows them. (C and C++: `capi::usdt`.)
#![cfg(jumplabel_usdt)]

#[path = "usdt/callsite.rs"]
mod callsite;
#[path = "usdt/kernel.rs"]
mod kernel;
#[path = "usdt/note.rs"]
mod note;
#[cfg(target_arch = "x86_64")] // Not beside an emulator: they would take its process for the program.
#[path = "usdt/tools.rs"]
mod tools;
#[path = "usdt/tracer.rs"]
mod tracer;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use jumplabel::{emit, for_each_site, tracepoint, usdt};
use jumplabel_testing::scenario::{emulator, fork, passes, reap};
use note::{NOP, Note, PLACE};
use tracer::Tracer;

#[derive(Clone, Copy)]
struct Pair(u64, u64);

tracepoint! {
    /// Each sort of argument.
    seen, all(
        a: u8, b: i8, c: u16, d: i16, e: u32, f: i32, g: usize, h: isize, i: bool, j: char, k: &str, l: &[u32], m: &Pair, n: Option<&Pair>,
        o: *const u8, p: f64,
    );
    seen, whole(pair: Pair, object: &dyn Fn() -> u8);
    seen, none();
    watched, point(number: u32);
    net, packet(len: usize, port: u16, name: &str);
}

fn emit_all(pair: &'static Pair) {
    emit!(
        all,
        200,
        -3,
        60000,
        -300,
        4_000_000_000,
        -70000,
        usize::MAX,
        -1,
        true,
        'é',
        "hello",
        &[1, 2, 3],
        pair,
        None,
        std::ptr::null(),
        1.5
    );
}

/// The contents of the notes in the file.
#[test]
fn notes_say_where_arguments_are() {
    let notes = Note::all();
    let of = |name: &str| {
        let found: Vec<_> = notes.iter().filter(|note| note.is("seen", name)).collect();
        assert_eq!(found.len(), 1, "{name}: {notes:?}");
        found[0].arguments.as_str()
    };
    let places = |places: &[(i32, u32)]| {
        let place = |&(size, offset)| format!("{size}@{}{offset}{}", PLACE[0], PLACE[1]);
        places.iter().map(place).collect::<Vec<_>>().join(" ")
    };
    let numbers =
        [1, -1, 2, -2, 4, -4, 8, -8, 1, 4].iter().zip((0..).step_by(16)).map(|(&size, offset)| (size, offset));
    let others = [160, 168, 176, 184, 192, 208, 224, 240].map(|offset| (8, offset));
    let text = places(&numbers.chain(others).collect::<Vec<_>>());
    assert_eq!((of("all"), of("whole"), of("none")), (&*text, &*places(&[(8, 0), (8, 16)]), ""));
    for note in &notes {
        assert_eq!(note.nop(), NOP, "{note:?}");
        let is_of_callsite = note.semaphore == callsite::semaphore();
        assert!(note.base != 0 && note.semaphore_is_in_probes() != is_of_callsite, "{note:?}");
    }
    // In an ordinary build tools that look at files find them.
    let output = std::process::Command::new("readelf").arg("-nW").arg(std::env::current_exe().unwrap()).output();
    if let Ok(output) = output {
        let shown = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(shown.contains(&format!("Arguments: {text}")) && shown.contains("Provider: watched"), "{shown}");
    }
}

/// A tracer reads the arguments of each emission. If it makes a call of the nop, that call does not overwrite them.
#[test]
fn arguments_arrive() {
    passes(|| {
        static PAIR: Pair = Pair(5, 6);
        let tracer = Tracer::attach("seen", "all");
        assert_eq!(usdt::look().unwrap().traced, 1);
        for _ in 0..3 {
            emit_all(&PAIR);
            let found = tracer.taken();
            let pair = (&raw const PAIR) as u64;
            let signed = |number: i64| number as u64;
            let begin =
                [200, signed(-3), 60000, signed(-300), 4_000_000_000, signed(-70000), u64::MAX, u64::MAX, 1, 0xe9];
            assert_eq!((&found[..10], found[11], found[13]), (&begin[..], 5, 3));
            // SAFETY: the text and the numbers are constants.
            unsafe {
                assert_eq!(std::slice::from_raw_parts(found[10] as *const u8, 5), b"hello");
                assert_eq!(std::slice::from_raw_parts(found[12] as *const u32, 3), [1, 2, 3]);
            }
            assert_eq!(found[14..17], [pair, 0, 0]);
            assert_eq!(found.len(), 18);
        }
        drop(tracer);
        let tracer = Tracer::attach("seen", "whole");
        tracer.read_also(|words| unsafe {
            // SAFETY: the address of the argument, while it is one.
            let pair = words[0] as *const Pair;
            words.extend([(*pair).0, (*pair).1]);
        });
        assert_eq!(usdt::look().unwrap().traced, 1);
        emit!(whole, Pair(7, 8), &|| 1);
        assert_eq!(tracer.taken()[2..], [7, 8]);
        drop(tracer);
        let tracer = Tracer::attach("seen", "none");
        usdt::look().unwrap();
        emit!(none);
        assert!(tracer.taken().is_empty() && tracer.hits() == 1);
    });
}

/// A note whose words are below the stack pointer, where compilers keep them in a function that calls nothing: the tracer gets other words.
#[cfg(target_arch = "x86_64")] // No other has a red zone.
#[test]
fn twin_in_the_red_zone() {
    passes(|| assert!(!tracer::nop::arrive_in_the_red_zone()));
}

/// A tracepoint is on if there is a tracer, or if the program has a probe. Neither turns it off while the other needs it.
#[test]
fn beside_probes() {
    passes(|| {
        static HEARD: AtomicUsize = AtomicUsize::new(0);
        fn plain(number: u32) {
            HEARD.fetch_add(number as usize, Relaxed);
        }
        let is = |probes, heard, hits, tracer: Option<&Tracer>| {
            let before = (HEARD.load(Relaxed), tracer.map_or(0, Tracer::hits));
            emit!(point, 1);
            let after = (HEARD.load(Relaxed), tracer.map_or(0, Tracer::hits));
            assert_eq!((point.probes(), point.key().is_enabled()), (probes, probes != 0));
            assert_eq!((after.0 - before.0, after.1 - before.1), (heard, hits));
        };
        for kind in 0..2 {
            let add = || if kind == 0 { point.add(plain) } else { point.add_closure(Arc::new(plain)) }.unwrap();
            let look = |traced| assert_eq!(usdt::look().unwrap().traced, traced);
            is(0, 0, 0, None);
            // The tracer comes first, and leaves first.
            let tracer = Tracer::attach("watched", "point");
            is(0, 0, 0, Some(&tracer));
            look(1);
            is(1, 0, 1, Some(&tracer));
            let probe = add();
            is(2, 1, 1, Some(&tracer));
            look(1);
            is(2, 1, 1, Some(&tracer));
            drop(tracer);
            look(0);
            is(1, 1, 0, None);
            // This tracer comes second, and the probe leaves first.
            let tracer = Tracer::attach("watched", "point");
            look(1);
            is(2, 1, 1, Some(&tracer));
            probe.remove().unwrap();
            is(1, 0, 1, Some(&tracer));
            look(1);
            is(1, 0, 1, Some(&tracer));
            // A second tracer changes nothing.
            tracer.count(1);
            look(1);
            is(1, 0, 1, Some(&tracer));
            tracer.count(-1);
            look(1);
            is(1, 0, 1, Some(&tracer));
            drop(tracer);
            look(0);
            is(0, 0, 0, None);
        }
    });
}

/// A probe removes itself while it is called, and a tracer is attached.
#[test]
fn a_probe_removes_itself() {
    passes(|| {
        use std::sync::Mutex;
        static OWN: Mutex<Option<jumplabel::Probe<point>>> = Mutex::new(None);
        static CALLS: AtomicUsize = AtomicUsize::new(0);
        let tracer = Tracer::attach("watched", "point");
        usdt::look().unwrap();
        let closure = |_| {
            CALLS.fetch_add(1, Relaxed);
            let own = OWN.lock().unwrap().take();
            own.unwrap().remove().unwrap();
        };
        *OWN.lock().unwrap() = Some(point.add_closure(Arc::new(closure)).unwrap());
        (0..3).for_each(|_| emit!(point, 1));
        assert_eq!((CALLS.load(Relaxed), tracer.hits(), point.probes()), (1, 3, 1));
        drop(tracer);
        usdt::look().unwrap();
        assert!(!point.key().is_enabled());
    });
}

/// A refusal of the system is reported, changes nothing, and the call can be tried again.
#[test]
fn refused() {
    passes(|| {
        let mut front = 0;
        for_each_site(point.key(), |site| front = site.address).unwrap();
        let before: [u8; 1] = note::read(front);
        let tracer = Tracer::attach("watched", "point");
        // These bytes are somebody else's.
        note::write(front, &[0xcc]);
        let looked = usdt::look().unwrap();
        assert!(matches!(looked.error, Some(jumplabel::Error::ForeignBytes { .. })), "{looked:?}");
        assert_eq!((point.probes(), point.key().is_enabled()), (0, false));
        note::write(front, &before);
        let looked = usdt::look().unwrap();
        assert_eq!((looked.traced, looked.error, point.probes()), (1, None, 1));
        emit!(point, 1);
        assert_eq!(tracer.hits(), 1);
    });
}

/// The thread follows a tracer that comes and one that leaves. A child of fork has such a thread when it asks for it.
#[test]
fn watched() {
    fn follows() {
        usdt::watch().unwrap();
        usdt::watch().unwrap();
        for _ in 0..2 {
            let tracer = Tracer::attach("watched", "point");
            while !point.key().is_enabled() {
                std::thread::yield_now();
            }
            emit!(point, 1);
            assert_eq!(tracer.hits(), 1);
            drop(tracer);
            while point.key().is_enabled() {
                std::thread::yield_now();
            }
        }
    }
    passes(|| {
        follows();
        if emulator().is_some() {
            return; // Emulators end a child of fork that starts a thread.
        }
        reap(fork(|| {
            follows();
            true
        }));
    });
}

/// The numbers in docs/usdt.md: bytes, and the time of a look.
#[test]
#[ignore = "prints figures"]
fn figures() {
    emit!(packet, 60, 80, "eth0");
    println!("note: {} bytes", Note::of("net", "packet").bytes);
    let mut fastest = std::time::Duration::MAX;
    for _ in 0..1000 {
        let start = std::time::Instant::now();
        std::hint::black_box(usdt::look().unwrap());
        fastest = fastest.min(start.elapsed());
    }
    println!("look at {} tracepoints: {fastest:?}", usdt::look().unwrap().tracepoints);
}
