//! Counts the pages of a running program's text and tables that were copied. The numbers come from /proc.
//!
//! A page of a file mapping is copied when somebody writes to it; `Anonymous` counts such pages. `Private_Dirty` would also count unchanged pages of
//! a file that was written recently.

use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::path::Path;
use std::process::Stdio;

use super::image::Image;
use crate::Result;

/// The KiB of pages that the kernel copied.
pub struct Copied {
    pub text: usize,
    pub tables: usize,
    /// Never 0, because the loader relocates pointers there.
    pub data: usize,
}

/// Starts the program, waits until it waits in `main`, and reads its memory map.
pub fn copied(program: &Path, image: &Image) -> Result<Copied> {
    let mut child = super::programs::command(program)
        .arg("wait")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut line = String::new();
    if let Some(output) = &mut child.stdout {
        BufReader::new(output).read_line(&mut line)?;
    }
    let maps = std::fs::read_to_string(format!("/proc/{}/smaps", child.id()));
    drop(child.stdin.take());
    child.wait()?;
    let maps = maps?;
    let mappings = Mapping::parse(&maps);
    // The first mapping of the program's file.
    let name = std::fs::canonicalize(program)?;
    let start = mappings.iter().find(|mapping| Path::new(mapping.name) == name).map(|mapping| mapping.range.start);
    let start = start.ok_or_else(|| format!("{} is not in its own map", name.display()))?;
    let within = |places: &[Range<u64>]| {
        let overlaps = |mapping: &&Mapping<'_>| {
            places.iter().any(|place| {
                let place = place.start - image.base + start..place.end - image.base + start;
                place.start < mapping.range.end && mapping.range.start < place.end
            })
        };
        mappings.iter().filter(overlaps).map(|mapping| mapping.anonymous).sum()
    };
    Ok(Copied { text: within(&image.text), tables: within(&image.tables), data: within(&image.data) })
}

struct Mapping<'a> {
    range: Range<u64>,
    name: &'a str,
    anonymous: usize,
}

impl Mapping<'_> {
    fn parse(maps: &str) -> Vec<Mapping<'_>> {
        let mut mappings: Vec<Mapping<'_>> = Vec::new();
        for line in maps.lines() {
            let range = line.split(' ').next().and_then(|word| word.split_once('-'));
            let range = range.and_then(|(start, end)| {
                Some(u64::from_str_radix(start, 16).ok()?..u64::from_str_radix(end, 16).ok()?)
            });
            if let Some(range) = range {
                let name = line.find('/').map_or("", |at| &line[at..]);
                mappings.push(Mapping { range, name, anonymous: 0 });
            } else if let (Some(size), Some(last)) = (line.strip_prefix("Anonymous:"), mappings.last_mut()) {
                last.anonymous = size.trim().trim_end_matches(" kB").parse().unwrap_or(0);
            }
        }
        mappings
    }
}
