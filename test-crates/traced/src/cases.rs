//! What a program may do with tracing, with keys or without.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use jumplabel::{static_branch_unlikely, static_key};
use tracing::subscriber::{Interest, set_global_default, with_default};
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::{Layer, Registry, reload};

use crate::{subscriber, work};

struct Logger;

impl log::Log for Logger {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }
    fn log(&self, record: &log::Record<'_>) {
        println!("log: {} {} {}", record.level(), record.target(), record.args());
    }
    fn flush(&self) {}
}

/// Events go to `log` until there is a subscriber, if the feature `log` is on.
pub fn log(filter: &str) {
    log::set_logger(&Logger).unwrap();
    log::set_max_level(log::LevelFilter::Trace);
    work();
    let made = tracing::Dispatch::new(subscriber(filter));
    // It is made, and nobody uses it. (Upstream's callsites that are reached now are never enabled later, so no other one is.)
    tracing::error!("made");
    tracing::dispatcher::with_default(&made, work);
    work();
}

/// Counts events. What it does besides, it does in `register_callsite`.
#[derive(Clone, Default)]
struct Counting {
    events: Arc<AtomicUsize>,
    at_registration: Option<fn()>,
}

impl Counting {
    fn events(&self) -> usize {
        self.events.load(Ordering::SeqCst)
    }
}

impl<S: Subscriber> Layer<S> for Counting {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        if let Some(act) = self.at_registration {
            act();
        }
        Interest::always()
    }
    fn on_event(&self, _: &Event<'_>, _: Context<'_, S>) {
        self.events.fetch_add(1, Ordering::SeqCst);
    }
}

/// Four threads with a subscriber of their own each, which comes and goes: each gets its own events, all of them.
pub fn scoped() {
    let threads: Vec<_> = (1..=4_usize)
        .map(|number| {
            std::thread::spawn(move || {
                for _ in 0..200 {
                    let counting = Counting::default();
                    with_default(Registry::default().with(counting.clone()), || {
                        (0..number * 10).for_each(|x| assert_eq!(noisy::one(x as u64), x as u64 * 3));
                    });
                    assert_eq!(counting.events(), number * 10);
                    noisy::one(1); // To nobody.
                    assert_eq!(counting.events(), number * 10);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    println!("ok");
}

static_key! { static FLIPPED: false; }

/// A layer that logs, and flips a key, while callsites are registered.
pub fn flips() {
    let counting = Counting {
        at_registration: Some(|| {
            tracing::trace!("a callsite is registered");
            if static_branch_unlikely!(FLIPPED) { FLIPPED.disable() } else { FLIPPED.enable() }.unwrap();
        }),
        ..Counting::default()
    };
    set_global_default(Registry::default().with(counting.clone())).unwrap();
    work();
    let first = counting.events();
    work();
    // What was registered on the way may have said more the first time.
    let second = counting.events() - first;
    assert!(second > 10 && first >= second, "{first} {second}");
    println!("ok");
}

/// A subscriber that panics while a callsite is registered: where a thread reaches it, and not when another subscriber is made. The next one gets all
/// events.
pub fn panics() {
    std::panic::set_hook(Box::new(|_| ()));
    let counting = Counting { at_registration: Some(|| panic!("no")), ..Counting::default() };
    let panicking = tracing::Dispatch::new(Registry::default().with(counting));
    let caught = |run: &dyn Fn()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
    let counted = |events: u64| {
        let counting = Counting::default();
        let seen = caught(&|| {
            with_default(Registry::default().with(counting.clone()), || (0..events).for_each(|x| _ = noisy::one(x)));
        });
        println!("{} {}", seen.is_ok(), counting.events());
    };
    counted(0);
    let reached = caught(&|| tracing::dispatcher::with_default(&panicking, || _ = noisy::one(1)));
    println!("{}", reached.is_ok());
    drop(panicking);
    counted(10);
}

/// A filter that is reloaded 2,000 times beside a thread that says things.
pub fn reloads() {
    let counting = Counting::default();
    let (filter, handle) = reload::Layer::new(LevelFilter::OFF);
    set_global_default(Registry::default().with(counting.clone()).with(filter)).unwrap();
    static ENDS: AtomicBool = AtomicBool::new(false);
    let beside = std::thread::spawn(|| {
        while !ENDS.load(Ordering::Relaxed) {
            noisy::generic(1);
        }
    });
    fn own() {
        tracing::error!("own");
    }
    for round in 0..2000 {
        // Only this thread says errors.
        handle.reload(LevelFilter::ERROR).unwrap();
        let before = counting.events();
        own();
        assert_eq!(counting.events(), before + 1, "round {round}: an event is lost");
        handle.reload(LevelFilter::OFF).unwrap();
        own();
        assert_eq!(counting.events(), before + 1, "round {round}: an event of nobody's");
    }
    handle.reload(LevelFilter::DEBUG).unwrap();
    let before = counting.events();
    while counting.events() < before + 1000 {
        std::hint::spin_loop();
    }
    ENDS.store(true, Ordering::Relaxed);
    beside.join().unwrap();
    println!("ok");
}

/// A child has another subscriber than its parent.
pub fn forks() {
    let counting = Counting::default();
    let _guard = tracing::subscriber::set_default(Registry::default().with(counting.clone()));
    noisy::one(1);
    // SAFETY: there is one thread.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let own = Counting::default();
        with_default(Registry::default().with(own.clone()), || _ = noisy::one(1));
        let is_right = own.events() == 1 && counting.events() == 1;
        // SAFETY: ends the child.
        unsafe { libc::_exit(i32::from(!is_right)) };
    }
    let mut status = 0;
    // SAFETY: waits for the child.
    assert_eq!((unsafe { libc::waitpid(child, &mut status, 0) }, status), (child, 0));
    noisy::one(1);
    assert_eq!(counting.events(), 2);
    println!("ok");
}

/// The only subscriber is the default of this thread, and another thread reloads its filter. This thread's events arrive, also of callsites that
/// nobody has reached before.
pub fn elsewhere() {
    let events: [(LevelFilter, fn()); 2] =
        [(LevelFilter::OFF, || _ = noisy::one(1)), (LevelFilter::TRACE, || noisy::generic(1))];
    for (first, event) in events {
        let counting = Counting::default();
        let (filter, handle) = reload::Layer::new(first);
        with_default(Registry::default().with(counting.clone()).with(filter), || {
            std::thread::scope(|scope| _ = scope.spawn(|| handle.reload(LevelFilter::TRACE).unwrap()));
            event();
        });
        assert_eq!(counting.events(), 1, "{first}");
    }
    println!("ok");
}

/// Another thread rebuilds interests while this thread makes the only subscriber, which is asked about callsites just then. Its events arrive.
pub fn meanwhile() {
    struct Rebuilds(AtomicBool);
    impl<S: Subscriber> Layer<S> for Rebuilds {
        fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
            // Not for the questions of that rebuild.
            if !self.0.swap(true, Ordering::Relaxed) {
                std::thread::spawn(tracing::callsite::rebuild_interest_cache).join().unwrap();
                self.0.store(false, Ordering::Relaxed);
            }
            Interest::always()
        }
    }
    let counting = Counting::default();
    with_default(Registry::default().with(counting.clone()).with(Rebuilds(AtomicBool::new(false))), || {
        noisy::one(1);
        noisy::generic(1);
    });
    assert_eq!(counting.events(), 2);
    println!("ok");
}
