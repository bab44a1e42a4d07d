//! What only a program with keys can do.

use std::sync::atomic::Ordering;

use jumplabel::{WriterKind, for_each_site, set_writer};
use jumplabel_log::{callsites, enabled_changed, status};
use log::LevelFilter;
use log::keys::KEYED;

use crate::{ASKED, LOGGER, work};

/// How many sites of callsites of this target fall through, and how many jump: as they lie in memory.
fn sites(target: &str) -> (usize, usize) {
    let (mut through, mut jumping) = (0, 0);
    let visit = |callsite: &'static log::keys::Keyed| {
        if callsite.target() == Some(target) {
            let visited = for_each_site(callsite.key.raw(), |site| match format!("{:?}", site.state).as_str() {
                "Some(nop)" | "Some(test)" => through += 1,
                _ => jumping += 1,
            });
            assert!(visited.is_ok_and(|sites| sites > 0), "{:?}", callsite.place());
        }
    };
    KEYED.for_each(visit).unwrap();
    (through, jumping)
}

/// Keys follow the maximum level.
pub fn follow() {
    let before = status().unwrap();
    assert!(before.callsites > 20 && before.on == 0 && before.refused == 0, "{before:?}");
    let mut last = 0;
    for level in LevelFilter::iter() {
        log::set_max_level(level);
        let mut expected = 0;
        callsites(|callsite| expected += usize::from(callsite.level <= level)).unwrap();
        let now = status().unwrap();
        assert_eq!((now.callsites, now.on, now.error), (before.callsites, expected, None), "{level}");
        assert!(level == LevelFilter::Off || now.on > last, "{level}");
        last = now.on;
    }
    let (through, jumping) = sites("chatty");
    assert!(through == 0 && jumping > 8 && last == before.callsites, "{through} {jumping}");
    log::set_max_level(LevelFilter::Off);
    assert_eq!((status().unwrap().on, sites("chatty")), (0, (jumping, 0)));
    // A callsite says where it is.
    let mut found = 0;
    callsites(|callsite| {
        found += usize::from(
            callsite.target == Some("chatty") && callsite.file.ends_with("chatty/src/lib.rs") && callsite.line == 11,
        );
    })
    .unwrap();
    assert_eq!(found, 1);
    println!("ok");
}

/// The logger is asked, and callsites that it refuses cost a nop until it changes.
pub fn asked() {
    log::set_logger(&LOGGER).unwrap();
    *LOGGER.0.write().unwrap() = "elsewhere";
    log::set_max_level(LevelFilter::Trace);
    let all = status().unwrap();
    assert_eq!((all.on, all.refused), (all.callsites, 0));
    let known = enabled_changed().unwrap();
    let now = status().unwrap();
    assert!(now.on + now.refused == all.callsites && now.refused > 10 && known < all.callsites, "{now:?} {known}");
    assert!(sites("chatty").1 == 0 && sites("elsewhere").0 == 0);
    let before = ASKED.load(Ordering::SeqCst);
    chatty::one(2);
    assert_eq!(ASKED.load(Ordering::SeqCst), before, "nobody asks the logger about a callsite that it has refused");
    work();
    // A callsite whose target is computed is never refused.
    *LOGGER.0.write().unwrap() = "computed";
    enabled_changed().unwrap();
    work();
    // Another maximum level, and the logger is not taken at its word any more.
    *LOGGER.0.write().unwrap() = "chatty";
    log::set_max_level(LevelFilter::Trace);
    assert_eq!(status().unwrap().refused, 0);
    work();
}

/// From now on, the system refuses what the writer `mprotect` does, which is the only one.
fn forbid() {
    set_writer(Some(WriterKind::Mprotect));
    // SAFETY: no memory is written and executed from now on.
    assert_eq!(unsafe { libc::prctl(65, 1, 0, 0, 0) }, 0, "PR_SET_MDWE");
}

/// An error is told until keys have followed, even if they do so because the logger is asked.
pub fn recovers() {
    log::set_logger(&LOGGER).unwrap();
    log::set_max_level(LevelFilter::Trace);
    // The sites are prepared, so they load no key, and a flip needs a writer.
    forbid();
    log::set_max_level(LevelFilter::Off);
    let before = status().unwrap();
    assert!(before.error.is_some() && before.on == before.callsites, "{before:?}");
    assert!(enabled_changed().is_err() && status().unwrap().error.is_some());
    set_writer(Some(WriterKind::Procmem));
    enabled_changed().unwrap();
    let now = status().unwrap();
    assert_eq!((now.on, now.error), (0, None));
    println!("ok");
}

/// The system lets nobody write code: all works, by loads.
pub fn refused(level: &str) {
    forbid();
    assert!(jumplabel::probe().is_err());
    work();
    log::set_max_level(level.parse().unwrap());
    work();
    log::set_logger(&LOGGER).unwrap();
    work();
    log::set_max_level(LevelFilter::Off);
    work();
}
