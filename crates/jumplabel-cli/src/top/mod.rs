//! `top`: shows the keys of processes in a terminal, with the help of their agents.
//!
//! ```text
//!   keyboard ─────┐                                   ┌──► view ──► screen
//!   connections ──┼──► a queue ──► this loop ──► model
//!   signals ──────┘                                   └──► connections: what to ask
//! ```
//!
//! Each source on the left has a thread that waits for it. The loop waits for none of them, so that a process that does not answer stops nothing.

mod connections;
mod model;
mod screen;
mod signals;
mod view;

use std::collections::VecDeque;
use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use crossterm::event::Event;

use crate::arguments;
use crate::failure::{DONE, Failure};
use crate::process::{self, Asker, Process};
use model::{Action, Model, Now, Told};
use screen::Screen;

/// One input of the loop, which takes inputs from the queue.
enum Input {
    /// An event of the terminal, or the reason why no more events come.
    Terminal(std::io::Result<Event>),
    Connected(usize, Asker),
    Told(usize, Told),
    Signal(libc::c_int),
}

/// The number of inputs that the queue holds. If it is full, the threads wait. Agents then drop events, and say that they have dropped some.
const QUEUE: usize = 256;
/// How often the view is drawn although nothing has happened, because it shows seconds.
const TICK: Duration = Duration::from_secs(1);
/// After a signal, the tool ends even if the terminal has accepted no output in this many looks in a row.
const LOOKS: u32 = 20;
/// The time between two looks.
const BETWEEN: Duration = Duration::from_millis(100);

pub fn run(what: &arguments::Top) -> Result<u8, Failure> {
    let instead = "`jumplabel list` and `jumplabel watch` print lines, and with --json lines of JSON";
    if what.json {
        return Err(Failure::Usage(format!("top is for a terminal and has no --json: {instead}")));
    }
    if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        return Err(Failure::Usage(format!("top needs a terminal for what it reads and shows: {instead}")));
    }
    let targets = targets(&what.targets)?;
    let (found, left_out) = find(targets, !what.targets.is_empty())?;
    let (targets, processes): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    signals::block();
    let (to, from) = sync_channel(QUEUE);
    let mut model = Model::new(&targets, Duration::from_secs(what.every.into()), Now::new());
    left_out.iter().for_each(|why| model.left_out(&why.to_string(), Now::new()));
    let mut screen = Screen::open().map_err(lost)?;
    listen(&to);
    for (at, (process, target)) in processes.into_iter().zip(targets).enumerate() {
        connections::read(at, target, process, to.clone());
    }
    let signal = show(&mut model, &mut screen, &from, what.panics).map_err(lost)?;
    drop(screen);
    if let Some(signal) = signal {
        signals::end_by(signal);
    }
    Ok(DONE)
}

fn lost(error: std::io::Error) -> Failure {
    Failure::OutOfReach(format!("the terminal: {error}"))
}

/// The targets on the command line, or all agents of this user.
fn targets(named: &[String]) -> Result<Vec<String>, Failure> {
    let all = if named.is_empty() {
        process::agents().into_iter().map(|(_, pid)| pid.to_string()).collect()
    } else {
        named.to_vec()
    };
    let mut targets: Vec<String> = Vec::new();
    for target in all {
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    if targets.is_empty() {
        let why = "no agent of yours: start a program with JUMPLABEL_AGENT=1, or name a process";
        return Err(Failure::OutOfReach(why.to_owned()));
    }
    Ok(targets)
}

/// Targets, each with the connection to its process.
type Found = Vec<(String, Process)>;

/// Connects with the targets. If the user named a target, it must be there. If [`targets`] found it, the process may have ended meanwhile, or be
/// stopped; then it is left out, and the reason is returned. It is an error if no target remains.
fn find(targets: Vec<String>, are_named: bool) -> Result<(Found, Vec<Failure>), Failure> {
    let (mut found, mut left_out) = (Vec::new(), Vec::new());
    for target in targets {
        match Process::find(&target) {
            Ok(process) => found.push((target, process)),
            Err(why) if are_named => return Err(why),
            Err(why) => left_out.push(why),
        }
    }
    if found.is_empty()
        && let Some(why) = left_out.pop()
    {
        return Err(why);
    }
    Ok((found, left_out))
}

/// Starts the threads that wait for the terminal and for signals.
fn listen(to: &SyncSender<Input>) {
    let (events, ends) = (to.clone(), to.clone());
    thread::spawn(move || {
        loop {
            let event = crossterm::event::read();
            let is_last = event.is_err();
            if events.send(Input::Terminal(event)).is_err() || is_last {
                return;
            }
        }
    });
    thread::spawn(move || {
        let signal = signals::wait();
        let mut is_sent = false;
        let mut left = LOOKS;
        // As long as the terminal accepts output, however slowly, the loop goes on: it restores the screen, and ends the process.
        while left > 0 {
            // The queue may be full because the terminal accepts no output.
            is_sent = is_sent || ends.try_send(Input::Signal(signal)).is_ok();
            thread::sleep(BETWEEN);
            left = if screen::takes() { LOOKS } else { left - 1 };
        }
        let _ = crossterm::terminal::disable_raw_mode();
        signals::end_by(signal);
    });
}

/// Shows the view until the user or a signal ends it. Returns the signal, if one did.
fn show(
    model: &mut Model,
    screen: &mut Screen,
    from: &Receiver<Input>,
    panics: bool,
) -> std::io::Result<Option<libc::c_int>> {
    let mut askers: Vec<Option<Asker>> = model.processes.iter().map(|_| None).collect();
    loop {
        let size = screen.draw(|frame| view::draw(frame, model, Now::new()))?;
        model.drawn(size);
        let first = match from.recv_timeout(TICK) {
            Ok(input) => Some(input),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
        };
        let now = Now::new();
        let mut actions = VecDeque::new();
        for input in first.into_iter().chain(from.try_iter().take(QUEUE)) {
            match input {
                Input::Signal(signal) => return Ok(Some(signal)),
                Input::Terminal(event) => match event? {
                    Event::Key(_) if panics => panic!("as it was asked to"),
                    Event::Key(key) => actions.extend(model.pressed(key, now)),
                    Event::Paste(text) => model.pasted(&text),
                    Event::Resize(width, height) => model.resized((width, height)),
                    _ => {}
                },
                Input::Connected(at, asker) => {
                    askers[at] = Some(asker);
                    actions.extend(model.told(at, Told::Connected, now));
                }
                Input::Told(at, told) => {
                    if !matches!(told, Told::Answer(_)) {
                        askers[at] = None;
                    }
                    actions.extend(model.told(at, told, now));
                }
            }
        }
        actions.extend(model.due(now));
        while let Some(action) = actions.pop_front() {
            match action {
                Action::End => return Ok(None),
                Action::Redraw => screen.clear()?,
                Action::Ask(at, request) => {
                    let Some(asker) = &mut askers[at] else { continue };
                    if let Err(why) = asker.ask(&request) {
                        model.not_asked(at, &request, &why.to_string(), now);
                    }
                }
            }
        }
    }
}
