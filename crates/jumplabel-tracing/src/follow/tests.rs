use std::fmt::{self, Debug};

use tracing_core::callsite::{Callsite, Identifier};
use tracing_core::field::FieldSet;
use tracing_core::{Interest, Kind, Level};

use super::*;

struct Site;

static SITE: Site = Site;
static META: Metadata<'static> = Metadata::new(
    "event",
    "target",
    Level::INFO,
    None,
    None,
    None,
    FieldSet::new(&["message", "a", "b"], Identifier(&SITE)),
    Kind::EVENT,
);

impl Callsite for Site {
    fn set_interest(&self, _: Interest) {}
    fn metadata(&self) -> &Metadata<'_> {
        &META
    }
}

/// A value that calls a function while it is formatted.
struct Acts(fn());

impl Debug for Acts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.0)();
        f.write_str("acted")
    }
}

/// Takes all records. Returns them, and the number of lost ones.
fn taken() -> (Vec<String>, u64) {
    let mut records = Vec::new();
    let lost = take(|_, json| records.push(json.to_owned()));
    (records, lost)
}

/// Each event is either recorded or counted as lost.
#[test]
fn noted_or_lost() {
    let missed = AtomicU32::new(0);
    let field = |number: usize| META.fields().iter().nth(number).unwrap();
    let says = |acts: fn()| {
        note(&META, 1, &missed, &|visitor| {
            visitor.record_str(&field(0), "text");
            visitor.record_f64(&field(1), f64::NAN);
            visitor.record_debug(&field(2), &Acts(acts));
        });
    };
    struct Twice;
    impl Drop for Twice {
        fn drop(&mut self) {
            panic!("a payload of this test panics");
        }
    }
    // Before `expect`, an event is neither recorded nor counted.
    says(|| panic!());
    assert_eq!(taken(), (vec![], 0));
    expect(1_000_000);
    says(|| ());
    let (records, lost) = taken();
    assert!(records.len() == 1 && lost == 0, "{records:?} {lost}");
    assert!(records[0].ends_with(r#""message":"text","fields":{"a":"NaN","b":"acted"}}"#), "{records:?}");
    // A value panics while it is formatted. In the second case, the destructor of the panic's payload would panic, too.
    says(|| panic!("a value of this test panics"));
    assert_eq!(taken(), (vec![], 1));
    says(|| std::panic::panic_any(Twice));
    assert_eq!(taken(), (vec![], 1));
    // The callsite's next record reports that two events were lost. An event that happens while this record is made is lost, too.
    says(|| note(&META, 1, &AtomicU32::new(0), &|_| ()));
    let (records, lost) = taken();
    assert!(records.len() == 1 && lost == 1 && records[0].ends_with(r#","lost":2}"#), "{records:?} {lost}");
    says(|| ());
    assert!(!taken().0[0].contains("\"lost\""));
    // There are more records than the queue has room for: first by their number, then by their bytes.
    (0..RECORDS + 10).for_each(|_| says(|| ()));
    let (records, lost) = taken();
    assert_eq!((records.len(), lost), (RECORDS, 10));
    let long = "x".repeat(4000);
    (0..RECORDS).for_each(|_| note(&META, 1, &missed, &|visitor| visitor.record_str(&field(1), &long)));
    let (records, lost) = taken();
    assert!(records.len() + lost as usize == RECORDS && records.iter().map(String::len).sum::<usize>() <= BYTES);
    assert!(lost > 0 && queue().unwrap().waiting.load(Ordering::Relaxed) == 0);
    // The next follower does not get the records of an earlier one.
    says(|| ());
    says(|| panic!("a value of this test panics"));
    forget();
    assert_eq!(taken(), (vec![], 0));
    a_flood_takes_nothing_from_others();
}

#[test]
fn limits() {
    let limit = Limit { per_second: AtomicU32::new(2), spent: AtomicU64::new(0) };
    let allowed = |milliseconds| limit.allows(Duration::from_millis(milliseconds), true);
    assert_eq!([1000, 1001, 1002, 1999].map(allowed), [true, true, false, false]);
    assert_eq!([2000, 2500, 2600, 90_000].map(allowed), [true, true, false, true]);
    limit.per_second.store(0, Ordering::Relaxed);
    assert_eq!([90_001, 91_000].map(allowed), [false, false]);
}

/// While one callsite has very many events, the limit and the queue still have room for the events of another one. (`noted_or_lost` calls this
/// function, because both need the only queue.)
fn a_flood_takes_nothing_from_others() {
    let [flood, quiet] = [0, 0].map(AtomicU32::new);
    for (per_second, room) in [(1000, 750), (u32::MAX, RECORDS - RECORDS / 4)] {
        expect(per_second);
        // The events of one round must happen in the same second, because the count of the limit begins anew with each second.
        let (mut told, mut others, mut lost) = (0, 0, 0);
        while lost == 0 || told < room {
            forget();
            flood.store(0, Ordering::Relaxed);
            let second = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
            let begin = second();
            (0..RECORDS as u32).for_each(|nth| note(&META, u32::MAX - nth, &flood, &|_| ()));
            (1..=10).for_each(|nth| note(&META, nth, &quiet, &|_| ()));
            if second() != begin {
                continue;
            }
            let records = taken().0;
            others = 10 - quiet.swap(0, Ordering::Relaxed);
            told = records.len() - others as usize;
            lost = flood.load(Ordering::Relaxed);
        }
        assert_eq!((told, others, lost as usize), (room, 10, RECORDS - room), "{per_second}");
    }
    forget();
}
