//! Tests of what keys on the keyboard do.

use super::*;

#[test]
fn the_filter() {
    let mut model = connected(&["@web"]);
    assert_eq!(model.shown().len(), 6);
    press(&mut model, "/NET");
    assert_eq!((names(&model), &*model.filter), (vec!["net.trace", "net:packet"], "net"));
    // In the filter, letters are only letters, even those that are commands elsewhere.
    press(&mut model, ".q");
    assert_eq!(names(&model), [""; 0]);
    press(&mut model, "\u{8}\n");
    assert_eq!(names(&model), ["net.trace"]);
    assert_eq!(press(&mut model, "q"), [Action::End]);
    press(&mut model, "\u{1b}");
    assert_eq!((model.shown().len(), model.types), (6, false));
    model.pasted(" \n");
    press(&mut model, "/");
    model.pasted("w a\nl");
    assert_eq!((&*model.filter, names(&model)), ("wal", vec!["wal.fsync"]));
}

/// The cursor stays on its line if other lines come, go, or are filtered out.
#[test]
fn the_cursor() {
    let mut model = connected(&["@web"]);
    press(&mut model, "vvv");
    let under = |model: &Model| {
        let shown = model.shown();
        shown[model.cursor(&shown)].1.row.key.clone()
    };
    assert_eq!(under(&model), "net.trace");
    press(&mut model, "/net");
    assert_eq!(under(&model), "net.trace");
    press(&mut model, "\u{1b}");
    let mut fewer = rows();
    fewer.remove(0);
    let now = after(&model, 2);
    assert_eq!(model.due(now).len(), 1);
    model.told(0, list(fewer), now);
    assert_eq!(under(&model), "net.trace");
    press(&mut model, "/wal");
    assert_eq!(under(&model), "wal.fsync");
    press(&mut model, "\u{1b}^^^^^^^^");
    assert_eq!(under(&model), "app::MODE");
    press(&mut model, "vvvvvvvvvv");
    assert_eq!(under(&model), "wal.fsync");
}

#[test]
fn toggles() {
    for (name, asked) in [
        ("net.tr", "set net.trace=on"),
        ("auth", "set auth.check=off"),
        ("packet", "set net:packet=on"),
        ("mode", "set app::MODE=0"),
    ] {
        let mut model = connected(&["@shop", "@web"]);
        let now = after(&model, 0);
        press(&mut model, &format!("/{name}\nv"));
        let actions = press(&mut model, " ");
        assert_eq!((line(&actions), actions.len()), ((1, asked.to_owned()), 2), "and a list behind it");
        // A process gets only one change at a time.
        assert_eq!(press(&mut model, " "), []);
        assert!(message(&model).contains("web.4712: nothing was asked: the change before"), "{}", message(&model));
        let refused = Answer::error(4, "none of these is set: because".to_owned());
        model.told(1, Told::Answer(Box::new(refused)), now);
        assert_eq!(message(&model), "web.4712: none of these is set: because");
        assert!(model.message.as_ref().unwrap().is_trouble);
    }
    let mut model = connected(&["@web"]);
    assert_eq!(press(&mut model, "/hash "), []);
    assert!(message(&model).contains("app::HASH is a static call: only the program"), "{}", message(&model));
    assert_eq!(press(&mut model, "/nobody "), []);
    assert_eq!(message(&model), "there is nothing to toggle");
}

/// If two keys have one name, each can be set alone.
#[test]
fn names_that_are_not_unique() {
    let mut model = connected(&["@web"]);
    let mut two = vec![row("X", "key", "off"), row("X", "key", "off")];
    two[1].declared.line = 20;
    let now = after(&model, 2);
    model.due(now);
    model.told(0, list(two), now);
    assert_eq!(line(&press(&mut model, "/x\nv ")).1, "set X@src/lib.rs:20:1=on");
}

/// The view takes back each change of an operator only once, whoever the operator was.
#[test]
fn takes_back() {
    let mut model = connected(&["@web"]);
    let now = after(&model, 0);
    press(&mut model, "/net.tr\n");
    assert_eq!(press(&mut model, "r"), []);
    assert!(message(&model).contains("net.trace: no operator has changed it"), "{}", message(&model));
    let on = [("net.trace", "off", "on")];
    model.told(0, event(&on, "net.trace=off"), now);
    assert_eq!(line(&press(&mut model, "r")).1, "set net.trace=off");
    let off = [("net.trace", "on", "off")];
    model.told(0, answer(&off), now);
    model.told(0, event(&off, "net.trace=on"), now);
    assert_eq!(message(&model), "net.trace on -> off: 2 sites in 1 page, 41 us");
    model.told(0, list(rows()), now);
    assert_eq!(press(&mut model, "r"), [], "it is as it was");
    // Somebody else has taken the change back.
    for change in [&on, &off] {
        model.told(0, event(change, &format!("net.trace={}", change[0].1)), now);
    }
    assert_eq!(press(&mut model, "r"), []);
    // If a change added a user, only the last such change is taken back.
    model.told(0, event(&[("net.trace", "off/0", "on/1")], "net.trace-1"), now);
    assert_eq!(line(&press(&mut model, "r")).1, "set net.trace-1");
    // The program itself has set the key since. The agent then names no operator for the key.
    let now = after(&model, 3);
    model.told(0, answer(&[]), now);
    model.told(0, list(rows()), now);
    assert_eq!(press(&mut model, "r"), []);
    assert!(model.log.last(1).next().unwrap().contains("net.trace  on -> off  by the program"));
    // If a change is older than the view, the other state of the key takes it back.
    assert_eq!(line(&press(&mut model, "\u{1b}/wal\nr")).1, "set wal.fsync=off");
}

#[test]
fn takes_all_back() {
    let mut model = connected(&["@shop", "@web"]);
    let now = after(&model, 0);
    let several = [("net.trace", "off", "on"), ("app::MODE", "2/3", "0/3")];
    model.told(1, event(&several, "net.trace=off,app::MODE=2"), now);
    press(&mut model, "/e\n"); // The filter leaves out wal.fsync.
    let actions = press(&mut model, "R");
    assert_eq!(line(&actions), (1, "set app::MODE=2,net.trace=off".to_owned()));
    assert_eq!(actions.len(), 2);
    assert_eq!(press(&mut model, "R"), []);
    assert!(message(&model).contains("nothing was asked: the change before"), "{}", message(&model));
    press(&mut model, "\u{1b}/hash\nR");
    assert!(message(&model).contains("no operator has changed what is shown"), "{}", message(&model));
}
