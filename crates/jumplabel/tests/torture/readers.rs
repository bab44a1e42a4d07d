//! The readers: threads that execute the sites of the cell that is being visited, and hold the flipper to its promises.
//!
//! Steady readers stay on other processors than the flipper. The restless one sleeps, moves, and takes page faults. All count their executions, so
//! that a run without readers differs from one without faults.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use fastrand::Rng;

use crate::cells::CELLS;
use crate::clock;
use crate::promise::Promise;
use crate::sites::Array;

/// Sites that a reader executes under one promise.
const CHUNK: usize = 32;

/// No processor in particular.
pub const ANY: usize = usize::MAX;

/// A restless reader does something else after this many chunks, on average.
const RESTLESS: u64 = 2000;

/// Random numbers that no other run has, and no other thread of this one.
pub fn seeded(thread: u64) -> Rng {
    Rng::with_seed(u64::from(std::process::id()) << 32 | thread)
}

/// The data that the threads of a run share.
pub struct Watch {
    /// The cell that is being visited.
    pub cell: AtomicUsize,
    pub stop: AtomicBool,
    /// The processor on which the flipper stays, and which steady readers avoid; `ANY` if the flipper moves.
    pub home: AtomicUsize,
    /// Processor time of all threads that have ended.
    pub busy: AtomicU64,
    executions: Vec<Executions>,
    failures: [AtomicU64; CELLS.len()],
    messages: Mutex<Vec<String>>,
}

/// The executions of one reader, for each cell, on cache lines of their own.
#[repr(align(128))]
struct Executions([AtomicU64; CELLS.len()]);

impl Watch {
    pub fn new(readers: usize) -> Watch {
        Watch {
            cell: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            home: AtomicUsize::new(ANY),
            busy: AtomicU64::new(0),
            executions: (0..readers).map(|_| Executions([const { AtomicU64::new(0) }; CELLS.len()])).collect(),
            failures: [const { AtomicU64::new(0) }; CELLS.len()],
            messages: Mutex::new(Vec::new()),
        }
    }

    /// Executions of sites of a cell by all readers.
    pub fn executions(&self, cell: usize) -> u64 {
        self.executions.iter().map(|of| of.0[cell].load(Ordering::Relaxed)).sum()
    }

    /// Failures in a cell.
    pub fn failures(&self, cell: usize) -> u64 {
        self.failures[cell].load(Ordering::Relaxed)
    }

    /// Whether anything has failed.
    pub fn failed(&self) -> bool {
        (0..CELLS.len()).any(|cell| self.failures(cell) > 0)
    }

    /// Notes a failure; the first few with their message.
    pub fn fail(&self, cell: usize, message: String) {
        self.failures[cell].fetch_add(1, Ordering::Relaxed);
        let mut messages = self.messages.lock().unwrap();
        if messages.len() < 10 {
            messages.push(message);
        }
    }

    pub fn messages(&self) -> Vec<String> {
        self.messages.lock().unwrap().clone()
    }

    /// Executes the cells until the run ends.
    pub fn read(&self, reader: usize, restless: bool) {
        let mut random = seeded(reader as u64 + 1);
        let processors = clock::processors();
        let mut away = ANY;
        while !self.stop.load(Ordering::Relaxed) {
            let cell = self.cell.load(Ordering::Relaxed);
            if let Err(message) = chunk_of(cell, &mut random) {
                self.fail(cell, format!("reader {reader}: {message}"));
            }
            let count = &self.executions[reader].0[cell];
            count.store(count.load(Ordering::Relaxed) + CHUNK as u64, Ordering::Relaxed);
            if restless && random.u64(..RESTLESS) == 0 {
                match random.u8(..3) {
                    0 => std::thread::sleep(Duration::from_micros(random.u64(..300))),
                    1 => clock::move_to(&[*random.choice(&processors).unwrap()]),
                    _ => clock::fault(),
                }
                if random.u8(..2) == 0 {
                    clock::move_to(&processors);
                }
            }
            let home = self.home.load(Ordering::Relaxed);
            if !restless && home != away && processors.len() > 1 {
                away = home;
                let others: Vec<usize> = processors.iter().copied().filter(|&processor| processor != home).collect();
                clock::move_to(&others);
            }
        }
        self.busy.fetch_add(clock::thread_nanos(), Ordering::Relaxed);
    }
}

/// Executes something of a cell.
fn chunk_of(cell: usize, random: &mut Rng) -> Result<(), String> {
    #[cfg(target_arch = "x86_64")]
    if CELLS[cell].kind.is_retarget() {
        return crate::calls::chunk(cell, CHUNK, random);
    }
    let array = random.choice(CELLS[cell].arrays).unwrap();
    let key = random.usize(..array.keys.len());
    chunk(array, key, random)
}

/// Executes some sites of a key, one after the other, and compares the results with the promises.
pub fn chunk(array: &Array, key: usize, random: &mut Rng) -> Result<(), String> {
    let (promise, keys, sites) = (&array.promises[key], array.keys.len(), array.sites_of_key());
    let mut at = random.usize(..sites);
    let mut met = [None; 2];
    let before = promise.read();
    for _ in 0..CHUNK {
        let site = at * keys + key;
        let result = array.execute(site);
        if result >> 1 != site as u32 {
            return Err(format!("site {site} returned {result}, which is none of its arms"));
        }
        met[(result & 1) as usize] = Some(site);
        at = if at + 1 == sites { 0 } else { at + 1 };
    }
    let after = promise.read();
    match Promise::meaning(before) {
        Some(on) if before == after => match met[usize::from(!on)] {
            Some(site) => Err(format!("site {site} took its {} arm while its key was {on}", !on)),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}
