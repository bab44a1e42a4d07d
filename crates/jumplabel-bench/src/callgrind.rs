//! Reads callgrind's output file: the events that callgrind counts and simulates.

/// The events of one turn.
#[derive(Clone, Copy, Default)]
pub struct Events {
    pub instructions: f64,
    /// References of the last-level cache, which are the misses of the first-level caches.
    pub references: f64,
    pub misses: f64,
    pub branches: f64,
    pub mispredicted: f64,
}

/// A row of a table of events: its name, and the function that computes its figure.
type Row = (&'static str, fn(&Events) -> f64);

impl Events {
    pub fn minus(self, other: Events) -> Events {
        Events {
            instructions: self.instructions - other.instructions,
            references: self.references - other.references,
            misses: self.misses - other.misses,
            branches: self.branches - other.branches,
            mispredicted: self.mispredicted - other.mispredicted,
        }
    }

    pub const ROWS: [Row; 5] = [
        ("instructions", |events| events.instructions),
        ("references of the last-level cache", |events| events.references),
        ("misses of it", |events| events.misses),
        ("branches", |events| events.branches),
        ("mispredicted", |events| events.mispredicted),
    ];
}

/// The events of one turn. `text` is callgrind's output file for a run of `turns` turns.
pub fn events(text: &str, turns: u64) -> Option<Events> {
    let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    let names: Vec<&str> = line("events: ")?.split_whitespace().collect();
    let totals: Vec<f64> =
        line("totals: ")?.split_whitespace().map(|total| total.parse().unwrap_or(f64::NAN)).collect();
    let sum = |of: &[&str]| {
        let each = of.iter().map(|name| names.iter().position(|event| event == name).and_then(|at| totals.get(at)));
        each.sum::<Option<f64>>().map(|sum| sum / turns as f64)
    };
    Some(Events {
        instructions: sum(&["Ir"])?,
        references: sum(&["I1mr", "D1mr", "D1mw"])?,
        misses: sum(&["ILmr", "DLmr", "DLmw"])?,
        branches: sum(&["Bc", "Bi"])?,
        mispredicted: sum(&["Bcm", "Bim"])?,
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn events() {
        let text = "version: 1\nevents: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Bc Bcm Bi Bim\nfn=(1)\ntotals: 100 0 0 2 3 5 1 0 1 10 4 6 2\n";
        let events = super::events(text, 2).unwrap();
        let all = [events.instructions, events.references, events.misses, events.branches, events.mispredicted];
        assert_eq!(all, [50.0, 5.0, 1.0, 8.0, 3.0]);
        assert!(super::events("events: Ir\ntotals: 1\n", 2).is_none());
    }
}
