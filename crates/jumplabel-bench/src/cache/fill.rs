//! Fills a processor's caches with its own data, so that all other data leaves them. It reads one word of each cache line of a memory of [`BYTES`].
//! The order of the lines is random, and the same each time.
//!
//! The caches are filled with data only, as in the note that cache/mod.rs names. So the first-level cache of instructions keeps the code. (The cold
//! loop of `site` sweeps code, too.)

use std::hint::black_box;

/// The note's 2 MB for each processor.
pub const BYTES: usize = 2 << 20;

/// A line of the cache.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(u32);

/// The memory, and the order in which its lines are read.
pub struct Fill {
    lines: Vec<Line>,
    order: Vec<u32>,
}

impl Fill {
    pub fn new() -> Fill {
        let lines = vec![Line(1); BYTES / size_of::<Line>()];
        let mut order: Vec<u32> = (0..lines.len() as u32).collect();
        fastrand::shuffle(&mut order);
        Fill { lines, order }
    }

    /// Reads a word of each line. Returns the number of lines.
    #[inline(never)]
    pub fn fill(&self) -> u32 {
        black_box(self.order.iter().map(|&line| black_box(&self.lines)[line as usize].0).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_once() {
        let fill = Fill::new();
        assert_eq!(size_of_val(&fill.lines[..]), BYTES);
        assert_eq!(fill.fill() as usize, fill.lines.len());
        let mut order = fill.order.clone();
        assert!(!order.is_sorted());
        order.sort_unstable();
        assert!(order.into_iter().eq(0..fill.lines.len() as u32));
    }
}
