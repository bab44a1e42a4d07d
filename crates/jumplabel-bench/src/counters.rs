//! The processor's own counters. They need a machine that has them and allows their use, which virtual machines often do not.

use std::io;

use perf_event::events::Event;
use perf_event::{Builder, Counter};

/// Counters of this thread in user mode.
pub struct Counters<const N: usize>([Counter; N]);

impl<const N: usize> Counters<N> {
    pub fn open<E: Event>(events: [E; N]) -> io::Result<Counters<N>> {
        let counters = events.map(|event| Builder::new(event).build());
        let counters: Vec<Counter> = counters.into_iter().collect::<io::Result<_>>()?;
        counters.try_into().map(Counters).map_err(|_| io::ErrorKind::InvalidInput.into())
    }

    /// Counts each event while `work` runs. The counts are in the order in which the counters were opened.
    pub fn count(&mut self, work: impl FnOnce()) -> io::Result<[f64; N]> {
        for counter in &mut self.0 {
            counter.reset()?;
        }
        for counter in &mut self.0 {
            counter.enable()?;
        }
        work();
        for counter in self.0.iter_mut().rev() {
            counter.disable()?;
        }
        let mut counts = [0.0; N];
        for (count, counter) in counts.iter_mut().zip(&mut self.0) {
            *count = counter.read()? as f64;
        }
        Ok(counts)
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use perf_event::events::Software;

    use super::Counters;

    /// Counts the page faults of first writes, which the kernel can count wherever perf events are allowed at all.
    #[test]
    fn counts() {
        const PAGES: usize = 64;
        let mut counters = match Counters::open([Software::PAGE_FAULTS, Software::DUMMY]) {
            Err(error) if error.kind() == ErrorKind::PermissionDenied || error.raw_os_error() == Some(libc::ENOSYS) => {
                return;
            }
            opened => opened.unwrap(),
        };
        let map = || {
            // SAFETY: the memory is new, and nobody frees it.
            let memory = unsafe {
                let (rights, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
                let memory = libc::mmap(std::ptr::null_mut(), PAGES * 4096, rights, flags, -1, 0);
                libc::madvise(memory, PAGES * 4096, libc::MADV_NOHUGEPAGE);
                memory.cast::<u8>()
            };
            assert_ne!(memory.addr(), usize::MAX);
            memory
        };
        let memory = map();
        // SAFETY: each write is to a page of that memory.
        let write = || (0..PAGES).for_each(|page| unsafe { memory.add(page * 4096).write_volatile(1) });
        let first = counters.count(write).unwrap();
        let again = counters.count(write).unwrap();
        assert!(first[0] >= PAGES as f64 && again[0] < PAGES as f64, "{first:?} {again:?}");
        assert_eq!([first[1], again[1]], [0.0; 2]);
    }
}
