//! Checks itself: each shape's sites are as many as expected, and each of them toggles.
//!
//! ```text
//!   for each shape   every site shows its key's default, the check yields it
//!                    flip: every site and the check show the other state
//!                    flip back, and once more by `inc` and `dec`
//! ```
//!
//! Prints `sites N`, the number of entries that the table must have, `dead N`, those of functions that nobody calls, and
//! `ok`. The shapes are in `code`, `data` and `naked`.

mod code;
mod data;
mod naked;

use jumplabel::{RawKey, for_each_key, for_each_site};

/// A key, a function that yields its state through all of its sites, and how many of those there must be.
pub struct Shape {
    name: &'static str,
    key: &'static RawKey,
    check: fn() -> bool,
    /// Fewest and most: where the compiler may copy or leave out a function, it is not one number.
    sites: (usize, usize),
}

impl Shape {
    pub fn new(name: &'static str, key: &'static RawKey, check: fn() -> bool, fewest: usize, most: usize) -> Shape {
        Shape { name, key, check, sites: (fewest, most) }
    }

    fn run(&self) -> usize {
        let (key, default) = (self.key, self.key.default_state());
        let sites = self.expect(default);
        for round in 0..2 {
            if default { key.disable() } else { key.enable() }.unwrap();
            assert_eq!(self.expect(!default), sites, "{} round {round}", self.name);
            if default { key.inc() } else { key.dec() }.unwrap();
            assert_eq!(self.expect(default), sites, "{} round {round}", self.name);
        }
        sites
    }

    /// The check and the bytes of every site agree with `enabled`. Returns the number of sites.
    fn expect(&self, enabled: bool) -> usize {
        let name = self.name;
        assert_eq!(self.key.is_enabled(), enabled, "{name}");
        assert_eq!((self.check)(), enabled, "{name}");
        let mut seen = Vec::with_capacity(self.sites.1);
        let count = for_each_site(self.key, |site| {
            let state = site.state.unwrap_or_else(|| panic!("{name}: foreign bytes {site:x?}"));
            assert_eq!(state.falls_through(), enabled == site.arm, "{name}: {site:x?}");
            seen.push(site.address);
        })
        .unwrap();
        seen.dedup();
        assert_eq!(seen.len(), count, "{name}: a site is listed twice");
        let (fewest, most) = if cfg!(jumplabel_fallback) { (0, 0) } else { self.sites };
        assert!((fewest..=most).contains(&count), "{name}: {count} sites, not {fewest} to {most}");
        count
    }
}

fn main() {
    let shapes: Vec<Shape> = [code::shapes(), data::shapes(), naked::shapes()].into_iter().flatten().collect();
    let sites: usize = shapes.iter().map(Shape::run).sum();
    let dead: usize = [&*code::DEAD, &*elsewhere::DEAD, &*elsewhere::NAKED_DEAD]
        .map(|key| for_each_site(key, |_| ()).unwrap())
        .iter()
        .sum();
    let mut listed = 0;
    for_each_key(|key| listed += usize::from(key.name.starts_with("shapes::") || key.name.starts_with("elsewhere::")))
        .unwrap();
    println!("shapes {}", shapes.len());
    println!("keys {listed}");
    println!("sites {}", sites + dead);
    println!("dead {dead}");
    println!("ok");
}
