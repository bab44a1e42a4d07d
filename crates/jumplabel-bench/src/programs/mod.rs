//! `pipe` and `sqlite`: whole C programs with keys, compared with the same programs without keys and with loads.
//!
//! ```text
//!   first         compile once for each way, link once for each layout (an order of the functions); count sites
//!   each round    run every way in every layout once, each in a process of its own, in random order
//!   after all     for each layout the fastest of its runs (other load can only make it slower); of these the median. A ratio of two
//!                 medians gets a 95 % interval by bootstrap: the layouts of both ways are drawn again, with repetition
//! ```

pub mod build;
mod execution;
pub mod pipe;
pub mod sqlite;

use std::path::{Path, PathBuf};

use crate::Result;
use crate::callgrind::Events;
use crate::samples::Samples;
use crate::startup::image::Image;
pub use build::objects;

use build::{Compiler, Object};
use execution::ROWS;

/// A program compiled in one way, in all layouts.
struct Way {
    name: &'static str,
    words: Vec<&'static str>,
    programs: Vec<PathBuf>,
    /// For each layout, the samples of all rows.
    runs: Vec<[Samples; ROWS.len()]>,
    /// The number of sites in the program's file, including those of the library.
    sites: usize,
    /// Bytes of the program's own code, without the library.
    text: u64,
    /// The simulated events of one run with a small load.
    simulated: Option<Events>,
}

impl Way {
    fn link(name: &'static str, objects: &[&Object], layouts: usize, words: Vec<&'static str>) -> Result<Way> {
        let file = &objects.last().ok_or("no object")?.name;
        let programs: Vec<_> = (0..layouts).map(|layout| build::directory().join(format!("{file}-{layout}"))).collect();
        for (layout, program) in programs.iter().enumerate() {
            build::link(objects, layout, program)?;
        }
        let image = Image::read(programs.first().ok_or("no layout")?)?;
        let text = objects.iter().map(|object| object.text()).sum::<Result<u64>>()?;
        let runs = programs.iter().map(|_| Default::default()).collect();
        Ok(Way { name, words, programs, runs, sites: image.sites, text, simulated: None })
    }

    /// The same programs with one more argument.
    fn told(&self, name: &'static str, word: &'static str) -> Way {
        let words = self.words.iter().copied().chain([word]).collect();
        let runs = self.programs.iter().map(|_| Default::default()).collect();
        Way { name, words, programs: self.programs.clone(), runs, simulated: None, ..*self }
    }

    /// The figures of a row: for each layout, the least of its runs.
    fn layouts(&self, row: usize) -> Samples {
        let mut samples = Samples::default();
        self.runs.iter().for_each(|runs| samples.push(runs[row].quantile(0.0)));
        samples
    }

    /// The ratio of a row to that of another way, and its interval.
    fn over(&self, other: &Way, row: usize) -> (f64, [f64; 2]) {
        let [own, others] = [self, other].map(|way| way.layouts(row));
        let mut drawn = Samples::default();
        (0..2_000).for_each(|_| drawn.push(own.drawn().median() / others.drawn().median()));
        (own.median() / others.median(), [drawn.quantile(0.025), drawn.quantile(0.975)])
    }
}

/// Runs all ways, in random order in each round. Returns an error if one program computes another result than the others.
fn rounds(ways: &mut [Way], rounds: usize) -> Result<()> {
    let layouts = ways.first().map_or(0, |way| way.programs.len());
    let mut turns: Vec<(usize, usize)> =
        (0..ways.len()).flat_map(|way| (0..layouts).map(move |layout| (way, layout))).collect();
    let mut found = None;
    for _ in 0..rounds {
        fastrand::shuffle(&mut turns);
        for &(way, layout) in &turns {
            let Way { name, words, programs, runs, .. } = &mut ways[way];
            let run = execution::run(&programs[layout], words)?;
            let other = found.get_or_insert_with(|| run.found.clone());
            if *other != run.found {
                return Err(format!("{name} found {}, another {other}: not measured", run.found).into());
            }
            runs[layout].iter_mut().zip(run.rows).for_each(|(samples, figure)| samples.push(figure));
        }
    }
    Ok(())
}

/// Runs the first layout of each way under callgrind with a smaller load, and subtracts the events of a run with no load. Does nothing if there is no
/// callgrind.
fn simulate(ways: &mut [Way], load: &'static str) {
    for way in ways {
        let of = |load| {
            let words: Vec<_> = [load].into_iter().chain(way.words[1..].iter().copied()).collect();
            execution::simulate(&way.programs[0], &words).ok()
        };
        way.simulated = of(load).zip(of("0")).map(|(all, start)| all.minus(start));
    }
}

/// The number of sites of the library. This is the number of sites of a program without keys, which is the least of all ways.
fn sites_of_library(ways: &[Way]) -> usize {
    ways.iter().map(|way| way.sites).min().unwrap_or(0)
}

/// The text for a ratio. If the interval contains 1, no difference was measured.
fn verdict([from, to]: [f64; 2]) -> &'static str {
    if from <= 1.0 && 1.0 <= to { "no difference measured" } else { "" }
}

/// A source file of these programs, with the options to compile it.
pub fn object(compiler: &'static Compiler, source: &Path, name: &str, options: &[&str]) -> Object {
    let options = options.iter().map(|option| (*option).to_owned()).collect();
    Object { compiler, source: source.to_path_buf(), name: name.to_owned(), options }
}
