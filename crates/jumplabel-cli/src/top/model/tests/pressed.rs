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

/// A terminal that is too small shows no line, so no key on the keyboard changes anything.
#[test]
fn too_small() {
    for size in [(79, 24), (80, 23), (0, 0)] {
        let mut model = connected(&["@web"]);
        let now = after(&model, 0);
        model.told(0, event(&[("net.trace", "off", "on")], "net.trace=off"), now);
        press(&mut model, "/net.tr");
        for told in [Model::drawn, Model::resized] {
            told(&mut model, size);
            for keys in [" ", "r", "R", "\n", "\u{1b}", "\u{8}", "v", "x", "?"] {
                assert_eq!(press(&mut model, keys), [], "{keys:?}");
            }
            model.pasted("x");
            assert_eq!((&*model.filter, model.types, model.helps, message(&model)), ("net.tr", true, false, ""));
            assert_eq!(press(&mut model, "q"), [Action::End], "also while letters filter");
            let control = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
            assert_eq!(model.pressed(control, now), [Action::End]);
            // The terminal is larger again, but the lines count as seen only once they are drawn.
            model.resized(LEAST);
            assert_eq!(press(&mut model, " "), []);
            model.drawn(LEAST);
            model.resized((200, 60));
        }
        assert_eq!(line(&press(&mut model, "\nr")).1, "set net.trace=off");
    }
}

/// Connects a process, and answers all requests except the one for the list.
fn connects(model: &mut Model, at: usize, now: Now) {
    for told in [Told::Connected, Told::Answer(Answer::new().into()), Told::Answer(Answer::new().into())] {
        model.told(at, told, now);
    }
}

/// A key on the keyboard acts only on the entry that was drawn under the cursor: not on an entry that has come in front of it since, and not on the
/// entry that is in its place once it has gone.
#[test]
fn lines_that_come_and_go() {
    let mut model = connected(&["@web"]);
    let mut more = rows();
    more.insert(0, row("aaa", "key", "off"));
    let lists = |model: &mut Model, seconds: u64, rows: &[Row]| {
        let now = after(model, seconds);
        model.due(now);
        model.told(0, list(rows.to_vec()), now);
    };
    lists(&mut model, 1, &more[2..]);
    for (key, seconds) in [(" ", 2), ("r", 5)] {
        // The first line that was drawn is app::HASH, which has gone.
        assert_eq!(press(&mut model, key), []);
        assert_eq!(message(&model), "app::HASH is not there any more: nothing was asked");
        lists(&mut model, seconds, &more[1..]);
        press(&mut model, "^^^^");
        model.drawn(LEAST);
        lists(&mut model, seconds + 1, &more);
        press(&mut model, " ");
        assert!(message(&model).contains("app::HASH is a static call"), "{}", message(&model));
        lists(&mut model, seconds + 2, &more[2..]);
        model.drawn(LEAST);
    }
    assert_eq!(press(&mut model, " "), []);
    assert_eq!(line(&press(&mut model, " ")).1, "set app::MODE=0", "now the cursor is on this one");
    // Before the list comes, no line is drawn.
    let mut model = Model::new(&["@web".to_owned()], Duration::from_secs(1), Now::new());
    model.drawn(LEAST);
    let now = after(&model, 0);
    connects(&mut model, 0, now);
    model.told(0, list(rows()), now);
    assert_eq!((press(&mut model, " "), message(&model)), (vec![], "there is nothing to toggle"));
    model.drawn(LEAST);
    lists(&mut model, 1, &more);
    press(&mut model, " ");
    assert!(message(&model).contains("app::HASH is a static call"), "{}", message(&model));
}

/// Until all processes have listed their keys, each drawing puts the cursor on the first line, whichever process answers first.
#[test]
fn the_first_line() {
    let targets = ["@shop", "@web"].map(str::to_owned);
    let mut model = Model::new(&targets, Duration::from_secs(1), Now::new());
    let now = after(&model, 0);
    for at in [1, 0] {
        connects(&mut model, at, now);
        model.told(at, list(rows()), now);
        if at == 1 {
            model.drawn(LEAST);
        }
        // The answer of the other process is not drawn yet.
        let shown = model.shown();
        assert_eq!(model.cursor(&shown), if at == 1 { 0 } else { 6 });
    }
    model.drawn(LEAST);
    assert_eq!(model.cursor(&model.shown()), 0);
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
