//! Tests of the view in terminals of given sizes.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use snapbox::{assert_data_eq, str};

use super::super::model::tests::{after, connected, event, list, press, rows};
use super::super::model::{Model, Told};
use super::draw;

/// The lines of the view, without blanks at their ends.
fn shown(model: &Model, width: u16, height: u16, seconds: u64) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, model, after(model, seconds))).unwrap();
    let buffer = terminal.backend().buffer();
    let lines = buffer.content.chunks(width.max(1).into()).map(|cells| {
        let line: String = cells.iter().map(|cell| cell.symbol()).collect();
        line.trim_end().to_owned()
    });
    lines.map(|line| line + "\n").collect()
}

#[test]
fn of_80_and_24() {
    let mut model = connected(&["@web"]);
    let now = after(&model, 1);
    model.told(0, event(&[("net.trace", "off", "on")], "net.trace=off"), now);
    press(&mut model, "vvv");
    let now = after(&model, 2);
    model.due(now);
    let mut later: Vec<_> = model.processes[0].entries.iter().map(|entry| entry.row.clone()).collect();
    "off".clone_into(&mut later[2].state);
    model.told(0, list(later), now);
    // The figure in docs/operating.md is this page, too; a test of the tool compares them.
    let page = shown(&model, 80, 24, 2);
    assert!(page == include_str!("page.txt"), "page.txt is not this:\n{page}");
}

/// A view of several processes: one has ended, and one does not answer.
#[test]
fn of_several_processes() {
    let mut model = connected(&["@web", "@reads", "@a-name-of-thirty-two-letters", "@gone", "@late"]);
    let now = after(&model, 1);
    assert_eq!(model.due(now).len(), 5);
    for at in 0..3 {
        model.told(at, list(rows()), now);
    }
    model.told(3, Told::Ended("process 4714 has ended".to_owned()), now);
    press(&mut model, "/net\n");
    let expected = str![[r#"
jumplabel top   5 processes, 10 of 30 keys shown, asked every 1 s
reads.4712: its agent is read-only
gone.4714: process 4714 has ended
late.4715: no answer for 4 s: is the process stopped?
 PROCESS       KEY         STATE   SITES  FLIPS/S   SINCE  BY UID/PID
>web.4711      net.trace   off         2        0       -  -
 web.4711      net:packet  off         2        0       -  -
 reads.4712    net.trace   off         2        0       -  -
 reads.4712    net:packet  off         2        0       -  -
 ..tters.4713  net.trace   off         2        0       -  -
 ..tters.4713  net:packet  off         2        0       -  -
 gone.4714     net.trace   off         2        0       -  -
 gone.4714     net:packet  off         2        0       -  -
 late.4715     net.trace   off         2        0       -  -
 late.4715     net:packet  off         2        0       -  -
net.trace: key, 0 users, src/lib.rs:10
-- events (UTC) ----------------------------------------------------------------
13:05:12.000  gone.4714  process 4714 has ended




gone.4714: process 4714 has ended
/net  Esc shows all  blank toggle  r take back  R all of them  ? help  q quit

"#]];
    assert_data_eq!(shown(&model, 80, 24, 5), expected);
    let expected = str![[r#"
jumplabel top   5 processes, 10 of 30 keys shown, asked every 1 s
reads.4712: its agent is read-only
gone.4714: process 4714 has ended
late.4715: no answer for 4 s: is the process stopped?
 PROCESS              KEY         STATE   SITES  FLIPS/S   SINCE  BY UID/PID
>web.4711             net.trace   off         2        0       -  -
 web.4711             net:packet  off         2        0       -  -
 reads.4712           net.trace   off         2        0       -  -
 reads.4712           net:packet  off         2        0       -  -
 ..-two-letters.4713  net.trace   off         2        0       -  -
 ..-two-letters.4713  net:packet  off         2        0       -  -
 gone.4714            net.trace   off         2        0       -  -
 gone.4714            net:packet  off         2        0       -  -
 late.4715            net.trace   off         2        0       -  -
 late.4715            net:packet  off         2        0       -  -





net.trace: key, 0 users, src/lib.rs:10
-- events (UTC) --------------------------------------------------------------------------------------------------------
13:05:12.000  gone.4714  process 4714 has ended





gone.4714: process 4714 has ended
/net  Esc shows all  blank toggle  r take back  R all of them  ? help  q quit

"#]];
    assert_data_eq!(shown(&model, 120, 30, 5), expected);
}

#[test]
fn of_a_smaller_terminal() {
    let model = connected(&["@web"]);
    for (width, height) in [(79, 24), (80, 23), (40, 3), (40, 1), (1, 1), (0, 0)] {
        let shown = shown(&model, width, height, 0);
        let expected = format!("top needs 80x24, and has {width}x{height}");
        assert!(width < 40 || shown.starts_with(&expected), "{shown}");
    }
}

#[test]
fn help() {
    let mut model = connected(&["@web"]);
    press(&mut model, "?");
    let page = shown(&model, 80, 24, 0);
    for words in ["Any key goes back.", "takes back what operators", "FLIPS/S"] {
        assert!(page.contains(words), "{page}");
    }
    assert!(page.lines().all(|line| !line.ends_with("..")), "a line is too long:\n{page}");
    press(&mut model, " ");
    assert!(shown(&model, 80, 24, 0).contains("net.trace"), "and the key has toggled nothing");
    assert!(model.message.is_none());
}

/// An agent may send any text. None of it steers the terminal, and nothing is drawn outside the view.
#[test]
fn hostile_texts() {
    let mut model = connected(&["@web"]);
    let now = after(&model, 2);
    model.due(now);
    let mut hostile = rows();
    for (row, text) in hostile.iter_mut().zip(["\u{1b}[2J", "\u{202e}x", "\n\r\t", "\u{4e00}", "e\u{301}"]) {
        row.key = text.repeat(40);
        row.state = text.repeat(50);
        row.note = Some(text.repeat(60));
        (row.sites, row.declared.file) = (usize::MAX, text.repeat(100));
    }
    model.told(0, list(hostile), now);
    let changes = [("\u{1b}]0;title\u{7}", "\n", "\u{202e}")];
    model.told(0, event(&changes, "\u{1b}"), now);
    for (width, height) in [(80, 24), (81, 25), (200, 60)] {
        for _ in 0..7 {
            let page = shown(&model, width, height, 3);
            assert!(!page.contains(['\u{1b}', '\u{202e}', '\u{7}', '\t', '\r']), "{page}");
            assert_eq!(page.lines().count(), usize::from(height));
            press(&mut model, "v");
        }
    }
}

/// If there are more lines than fit, the view shows the page with the line under the cursor.
#[test]
fn pages() {
    let mut model = connected(&["@web", "@shop", "@third", "@fourth"]);
    for at in 0..24 {
        let page = shown(&model, 80, 24, 0);
        assert_eq!(page.lines().filter(|line| line.starts_with('>')).count(), 1, "{at}\n{page}");
        press(&mut model, "v");
    }
}
