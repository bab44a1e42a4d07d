//! `engine FOLDER`: writes something into raft-engine for each line of standard input, and says how that ended. Its agent lists and sets the
//! engine's fail points. `engine FOLDER NUMBER` writes so many times, and says how many nanoseconds one took.

use std::time::Instant;

use raft_engine::{Config, Engine, LogBatch};

jumplabel_agent::startup!();

fn write(engine: &Engine, number: usize, sync: bool) -> raft_engine::Result<usize> {
    let mut batch = LogBatch::default();
    batch.put(1, b"number".to_vec(), number.to_le_bytes().to_vec())?;
    engine.write(&mut batch, sync)
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let dir = arguments.next().expect("a folder");
    let engine = Engine::open(Config { dir, ..Config::default() }).expect("the engine opens");
    if let Some(number) = arguments.next() {
        let (start, count) = (Instant::now(), number.parse().expect("a number"));
        for number in 0..count {
            write(&engine, number, false).expect("it writes");
        }
        println!("{}", start.elapsed().as_nanos() as f64 / count as f64);
        return;
    }
    jumplabel_agent::serve(jumplabel_fail::layer()).expect("it is served");
    println!("ready");
    for (number, _) in std::io::stdin().lines().enumerate() {
        let written = write(&engine, number, true).map(|bytes| bytes > 0);
        let read = engine.get(1, b"number").map(|bytes| bytes == number.to_le_bytes());
        println!("{written:?} {read:?}");
    }
}
