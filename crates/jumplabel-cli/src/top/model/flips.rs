//! Counts how often something flipped in the last seconds.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The time over which a rate is averaged.
const SPAN: Duration = Duration::from_secs(10);
/// Flips within this time are counted together.
const TOGETHER: Duration = Duration::from_millis(500);

/// The flips of the last ten seconds.
#[derive(Default)]
pub struct Flips(VecDeque<Counted>);

struct Counted {
    since: Instant,
    number: u32,
    /// Whether there may have been more flips.
    at_least: bool,
}

impl Flips {
    /// Notes a flip. `at_least` is true if only a difference between two answers shows the flip: then there may have been more flips.
    pub fn note(&mut self, now: Instant, at_least: bool) {
        self.0.retain(|counted| now.saturating_duration_since(counted.since) <= SPAN);
        match self.0.back_mut() {
            Some(last) if now.saturating_duration_since(last.since) < TOGETHER => {
                last.number = last.number.saturating_add(1);
                last.at_least |= at_least;
            }
            _ => self.0.push_back(Counted { since: now, number: 1, at_least }),
        }
    }

    /// The number of flips per second, as a text of at most 7 characters. It begins with `>=` if there may have been more.
    pub fn rate(&self, now: Instant) -> String {
        let recent = self.0.iter().filter(|counted| now.saturating_duration_since(counted.since) <= SPAN);
        let (number, at_least) = recent.fold((0_u64, false), |(number, at_least), counted| {
            (number + u64::from(counted.number), at_least | counted.at_least)
        });
        let (tenths, more) = (number * 10 / SPAN.as_secs(), if at_least { ">=" } else { "" });
        match (number, tenths) {
            (0, _) => "0".to_owned(),
            (_, ..1000) => format!("{more}{}.{}", tenths / 10, tenths % 10),
            (_, ..1_000_000) => format!("{more}{}", tenths / 10),
            _ => ">=99999".to_owned(),
        }
    }
}

#[test]
fn rates() {
    let start = Instant::now();
    let after = |tenths: u64| start + Duration::from_millis(100 * tenths);
    let mut flips = Flips::default();
    assert_eq!(flips.rate(start), "0");
    flips.note(after(0), false);
    assert_eq!(flips.rate(after(0)), "0.1");
    (0..25).for_each(|tenth| flips.note(after(tenth), false));
    assert_eq!(flips.rate(after(25)), "2.6");
    flips.note(after(30), true);
    assert_eq!(flips.rate(after(30)), ">=2.7");
    assert_eq!(flips.rate(after(104)), ">=2.1", "the first six are too old");
    assert_eq!(flips.rate(after(300)), "0");
    flips.note(after(300), false);
    assert_eq!((flips.rate(after(300)), flips.0.len()), ("0.1".to_owned(), 1), "what is too old takes no memory");
    (0..2000).for_each(|_| flips.note(after(300), true));
    assert_eq!(flips.rate(after(300)), ">=200");
    (0..20_000_000).step_by(20).for_each(|_| flips.note(after(300), true));
    assert_eq!(flips.rate(after(300)), ">=99999");
}
