//! The counts of what was done in a cell.

/// The counts of what was done in a cell.
#[derive(Clone, Copy, Default)]
pub struct Tally {
    /// Keys that were flipped.
    pub flips: u64,
    /// Sites that were rewritten by these flips.
    pub site_flips: u64,
    /// Sites that were brought back to the pristine nop.
    pub restored: u64,
    /// Transactions.
    pub transactions: u64,
    /// Transactions during which readers executed sites of the cell. A transaction takes longer where it meets readers,
    /// who have to be interrupted, so there are always more of the others.
    pub met: u64,
    /// Nanoseconds of all transactions.
    pub time: u64,
    /// Nanoseconds of the flips that met readers.
    pub met_time: u64,
    /// Transactions that were refused in the middle, and undone.
    pub refused: u64,
}

impl Tally {
    pub fn add(&mut self, other: Tally) {
        self.flips += other.flips;
        self.site_flips += other.site_flips;
        self.restored += other.restored;
        self.transactions += other.transactions;
        self.met += other.met;
        self.time += other.time;
        self.met_time += other.met_time;
        self.refused += other.refused;
    }
}
