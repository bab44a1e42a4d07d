//! A run, in a process of its own: it starts readers, visits cells in turn until the time is over, and prints what was done, one line for each
//! cell.

use std::slice::from_ref;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use jumplabel::WriterKind;

use crate::cells::{CELLS, Cell, Kind};
use crate::clock;
use crate::fault::end_at_once;
use crate::flips::visit;
use crate::readers::{ANY, Watch};
use crate::report::Row;
use crate::tally::Tally;

/// The time of a visit to a cell, or less if there is not the time to visit each of them.
const VISIT: Duration = Duration::from_millis(250);

/// Visits the chosen cells in turn for this time, all of them once at least, with `writer`, which outcomes have to name. Stops at a failure. Ends
/// the process: with code 0 if nothing failed.
pub fn run(writer: WriterKind, time: Duration, chosen: impl Fn(&Cell) -> bool) -> ! {
    end_at_once();
    println!(); // libtest has begun a line

    let cells: Vec<usize> = (0..CELLS.len()).filter(|&cell| chosen(&CELLS[cell])).collect();
    let processors = clock::processors().len();
    let steady = (processors - 1).clamp(1, 3);
    let watch = Watch::new(steady + 1);
    watch.cell.store(cells[0], Ordering::Relaxed);
    let mut tallies = [Tally::default(); CELLS.len()];
    let start = Instant::now();
    std::thread::scope(|scope| {
        for reader in 0..=steady {
            let watch = &watch;
            scope.spawn(move || watch.read(reader, reader == steady));
        }
        visit_in_turn(&watch, &cells, writer, start + time, VISIT.min(time / cells.len() as u32), &mut tallies);
        watch.stop.store(true, Ordering::Relaxed);
    });
    let busy = watch.busy.load(Ordering::Relaxed) + clock::thread_nanos();
    println!("busy\t{busy}\t{}\t{processors}", start.elapsed().as_nanos());
    for cell in cells {
        Row::new(writer.name(), cell, &tallies[cell], &watch).print();
    }
    for message in watch.messages() {
        println!("failure\t{message}");
    }
    std::process::exit(i32::from(watch.failed()));
}

/// Each cell on each processor in turn; what flips with several threads needs them all.
fn visit_in_turn(
    watch: &Watch,
    cells: &[usize],
    writer: WriterKind,
    end: Instant,
    slice: Duration,
    tallies: &mut [Tally; CELLS.len()],
) {
    let processors = clock::processors();
    let mut site_flips = 0;
    for round in 0.. {
        for (&cell, at) in cells.iter().zip(0..) {
            let now = Instant::now();
            if watch.failed() || (round > 0 && now >= end) {
                return;
            }
            println!("at\t{}\t{}\t{site_flips}", CELLS[cell].name, CELLS[cell].sites);
            let alone = CELLS[cell].kind != Kind::Counted;
            let home = processors[(round + at) % processors.len()];
            watch.home.store(if alone { home } else { ANY }, Ordering::Relaxed);
            clock::move_to(if alone { from_ref(&home) } else { &processors });
            let tally = visit(watch, cell, writer, now + slice);
            site_flips += tally.site_flips;
            tallies[cell].add(tally);
        }
    }
}
