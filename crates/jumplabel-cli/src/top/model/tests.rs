//! Tests of the model, with answers that agents could give.

mod pressed;

use std::time::{Duration, SystemTime};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use jumplabel_agent::protocol::{Changed, Done, Happened, Hello, Peer, Row, Since};

use super::*;

/// The moment `seconds` after the model's start. At the start, the clock shows 13:05:11.
pub fn after(model: &Model, seconds: u64) -> Now {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_763_903_111 + seconds);
    Now { instant: model.start + Duration::from_secs(seconds), time }
}

pub fn row(key: &str, kind: &str, state: &str) -> Row {
    let count = (kind == "key").then(|| i32::from(state == "on"));
    let declared = Declared { file: "src/lib.rs".to_owned(), line: 10, column: 1 };
    Row {
        key: key.to_owned(),
        kind: kind.to_owned(),
        state: state.to_owned(),
        count,
        sites: 2,
        declared,
        no_remote: false,
        reverts_in: None,
        since: None,
        probes: None,
        note: None,
        differing: 0,
        loading: 0,
    }
}

pub fn rows() -> Vec<Row> {
    let mut all = vec![
        row("app::HASH", "call", "app::plain"),
        row("app::MODE", "mode", "2/3"),
        row("auth.check", "key", "on"),
        row("net.trace", "key", "off"),
        row("net:packet", "tracepoint", "off"),
        row("wal.fsync", "key", "on"),
    ];
    all[2].no_remote = true;
    let by = Some(Peer { uid: 1000, pid: 5120 });
    (all[5].since, all[5].reverts_in) = (Some(Since { seconds: 724, by }), Some(30));
    all
}

pub fn list(keys: Vec<Row>) -> Told {
    Told::Answer(Box::new(Answer { keys: Some(keys), ..Answer::new() }))
}

fn done(changes: &[(&str, &str, &str)], undo: &str) -> Done {
    let changes = changes.iter().map(|(key, from, to)| Changed {
        key: (*key).to_owned(),
        from: (*from).to_owned(),
        to: (*to).to_owned(),
        sites: 2,
    });
    Done { changes: changes.collect(), undo: undo.to_owned(), pages: 1, nanoseconds: 41_000, ..Done::default() }
}

/// An event: a client of the agent has changed something.
pub fn event(changes: &[(&str, &str, &str)], undo: &str) -> Told {
    let by = Some(Peer { uid: 1000, pid: 5121 });
    let event = Happened { time: 1_763_903_110.5, by, done: done(changes, undo) };
    Told::Answer(Box::new(Answer { event: Some(event), ..Answer::new() }))
}

fn answer(changes: &[(&str, &str, &str)]) -> Told {
    Told::Answer(Box::new(Answer { set: Some(done(changes, "")), ..Answer::new() }))
}

/// A model of these processes, each with a connection and all rows.
pub fn connected(targets: &[&str]) -> Model {
    let targets: Vec<_> = targets.iter().map(|&target| target.to_owned()).collect();
    let mut model = Model::new(&targets, Duration::from_secs(1), Now::new());
    let now = after(&model, 0);
    for (at, target) in targets.iter().enumerate() {
        let name = target.trim_start_matches('@').to_owned();
        let pid = 4711 + u32::try_from(at).unwrap();
        let asked = model.told(at, Told::Connected, now);
        assert_eq!(asked.len(), 3);
        let hello = Some(Hello { name, pid, program: None, read_only: target == "@reads" });
        for told in [Answer { hello, ..Answer::new() }, Answer::new()] {
            model.told(at, Told::Answer(Box::new(told)), now);
        }
        model.told(at, list(rows()), now);
    }
    model.drawn(LEAST);
    model
}

/// Presses keys: letters, or one of the special ones here.
pub fn press(model: &mut Model, keys: &str) -> Vec<Action> {
    let now = after(model, 0);
    keys.chars().fold(Vec::new(), |_, letter| {
        let code = match letter {
            '\n' => KeyCode::Enter,
            '\u{1b}' => KeyCode::Esc,
            '\u{8}' => KeyCode::Backspace,
            '^' => KeyCode::Up,
            'v' => KeyCode::Down,
            letter => KeyCode::Char(letter),
        };
        model.pressed(KeyEvent::new(code, KeyModifiers::NONE), now)
    })
}

fn names(model: &Model) -> Vec<&str> {
    model.shown().iter().map(|(_, entry)| &*entry.row.key).collect()
}

/// The first request among the actions, as a line.
fn line(actions: &[Action]) -> (usize, String) {
    match &actions[0] {
        Action::Ask(at, request) => (*at, request.to_string()),
        other => panic!("{other:?}"),
    }
}

fn message(model: &Model) -> &str {
    model.message.as_ref().map_or("", |message| &message.text)
}

/// An agent that does not answer is asked nothing more, and the view says so.
#[test]
fn silence() {
    let mut model = connected(&["@web"]);
    press(&mut model, "/net\n");
    let start = after(&model, 0);
    assert_eq!(model.due(start), []);
    let now = after(&model, 1);
    assert_eq!(model.due(now), [Action::Ask(0, Request::List(Vec::new()))]);
    let now = after(&model, 3);
    assert_eq!((model.due(now), model.processes[0].late(now.instant)), (vec![], None));
    let now = after(&model, 9);
    assert_eq!((model.due(now), model.processes[0].late(now.instant)), (vec![], Some(8)));
    assert_eq!(model.pressed(KeyEvent::new(KeyCode::Char(' '), KeyModifiers::NONE), now), []);
    model.told(0, list(rows()), now);
    assert_eq!(model.due(now).len(), 1);
    // When the connection goes, so do the requests that wait for an answer.
    model.told(0, Told::Lost("its agent has closed the connection".to_owned()), now);
    assert_eq!(message(&model), "web.4711: its agent has closed the connection");
    assert_eq!((model.due(after(&model, 20)), press(&mut model, " ")), (vec![], vec![]));
    assert_eq!(model.told(0, Told::Connected, after(&model, 21)).len(), 3);
    assert_eq!(message(&model), "web.4711 is there again");
    model.told(0, Told::Ended("process 4711 has ended".to_owned()), now);
    press(&mut model, " ");
    assert!(message(&model).contains("web.4711: nothing was asked: process 4711 has ended"), "{}", message(&model));
    assert_eq!(model.log.last(9).count(), 3);
}

/// The model does not wait for an answer to a request that was not sent.
#[test]
fn not_sent() {
    let mut model = connected(&["@web"]);
    let now = after(&model, 0);
    press(&mut model, "/net.tr\n");
    let actions = press(&mut model, " ");
    let [Action::Ask(0, set), Action::Ask(0, _)] = &actions[..] else { panic!("{actions:?}") };
    model.not_asked(0, set, "too many selectors", now);
    assert_eq!(message(&model), "web.4711: too many selectors");
    model.told(0, list(rows()), now);
    assert_eq!(line(&press(&mut model, " ")).1, "set net.trace=on", "the list was answered, and nothing is open");
}

/// Flips by the agent are counted. For flips by the program, two lists show that there was at least one.
#[test]
fn flips() {
    let mut model = connected(&["@web"]);
    let now = after(&model, 2);
    for at in 0..5 {
        let words = if at % 2 == 0 { ("off", "on") } else { ("on", "off") };
        model.told(0, event(&[("net.trace", words.0, words.1)], "net.trace=off"), now);
    }
    let rate = |model: &Model, key: &str| {
        let shown = model.shown();
        shown.iter().find(|(_, entry)| entry.row.key == key).unwrap().1.flips.rate(now.instant)
    };
    assert_eq!(rate(&model, "net.trace"), "0.5");
    model.due(now);
    let mut other = rows();
    "on".clone_into(&mut other[3].state);
    "off".clone_into(&mut other[5].state);
    model.told(0, list(other), now);
    assert_eq!((&*rate(&model, "net.trace"), &*rate(&model, "wal.fsync")), ("0.5", ">=0.1"));
}

/// A peer that is no agent: the rows stay, and the reason is shown.
#[test]
fn answers_without_what_was_asked() {
    let mut model = connected(&["@web"]);
    let now = after(&model, 2);
    model.due(now);
    let rows = model.processes[0].entries.len();
    model.told(0, Told::Answer(Box::new(Answer::new())), now);
    assert!(rows > 0 && model.processes[0].entries.len() == rows);
    assert!(model.message.as_ref().is_some_and(|message| message.text.contains("no agent")));
}
