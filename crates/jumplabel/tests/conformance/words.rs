//! Bodies of tests of the counter's words: a part of keys.rs.

/// The meaning of each kind of word, at its borders.
pub fn words() {
    use core::sync::atomic::AtomicI32;
    use jumplabel::key::count::{sealed, users};

    for (word, count, is_sealed) in [
        (0, 0, false),
        (1, 1, false),
        (i32::MAX, i32::MAX, false),
        (-1, 1, false),
        (-2, i32::MAX - 1, true),
        (i32::MIN, 0, true),
        (i32::MIN + 1, 1, true),
    ] {
        assert_eq!((users(word), sealed(&AtomicI32::new(word))), (count, is_sealed), "{word}");
    }
}

/// The word that each change under the lock makes of each kind of word. This includes changes that mostly succeed without the lock.
pub fn changes_of_words() {
    use Transition::{Done, Join, Leave, TurnOff, TurnOn};
    use core::sync::atomic::{AtomicI32, Ordering};
    use jumplabel::key::count::{Change, Misuse, Transition, abandon, add, begin, publish};

    const MAX: i32 = i32::MAX;
    const OFF: i32 = i32::MIN; // sealed
    const ON: i32 = i32::MIN + 1;
    let all = [
        (Change::Enable, 0, Ok(TurnOn), 1),
        (Change::Enable, 1, Ok(Done), 1),
        (Change::Enable, 2, Err(Misuse::Counted(2)), 2),
        (Change::Enable, OFF, Err(Misuse::Sealed), OFF),
        (Change::Enable, ON, Ok(Done), ON),
        (Change::Disable, 0, Ok(Done), 0),
        (Change::Disable, 1, Ok(TurnOff), 0),
        (Change::Disable, 2, Err(Misuse::Counted(2)), 2),
        (Change::Disable, OFF, Ok(Done), OFF),
        (Change::Disable, ON, Err(Misuse::Sealed), ON),
        (Change::Inc, 0, Ok(TurnOn), 1),
        (Change::Inc, 1, Ok(Join), 2),
        (Change::Inc, 2, Ok(Join), 3),
        (Change::Inc, MAX - 1, Ok(Join), MAX),
        (Change::Inc, MAX, Err(Misuse::Overflow), MAX),
        (Change::Inc, OFF, Err(Misuse::Sealed), OFF),
        (Change::Dec, 0, Err(Misuse::Underflow), 0),
        (Change::Dec, 1, Ok(TurnOff), 0),
        (Change::Dec, 2, Ok(Leave), 1),
        (Change::Dec, MAX, Ok(Leave), MAX - 1),
        (Change::Dec, ON, Err(Misuse::Sealed), ON),
    ];
    for (change, before, expected, after) in all {
        let word = AtomicI32::new(before);
        let result = begin(&word, change);
        assert_eq!(result, expected, "{change:?} of {before}");
        let Ok(transition) = result else {
            assert_eq!(word.into_inner(), before);
            continue;
        };
        let again = AtomicI32::new(word.load(Ordering::Relaxed));
        if transition == Leave {
            add(&again);
        }
        // Only a user that comes is counted by each call.
        for _ in 0..if transition == Join { 1 } else { 2 } {
            publish(&word, transition);
            assert_eq!(word.load(Ordering::Relaxed), after, "{change:?} of {before}");
            abandon(&again);
            assert_eq!(again.load(Ordering::Relaxed), before, "{change:?} of {before}, refused");
        }
    }
}

/// A state that a forked process can find: a key whose last user was leaving. The user has not left, whatever is asked of the key.
pub fn left_behind_while_leaving() {
    use core::sync::atomic::{AtomicI32, Ordering};
    use jumplabel::key::count::{Change, Misuse, Transition, begin, seal, sealed, users};

    let leaving = || AtomicI32::new(-1);
    let word = leaving();
    assert_eq!((seal(&word), sealed(&word), users(word.load(Ordering::Relaxed))), (Ok(()), true, 1));
    for (change, expected, count) in [
        (Change::Enable, Ok(Transition::Done), 1),
        (Change::Inc, Ok(Transition::Join), 1),
        (Change::Disable, Ok(Transition::TurnOff), 1),
        (Change::Dec, Ok(Transition::TurnOff), 1),
    ] {
        let word = leaving();
        assert_eq!((begin(&word, change), users(word.load(Ordering::Relaxed))), (expected, count), "{change:?}");
    }
    // A count that is sealed would become this mark.
    assert_eq!(seal(&AtomicI32::new(i32::MAX)), Err(Misuse::Overflow));
}
