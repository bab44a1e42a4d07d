//! The thread that watches etcd on behalf of a follower.

use std::sync::mpsc::Sender;
use std::time::Duration;

use super::etcd::{Ended, Etcd, Event, Pair};

/// The first pause after the server was lost, and the longest one.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(5)];

/// A message from the watching thread to the follower.
pub enum Told {
    /// All pairs that etcd has, and their revision.
    State(Vec<Pair>, i64),
    Events(Vec<Event>, i64),
    Lost(String),
}

/// Sends everything that happens to the keys under `place` to the follower, until the follower has gone.
pub fn watch(mut etcd: Etcd, place: &str, resumes: bool, told: &Sender<Told>) {
    let (mut pause, mut next) = (PAUSES[0], None::<i64>);
    loop {
        let ended = match next {
            None => match etcd.range(place) {
                Ok((pairs, revision)) => {
                    next = Some(revision + 1);
                    pause = PAUSES[0];
                    if told.send(Told::State(pairs, revision)).is_err() {
                        return;
                    }
                    continue;
                }
                Err(failure) => Ended::Lost(failure.to_string()),
            },
            Some(from) => etcd.watch(place, from, |events, behind| {
                pause = PAUSES[0];
                next = Some(behind);
                let _ = told.send(Told::Events(events, behind - 1));
            }),
        };
        match ended {
            Ended::Quiet => {}
            Ended::Compacted => next = None,
            Ended::Lost(why) => {
                if told.send(Told::Lost(why)).is_err() {
                    return;
                }
                // Pauses differ from process to process, so that not all followers come back at once.
                std::thread::sleep(pause.mul_f64(0.5 + f64::from(std::process::id() % 100) / 100.0));
                pause = (pause * 2).min(PAUSES[1]);
                etcd.next();
                if let (false, Ok((_, revision))) = (resumes, etcd.range(place)) {
                    next = Some(revision + 1);
                }
            }
        }
    }
}
