//! A tracer within the process: the nop of the note becomes an instruction that leads here. One at a time.

#[cfg(target_arch = "x86_64")]
#[path = "tracer/call.rs"]
pub mod nop;
#[cfg(not(target_arch = "x86_64"))]
#[path = "tracer/trap.rs"]
mod nop;

use std::sync::Mutex;

use super::note::{NOP, Note, PLACE, read, write};

/// The data that the tracer finds at the note.
struct Seen {
    arguments: Vec<(i32, usize)>,
    also: fn(&mut Vec<u64>),
    words: Vec<u64>,
    hits: usize,
}

static SEEN: Mutex<Option<Seen>> = Mutex::new(None);

/// The nop was executed, with `words` in the register from which the notes of Rust lead to the arguments.
extern "C" fn seen(words: usize) {
    let mut all = SEEN.lock().unwrap();
    let seen = all.as_mut().unwrap();
    seen.hits += 1;
    seen.words = seen.arguments.iter().map(|&(size, offset)| value(size, words + offset)).collect();
    (seen.also)(&mut seen.words);
}

/// The value at an address, of a size as notes give it.
fn value(size: i32, at: usize) -> u64 {
    match size {
        1 => u8::from_le_bytes(read(at)).into(),
        2 => u16::from_le_bytes(read(at)).into(),
        4 => u32::from_le_bytes(read(at)).into(),
        -1 => i64::from(i8::from_le_bytes(read(at))) as u64,
        -2 => i64::from(i16::from_le_bytes(read(at))) as u64,
        -4 => i64::from(i32::from_le_bytes(read(at))) as u64,
        _ => u64::from_le_bytes(read(at)),
    }
}

/// A tracer that is attached.
pub struct Tracer(Note);

impl Tracer {
    /// Changes the nop, and counts the semaphore up.
    pub fn attach(provider: &str, name: &str) -> Tracer {
        let note = Note::of(provider, name);
        let argument = |text: &str| {
            let (size, place) = text.split_once('@').unwrap();
            let offset = place.strip_prefix(PLACE[0].trim_end()).and_then(|place| place.strip_suffix(PLACE[1]));
            (size.parse().unwrap(), offset.unwrap_or_else(|| panic!("{text}")).parse().unwrap())
        };
        let arguments = note.arguments.replace(", ", ",").split_whitespace().map(argument).collect();
        let old = SEEN.lock().unwrap().replace(Seen { arguments, also: |_| (), words: Vec::new(), hits: 0 });
        assert!(old.is_none());
        nop::hook(note.address);
        let tracer = Tracer(note);
        tracer.count(1);
        tracer
    }

    /// Counts the semaphore up or down.
    pub fn count(&self, by: i16) {
        let now = i16::from_le_bytes(read(self.0.semaphore));
        write(self.0.semaphore, &(now + by).to_le_bytes());
    }

    /// Lets a function read more while the arguments are there.
    pub fn read_also(&self, also: fn(&mut Vec<u64>)) {
        SEEN.lock().unwrap().as_mut().unwrap().also = also;
    }

    /// The arguments of the last emission.
    pub fn taken(&self) -> Vec<u64> {
        std::mem::take(&mut SEEN.lock().unwrap().as_mut().unwrap().words)
    }

    pub fn hits(&self) -> usize {
        SEEN.lock().unwrap().as_ref().unwrap().hits
    }
}

impl Drop for Tracer {
    /// Counts the semaphore down, and puts the nop back.
    fn drop(&mut self) {
        self.count(-1);
        write(self.0.address, &NOP);
        *SEEN.lock().unwrap() = None;
    }
}
