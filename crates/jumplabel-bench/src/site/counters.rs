//! The processor's own counters, where the machine has them and lets us: virtual machines often do not.

use perf_event::events::Hardware;
use perf_event::{Builder, Counter};

/// Instructions and cycles of this thread in user mode.
pub struct Counters {
    instructions: Counter,
    cycles: Counter,
}

impl Counters {
    pub fn open() -> std::io::Result<Counters> {
        let instructions = Builder::new(Hardware::INSTRUCTIONS).build()?;
        let cycles = Builder::new(Hardware::CPU_CYCLES).build()?;
        Ok(Counters { instructions, cycles })
    }

    /// What `work` takes: instructions, cycles.
    pub fn count(&mut self, work: impl FnOnce()) -> std::io::Result<[f64; 2]> {
        self.instructions.reset()?;
        self.cycles.reset()?;
        self.instructions.enable()?;
        self.cycles.enable()?;
        work();
        self.cycles.disable()?;
        self.instructions.disable()?;
        Ok([self.instructions.read()? as f64, self.cycles.read()? as f64])
    }
}
