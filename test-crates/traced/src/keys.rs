//! What only a program with keys can do.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use jumplabel::{WriterKind, for_each_site, set_writer};
use jumplabel_tracing::{Error, control, status};
use tracing::subscriber::set_global_default;
use tracing::{Level, Metadata};
use tracing_core::callsite::{keys, rebuild_interest_cache};
use tracing_subscriber::filter::{EnvFilter, LevelFilter, dynamic_filter_fn};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::{Registry, reload};

use crate::{subscriber, work};

/// How many sites of callsites of this target fall through, and how many jump: as they lie in memory.
fn sites(target: &str) -> (usize, usize) {
    let (mut through, mut jumping) = (0, 0);
    let _ = keys::KEYED.for_each(|callsite| {
        if callsite.meta().target() == target {
            let visited = for_each_site(callsite.key.raw(), |site| match format!("{:?}", site.state).as_str() {
                "Some(nop)" | "Some(test)" => through += 1,
                _ => jumping += 1,
            });
            assert!(visited.is_ok_and(|sites| sites > 0), "{:?}", callsite.meta());
        }
    });
    (through, jumping)
}

/// Keys follow filters.
pub fn follow() {
    let before = status().unwrap();
    assert!(before.callsites > 20 && before.on == 0 && before.shown == 0, "{before:?}");
    let (filter, handle) = reload::Layer::new(LevelFilter::OFF);
    set_global_default(Registry::default().with(filter)).unwrap();
    let all = before.callsites;
    let (through, jumping) = sites("noisy");
    assert!(through > 10 && jumping == 0, "{through} {jumping}");
    let mut last = 0;
    for level in [LevelFilter::OFF, LevelFilter::WARN, LevelFilter::INFO, LevelFilter::DEBUG, LevelFilter::TRACE] {
        handle.reload(level).unwrap();
        work();
        let mut expected = 0;
        keys::KEYED.for_each(|callsite| expected += usize::from(*callsite.meta().level() <= level)).unwrap();
        let now = status().unwrap();
        assert_eq!((now.callsites, now.on, now.error), (all, expected, None), "{level}");
        assert!(level == LevelFilter::OFF || now.on > last);
        last = now.on;
    }
    assert_eq!((last, sites("noisy")), (all, (0, through)));
    handle.reload(LevelFilter::OFF).unwrap();
    assert_eq!((status().unwrap().on, sites("noisy")), (0, (through, 0)));
    println!("ok");
}

/// After a reload as in a new program, a narrow filter leaves off what it does not want, and nobody has reached a callsite before.
pub fn narrow() {
    let (filter, handle) = reload::Layer::new(EnvFilter::new("off"));
    set_global_default(Registry::default().with(filter)).unwrap();
    let wanted = |other: &str| {
        let mut wanted = 0;
        let is_wanted = |meta: &Metadata<'_>| *meta.level() <= Level::INFO || meta.target() == other;
        keys::KEYED.for_each(|callsite| wanted += usize::from(is_wanted(callsite.meta()))).unwrap();
        wanted
    };
    let on = |target: &str| (status().unwrap().on, wanted(target));
    for other in ["other", "elsewhere"] {
        handle.reload(EnvFilter::new(format!("info,{other}=trace"))).unwrap();
        let (on, wanted) = on(other);
        assert!(on == wanted && wanted > 5 && wanted < status().unwrap().callsites / 2, "{other}: {on} {wanted}");
        work();
        assert_eq!(status().unwrap().on, wanted, "{other}, reached");
    }
    println!("ok");
}

static REACHED: Mutex<Vec<&str>> = Mutex::new(Vec::new());

/// A probe of `tracing:reached` is told of events and spans of all levels, those of `#[instrument]` included. A subscriber sees none of them.
pub fn reached() {
    set_global_default(Registry::default().with(Displays).with(LevelFilter::OFF)).unwrap();
    let names = || {
        noisy::spanned(2);
        std::mem::take(&mut *REACHED.lock().unwrap())
    };
    assert_eq!(names().len(), 0);
    let probe = keys::reached.add(|_, name, _, _, _, _| REACHED.lock().unwrap().push(name)).unwrap();
    rebuild_interest_cache();
    let reached = names();
    assert!(reached.len() == 3 && reached[0] == "spanned", "{reached:?}");
    probe.remove().unwrap();
    rebuild_interest_cache();
    assert_eq!((names().len(), status().unwrap().on, keys::ANY_MARKED.is_enabled()), (0, 0, false));
    assert_eq!(SEEN.load(SeqCst), 0);
    println!("ok");
}

/// A layer that refuses each event when it happens.
struct Refuses;

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Refuses {
    fn event_enabled(&self, _: &tracing::Event<'_>, _: tracing_subscriber::layer::Context<'_, S>) -> bool {
        false
    }
}

/// Events that are shown pass the filters of single layers, too; but a layer's `event_enabled` refuses them, as it does with all events.
pub fn layers() {
    let shown = |made: tracing::Dispatch| {
        tracing::dispatcher::with_default(&made, || {
            let seen = |control: &str| {
                jumplabel_tracing::control(control).unwrap();
                noisy::one(2);
                SEEN.swap(0, SeqCst)
            };
            [seen("-p"), seen("target noisy +p"), seen("-p")]
        })
    };
    let made = Registry::default().with(Displays.with_filter(EnvFilter::new("off")));
    assert_eq!(shown(made.into()), [0, 1, 0]);
    let made = Registry::default().with(Displays.with_filter(EnvFilter::new("off")));
    assert_eq!(shown(made.with(Displays.with_filter(EnvFilter::new("info"))).into()), [0, 2, 0]);
    let made = Registry::default().with(Displays.with_filter(EnvFilter::new("off")));
    assert_eq!(shown(made.with(Refuses).into()), [0, 0, 0]);
    println!("ok");
}

/// Callsites are shown although the filter says no. All else stays off.
pub fn shows() {
    assert_eq!(control("target nowhere +p"), Err(Error::NoCallsite));
    assert!(matches!(control("module noisy +x"), Err(Error::Query(_))));
    set_global_default(subscriber("off")).unwrap();
    work();
    // By their texts: with fields in front and behind, with values in it, and a part of it.
    let texts = ["one", "^in {", "tex", "formatted {}", "^what comes of a ", "^costli", "root", "^generic"];
    let chosen = texts.map(|text| control(&format!("format \"{text}\" -p")));
    assert!(chosen == [1, 1, 1, 1, 1, 1, 1, 1].map(Ok), "{chosen:?}");
    assert_eq!(control("format ^ormatted -p"), Err(Error::NoCallsite));
    println!("{:?}", control("module noisy func named +p; target elsewhere +p"));
    work();
    println!("{:?} {}", control("file noisy/src/lib.rs line 1-12 level trace +p").map(drop), status().unwrap().shown);
    work();
    println!(
        "{:?} {:?}",
        control("-p").map(|matches| matches == status().unwrap().callsites),
        status().map(|now| (now.on, now.shown))
    );
    work();
}

/// The system lets nobody write code: all works, by loads.
pub fn refused(filter: &str) {
    set_writer(Some(WriterKind::Mprotect));
    // SAFETY: no memory is written and executed from now on.
    assert_eq!(unsafe { libc::prctl(65, 1, 0, 0, 0) }, 0, "PR_SET_MDWE");
    assert!(jumplabel::probe().is_err());
    work();
    set_global_default(subscriber(filter)).unwrap();
    work();
}

static ASKED: AtomicUsize = AtomicUsize::new(0);
static SEEN: AtomicUsize = AtomicUsize::new(0);
static TOLD: AtomicUsize = AtomicUsize::new(0);

/// Displays all fields, and counts events.
struct Displays;

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Displays {
    fn on_event(&self, event: &tracing::Event<'_>, _: tracing_subscriber::layer::Context<'_, S>) {
        event.record(&mut |_: &tracing_core::Field, value: &dyn std::fmt::Debug| drop(format!("{value:?}")));
        SEEN.fetch_add(1, SeqCst);
    }
}

/// Panics if it is displayed a second time.
struct Once(std::cell::Cell<bool>);

impl std::fmt::Display for Once {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        assert!(!self.0.replace(true), "a value of this test is displayed twice");
        Ok(())
    }
}

/// A filter is asked once for each event, whether somebody follows or not. A subscriber displays values before the follower does. A child of a
/// fork is not followed.
pub fn followed() {
    let filter = dynamic_filter_fn(|meta, _| meta.target() != "noisy" || ASKED.fetch_add(1, SeqCst) % 2 == 1);
    set_global_default(Registry::default().with(Displays).with(filter)).unwrap();
    let told = |_: &'static keys::Keyed, values: &dyn Fn(&mut dyn tracing_core::field::Visit)| {
        TOLD.fetch_add(1, SeqCst);
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            values(&mut |_: &tracing_core::Field, value: &dyn std::fmt::Debug| drop(format!("{value:?}")));
        }));
    };
    let counts = || {
        (0..100).for_each(|x| drop(noisy::one(x)));
        [&ASKED, &SEEN, &TOLD].map(|count| count.swap(0, SeqCst))
    };
    for _ in 0..2 {
        assert_eq!(counts(), [100, 50, 0]);
        keys::follow(told, |callsite| Some(callsite.meta().target() != "traced")).unwrap();
        assert_eq!(counts(), [100, 50, 100]);
        std::panic::set_hook(Box::new(|_| ()));
        tracing::info!(target: "once", x = %Once(false.into()));
        let _ = std::panic::take_hook();
        assert_eq!([&ASKED, &SEEN, &TOLD].map(|count| count.swap(0, SeqCst)), [0, 1, 1]);
        // SAFETY: the child does nothing but what the parent does, and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: ends the child.
            unsafe { libc::_exit(i32::from(counts() != [100, 50, 0])) };
        }
        let mut status = 1;
        // SAFETY: a place for the status of the child.
        assert!(unsafe { libc::waitpid(child, &raw mut status, 0) } == child && status == 0, "{status}");
        keys::follow(told, |_| Some(false)).unwrap();
    }
    println!("ok");
}
