//! Entries of prefixes on which the library cannot rely, because they are damaged. `enter` and `leave` say so, and change nothing: if `leave`
//! said Ok, threads would start without `lock`.

use jumplabel::Error;
use jumplabel::up;
use jumplabel_testing::scenario::{fork, passes, reap};

#[path = "../refusals/misuse/table.rs"]
mod table;

/// The site or the key's address leads out of the object.
#[test]
fn damaged() {
    let is_damaged = |result| matches!(result, Err(Error::DamagedTable { .. }));
    passes(move || {
        for word in [0, 2] {
            for entered in [false, true] {
                reap(fork(|| {
                    // SAFETY: no thread starts.
                    let enter = || unsafe { up::enter() };
                    if entered {
                        enter().unwrap();
                    }
                    table::damage(word, |meta| meta == up::META);
                    for _ in 0..2 {
                        assert!(is_damaged(enter()));
                        assert!(up::leave().is_err_and(|error| is_damaged(Err(error))) == entered);
                        assert_eq!(up::is_on(), entered);
                        assert!(!entered || up::spawn(|| unreachable!("a thread without prefixes")).is_err());
                    }
                    true
                }));
            }
        }
    });
}
