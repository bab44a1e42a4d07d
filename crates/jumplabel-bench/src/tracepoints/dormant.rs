//! Tracepoints without probes, many in a sequence.
//!
//! ```text
//!   nothing          lea                        3 bytes
//!   site             prefix, nop, lea           9
//!   relaxed load     cmp, jne, lea             16       each tracepoint has its own flag of 8 bytes
//!   a row:           the tracepoints of one way, then a return
//! ```
//!
//! The rows are written into memory at run time, because a compiler would take minutes for 10^5 tracepoints. A site has the code of `emit!`, which
//! `live` checks by decoding it. It has no table entry, because it is never flipped.

use std::hint::black_box;
use std::ptr::null_mut;

use serde_json::json;

use super::{Passes, STATES};
use crate::Result;
use crate::report::{Chart, Report, Table, figure};
use crate::samples::time;
use crate::site::cold::Sweep;
use crate::site::decode::Path;

const MOST: usize = 1_000_000;
/// The greatest difference, as a part of a pass's time, that the placement alone may explain. Each row is in only one place, so placements cannot be
/// compared.
const LITTLE: f64 = 0.1;
pub const NUMBERS: [usize; 7] = [1, 10, 100, 1_000, 10_000, 100_000, MOST];

/// The ways: the name of each, and the bytes of one tracepoint.
pub const WAYS: [(&str, usize); 3] = [("nothing", 3), ("site", 9), ("relaxed load", 16)];

/// `lea eax, [rdi + 1]`.
const WORK: [u8; 3] = [0x8d, 0x47, 0x01];
const RETURN: u8 = 0xc3;
/// `nop dword ptr [rax + rax]`, after a site's prefix.
const SITE: [u8; 6] = [0x40, 0x0f, 0x1f, 0x44, 0, 0];
const FLAG_BYTES: usize = 8;

/// The rows of all ways, followed by the flags.
pub struct Dormant {
    start: usize,
}

impl Dormant {
    pub fn new() -> Result<Dormant> {
        let bytes = flags_at() + MOST * FLAG_BYTES;
        // SAFETY: the mapping is new, and stays until the end of the process.
        let start = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(null_mut(), bytes, protection, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
        };
        if start == libc::MAP_FAILED {
            return Err(format!("{bytes} bytes: {}", std::io::Error::last_os_error()).into());
        }
        // The pages get the size of the pages of a program's text.
        // SAFETY: the range is the mapping.
        unsafe { libc::madvise(start, bytes, libc::MADV_NOHUGEPAGE) };
        // SAFETY: nobody else knows the mapping.
        let all = unsafe { std::slice::from_raw_parts_mut(start.cast::<u8>(), bytes) };
        for (way, (_, size)) in WAYS.iter().enumerate() {
            let first = row_at(way);
            let (row, behind) = all[first..].split_at_mut(MOST * size);
            behind[0] = RETURN;
            for (number, one) in row.chunks_exact_mut(*size).enumerate() {
                let at = number * size;
                match way {
                    0 => one.copy_from_slice(&WORK),
                    1 => one.copy_from_slice(&[&SITE[..], &WORK].concat()),
                    _ => {
                        // `cmp byte ptr [rip + ...], 0`, and `jne` to the return.
                        let flag = flags_at() + number * FLAG_BYTES - (first + at + 7);
                        let end = MOST * size - (at + 13);
                        let cmp = [&[0x80, 0x3d][..], &(flag as u32).to_le_bytes(), &[0]].concat();
                        let jne = [&[0x0f, 0x85][..], &(end as u32).to_le_bytes()].concat();
                        one.copy_from_slice(&[&cmp[..], &jne, &WORK].concat());
                    }
                }
            }
        }
        // Writes to each page of the flags, because otherwise the kernel would map the same page of zeros for all of them.
        all[flags_at()..].fill(0);
        // SAFETY: these are the whole pages of the mapping that hold code.
        if unsafe { libc::mprotect(start, flags_at(), libc::PROT_READ | libc::PROT_EXEC) } != 0 {
            return Err(format!("code of this command: {}", std::io::Error::last_os_error()).into());
        }
        let dormant = Dormant { start: start as usize };
        dormant.assert_code()?;
        Ok(dormant)
    }

    /// A function that runs the last `number` tracepoints of a way's row.
    fn entry(&self, way: usize, number: usize) -> extern "C" fn(u64) -> u32 {
        // SAFETY: a tracepoint begins at this address, and a return follows the last one. They change only eax and the flags.
        unsafe { std::mem::transmute(self.start + row_at(way) + (MOST - number) * WAYS[way].1) }
    }

    /// The numbers of instructions and loads of one tracepoint.
    fn path(&self, way: usize) -> [f64; 2] {
        let [path, less] = [200, 100].map(|number| Path::of_call(self.entry(way, number) as usize));
        [path.len() - less.len(), path.loads() - less.loads()].map(|count| count as f64 / 100.0)
    }

    fn assert_code(&self) -> Result<()> {
        let paths = [0, 1, 2].map(|way| self.path(way));
        if paths == [[1.0, 0.0], [2.0, 0.0], [3.0, 1.0]] {
            Ok(())
        } else {
            Err(format!("instructions and loads of one: {paths:?}: not measured").into())
        }
    }

    /// The nanoseconds of a pass over `number` tracepoints. Without a sweep, it is the mean of many passes. With a sweep, it is the first pass after
    /// the sweep.
    pub fn sample(&self, way: usize, number: usize, sweep: Option<&mut Sweep>) -> f64 {
        let entry = black_box(self.entry(way, number));
        if let Some(sweep) = sweep {
            sweep.sweep();
            return time(|| _ = black_box(entry(1)));
        }
        let passes = (100_000 / number).clamp(1, 10_000);
        entry(1);
        time(|| (0..passes as u64).for_each(|pass| _ = black_box(entry(pass)))) / passes as f64
    }

    pub fn report(&self, report: &mut Report, passes: &Passes) {
        let head = ["", "ns a pass", "ns more", "from", "to", "", "instructions", "loads", "bytes"];
        let mut facts = Vec::new();
        for (state, numbers) in STATES.iter().zip(passes) {
            for (number, ways) in NUMBERS.iter().zip(numbers) {
                let title = format!("{number} dormant tracepoints, {state}; {} rounds", ways[0].len());
                let mut table = Table::new(title, &head);
                for (way, samples) in ways.iter().enumerate() {
                    let (name, more) = (WAYS[way].0, samples.minus(&ways[0]));
                    let [more, from, to] =
                        [more.median(), more.interval()[0], more.interval()[1]].map(|ns| ns / *number as f64);
                    let [path, none] = [self.path(way), self.path(0)];
                    let of_one = [path[0] - none[0], path[1] - none[1], (WAYS[way].1 - WAYS[0].1) as f64];
                    let [instructions, loads, bytes] = of_one.map(|of_one| of_one * *number as f64);
                    let is_little = way != 0 && more * *number as f64 <= LITTLE * ways[0].median();
                    let verdict = if is_little { "less than a placement moves" } else { "" }.to_owned();
                    let times = [samples.median(), more, from, to].into_iter().zip([1, 4, 4, 4]);
                    let times = times.map(|(value, digits)| figure(value, digits)).chain([verdict]);
                    let counts = [instructions, loads, bytes].map(|count| figure(count, 0));
                    table.row([name.to_owned()].into_iter().chain(times).chain(counts));
                    facts.push(json!({
                        "state": state, "number": number, "check": name, "ns": samples.median(), "ns_more": more,
                        "ns_interval": [from, to], "instructions": instructions, "loads": loads, "bytes": bytes,
                    }));
                }
                report.table(table);
            }
            let mut chart = Chart::new(format!("a dormant tracepoint, {state}, by their number"), "ns more than none");
            // With few tracepoints, most of the time is that of the return after them.
            for (number, ways) in NUMBERS.iter().zip(numbers).filter(|(number, _)| **number >= 100) {
                for way in [1, 2] {
                    let more = ways[way].minus(&ways[0]).times(1.0 / *number as f64);
                    chart.bar(format!("{}, {number} of them", WAYS[way].0), more.median(), more.interval());
                }
            }
            report.chart(chart);
        }
        report.fact("dormant", json!(facts));
    }
}

/// The offset of a way's row, in whole pages.
fn row_at(way: usize) -> usize {
    WAYS[..way].iter().map(|(_, size)| (MOST * size + 1).next_multiple_of(4096)).sum()
}

fn flags_at() -> usize {
    row_at(WAYS.len())
}
