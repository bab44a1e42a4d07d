//! Keys whose last `dec` waits: rate limit, absorbed decs, whoever comes or goes before the deadline, flush, children of fork.

#[path = "deferred/worker.rs"]
mod worker;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jumplabel::platform::{Held, Summary, WriterList, builtin};
use jumplabel::{Batch, DeferredKey, Error, static_branch_unlikely, static_key};

use crate::scenario::passes;
use crate::twin::{self, Twin};

const INTERVAL: Duration = Duration::from_millis(200);

static_key! {
    static SLOW: false, deferred super::INTERVAL;
    static NEVER: false, deferred core::time::Duration::from_secs(3600);
    static AT_ONCE: false, deferred core::time::Duration::ZERO;
    static OTHER: true;
}

static MANY_LATE: [DeferredKey<false>; 4] = [const { DeferredKey::new(Duration::from_secs(3600)) }; 4];

#[inline(never)]
fn slow() -> bool {
    static_branch_unlikely!(SLOW)
}

#[inline(never)]
fn never() -> bool {
    static_branch_unlikely!(NEVER)
}

#[inline(never)]
fn at_once() -> bool {
    static_branch_unlikely!(AT_ONCE)
}

#[inline(never)]
fn other() -> bool {
    static_branch_unlikely!(OTHER)
}

fn wait_until(what: impl Fn() -> bool) {
    let start = Instant::now();
    while !what() {
        assert!(start.elapsed() < Duration::from_secs(60), "waited in vain");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn the_last_dec_waits() {
    passes(|| {
        assert_eq!(SLOW.dec_deferred(), Err(Error::Underflow));
        SLOW.inc().unwrap();
        SLOW.inc().unwrap();
        SLOW.dec_deferred().unwrap();
        assert!(SLOW.count() == 1 && slow());
        let start = Instant::now();
        // The first dec becomes due; the others are absorbed.
        for _ in 0..3 {
            SLOW.dec_deferred().unwrap();
        }
        assert!(start.elapsed() > INTERVAL || (SLOW.count() == 1 && slow()));
        wait_until(|| SLOW.count() == 0);
        assert!(start.elapsed() >= INTERVAL && !slow());
        assert_eq!(SLOW.dec_deferred(), Err(Error::Underflow));
        assert_eq!(SLOW.flush(), Ok(None));
        SLOW.seal().unwrap();
        assert_eq!(SLOW.dec_deferred(), Err(Error::Sealed));
    });
}

#[test]
fn an_inc_before_the_deadline() {
    passes(|| {
        SLOW.inc().unwrap();
        SLOW.dec_deferred().unwrap();
        SLOW.inc().unwrap();
        wait_until(|| SLOW.count() == 1);
        std::thread::sleep(2 * INTERVAL);
        assert!(SLOW.count() == 1 && slow());
        SLOW.dec().unwrap();
        assert!(!slow());
    });
}

/// Whoever turns the key on while a dec is due takes the place of the user that has left: the key stays on.
#[test]
fn enable_while_a_dec_is_due() {
    passes(|| {
        SLOW.inc().unwrap();
        SLOW.dec_deferred().unwrap();
        SLOW.enable().unwrap();
        std::thread::sleep(2 * INTERVAL);
        assert!(SLOW.count() == 1 && slow(), "the enabler's key is off");
        assert_eq!(SLOW.flush(), Ok(None));
        // A batch does the same, and a dec that is deferred afterwards is due again.
        SLOW.dec_deferred().unwrap();
        Batch::new().enable(&SLOW).commit().unwrap();
        assert!(SLOW.flush() == Ok(None) && slow());
        SLOW.dec_deferred().unwrap();
        wait_until(|| SLOW.count() == 0);
        assert!(!slow());
        NEVER.inc().unwrap();
        NEVER.dec_deferred().unwrap();
        assert!(NEVER.enable().unwrap().sites == 0 && NEVER.flush() == Ok(None) && never());
        NEVER.disable().unwrap();
        // With another user, the key has several users, as without a dec that is due.
        NEVER.inc().unwrap();
        NEVER.dec_deferred().unwrap();
        NEVER.inc().unwrap();
        assert_eq!(NEVER.enable(), Err(Error::Counted { count: 2 }));
        assert_eq!(NEVER.disable(), Err(Error::Counted { count: 2 }));
        assert!(NEVER.flush().unwrap().is_some() && NEVER.count() == 1 && never());
    });
}

/// Whoever turns the key off counts off the user that has left: somebody who comes later cannot lose it.
#[test]
fn off_while_a_dec_is_due() {
    passes(|| {
        let offs: [fn(); 3] = [
            || assert_eq!(NEVER.disable().unwrap().sites, 1),
            || assert_eq!(NEVER.dec().unwrap().sites, 1),
            || assert_eq!(Batch::new().disable(&NEVER).commit().unwrap().sites, 1),
        ];
        for off in offs {
            NEVER.inc().unwrap();
            NEVER.dec_deferred().unwrap();
            off();
            assert!(NEVER.count() == 0 && !never());
            NEVER.inc().unwrap();
            assert_eq!(NEVER.flush(), Ok(None));
            assert!(NEVER.count() == 1 && never(), "a user's key is off");
            NEVER.dec().unwrap();
        }
    });
}

/// A sealed key has the users that still exist. A user that has left is not counted any more.
#[test]
fn sealed_while_a_dec_is_due() {
    passes(|| {
        NEVER.inc().unwrap();
        NEVER.dec_deferred().unwrap();
        NEVER.seal().unwrap();
        assert!(NEVER.is_sealed() && NEVER.count() == 0 && !never(), "sealed on for ever");
        assert_eq!(NEVER.flush(), Ok(None));
        SLOW.inc().unwrap();
        SLOW.dec_deferred().unwrap();
        SLOW.inc().unwrap();
        SLOW.seal().unwrap();
        assert!(SLOW.is_sealed() && SLOW.count() == 1 && slow());
        std::thread::sleep(2 * INTERVAL);
        assert!(SLOW.count() == 1 && slow());
    });
}

/// A guard restores the state of the users that still exist. The user that has left is counted off, and the key does not stay on for ever.
#[test]
fn guarded_while_a_dec_is_due() {
    passes(|| {
        for on in [true, false] {
            NEVER.inc().unwrap();
            NEVER.dec_deferred().unwrap();
            let guard = NEVER.scoped(on).unwrap();
            assert!(never() == on && NEVER.flush() == Ok(None));
            drop(guard);
            assert!(NEVER.count() == 0 && !never(), "on for ever");
        }
        NEVER.inc().unwrap();
        NEVER.dec_deferred().unwrap();
        NEVER.inc().unwrap();
        // Refused: the dec is still due, and the user who came still counts.
        assert_eq!(NEVER.scoped(false).unwrap_err(), Error::Counted { count: 2 });
        assert!(NEVER.flush().unwrap().is_some() && NEVER.count() == 1);
        drop(NEVER.scoped(false).unwrap());
        assert!(NEVER.count() == 1 && never());
        NEVER.dec_deferred().unwrap();
        let lock = jumplabel::Lock::take().unwrap();
        assert_eq!(NEVER.scoped(true).unwrap_err(), Error::Reentrant);
        drop(lock);
        assert!(NEVER.flush().unwrap().is_some() && !never(), "a guard that there is not gave something back");
    });
}

/// A platform that has no writer while `REFUSES` says so.
struct Refusing;

static REFUSES: AtomicBool = AtomicBool::new(false);

impl Twin for Refusing {
    fn writers(&self, summary: &Summary, held: &mut Held) -> WriterList {
        if REFUSES.load(Ordering::Relaxed) { WriterList::default() } else { builtin().writers(summary, held) }
    }
}

/// A dec that is refused is still due, whoever tried it, and nothing else has changed.
#[test]
fn refused_while_a_dec_is_due() {
    passes(|| {
        twin::install(Refusing);
        assert!(other() && !SLOW.is_enabled());
        NEVER.inc().unwrap();
        NEVER.dec_deferred().unwrap();
        REFUSES.store(true, Ordering::Relaxed);
        for _ in 0..2 {
            assert_eq!(NEVER.flush(), Err(Error::NoWriter));
            assert_eq!(NEVER.seal(), Err(Error::NoWriter));
            assert_eq!(NEVER.disable(), Err(Error::NoWriter));
            assert_eq!(Batch::new().enable(&NEVER).disable(&OTHER).commit(), Err(Error::NoWriter));
            assert!(NEVER.count() == 1 && never() && !NEVER.is_sealed());
        }
        REFUSES.store(false, Ordering::Relaxed);
        assert_eq!(NEVER.flush().unwrap().unwrap().sites, 1);
        assert!(NEVER.count() == 0 && !never());
    });
}

/// However often the key's last user comes and goes, the key flips once in an interval.
#[test]
fn rate_limit() {
    passes(|| {
        let start = Instant::now();
        let (mut rounds, mut flips) = (0, 0);
        while start.elapsed() < 4 * INTERVAL {
            flips += u32::from(SLOW.inc().unwrap().sites > 0);
            assert!(slow());
            SLOW.dec_deferred().unwrap();
            rounds += 1;
        }
        let limit = 1 + (start.elapsed().as_nanos() / INTERVAL.as_nanos()) as u32;
        println!("{rounds} rounds, {flips} flips");
        assert!(flips <= limit, "{flips} flips in {:?}", start.elapsed());
    });
}

#[test]
fn flush() {
    passes(|| {
        NEVER.inc().unwrap();
        assert!(NEVER.flush() == Ok(None) && never());
        NEVER.dec_deferred().unwrap();
        assert!(NEVER.count() == 1 && never());
        assert_eq!(NEVER.flush().unwrap().unwrap().sites, 1);
        assert!(NEVER.count() == 0 && !never() && NEVER.flush() == Ok(None));
    });
}
