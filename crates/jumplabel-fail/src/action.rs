//! The grammar of actions: `[p%][count*]task[(argument)]`, joined by `->`.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// One thing that a point does when a thread reaches it.
#[derive(Clone)]
pub enum Task {
    Off,
    Return(Option<String>),
    Sleep(Duration),
    Panic(Option<String>),
    Print(Option<String>),
    /// Waits until somebody configures the point again.
    Pause,
    Yield,
    /// Waits busily, without sleep.
    Delay(Duration),
    Callback(Arc<dyn Fn() + Send + Sync>),
}

/// A task, the probability that it is done, and the number of times that it may still be done (`None`: any number).
pub struct Action {
    task: Task,
    /// The probability that the task is done when it is tried. A value above 1 counts as 1.
    frequency: f32,
    left: Option<usize>,
}

impl Action {
    pub fn callback(callback: impl Fn() + Send + Sync + 'static) -> Action {
        Action { task: Task::Callback(Arc::new(callback)), frequency: 1.0, left: None }
    }

    /// Parses the actions in `text`.
    ///
    /// # Errors
    /// A message about the mistake, in the words of the crate `fail`.
    pub fn parse_all(text: &str) -> Result<Vec<Action>, String> {
        text.split("->").map(Action::parse).collect()
    }

    fn parse(text: &str) -> Result<Action, String> {
        let text = text.trim();
        // The argument is split off first, because it may contain `%` and `*`.
        let (head, argument) = match text.split_once('(') {
            Some((head, rest)) => (head, Some(rest.strip_suffix(')').ok_or("parentheses do not match")?)),
            None => (text, None),
        };
        let (frequency, head) = match head.split_once('%') {
            Some((percent, head)) => (frequency(percent)?, head),
            None => (1.0, head),
        };
        let (left, name) = match head.split_once('*') {
            Some((count, name)) => {
                (Some(count.parse().map_err(|error| format!("failed to parse count: {error}"))?), name)
            }
            None => (None, head),
        };
        Ok(Action { task: Task::parse(name, argument)?, frequency, left })
    }

    /// Returns the task if it is this action's turn: its count is not used up, and a random number is below its probability. Then the count goes
    /// down by one.
    pub fn take(&mut self) -> Option<Task> {
        if self.left == Some(0) || (self.frequency < 1.0 && fastrand::f32() >= self.frequency) {
            return None;
        }
        self.left = self.left.map(|left| left - 1);
        Some(self.task.clone())
    }

    /// Whether the action is an `off` that always has its turn. If so, the actions after it never have theirs.
    pub fn is_off(&self) -> bool {
        matches!(self.task, Task::Off) && self.frequency >= 1.0 && self.left.is_none()
    }

    pub fn is_callback(&self) -> bool {
        matches!(self.task, Task::Callback(_))
    }
}

impl Task {
    fn parse(name: &str, argument: Option<&str>) -> Result<Task, String> {
        let text = || argument.map(str::to_owned);
        let time = || {
            let argument = argument.ok_or("sleep require timeout")?;
            argument.parse().map(Duration::from_millis).map_err(|error| format!("failed to parse timeout: {error}"))
        };
        Ok(match name {
            "off" => Task::Off,
            "return" => Task::Return(text()),
            "sleep" => Task::Sleep(time()?),
            "panic" => Task::Panic(text()),
            "print" => Task::Print(text()),
            "pause" => Task::Pause,
            "yield" => Task::Yield,
            "delay" => Task::Delay(time()?),
            _ => return Err(format!("unrecognized command {name:?}")),
        })
    }
}

fn frequency(percent: &str) -> Result<f32, String> {
    let percent: f32 = percent.parse().map_err(|error| format!("failed to parse frequency: {error}"))?;
    if percent >= 0.0 {
        Ok(percent / 100.0)
    } else {
        Err(format!("failed to parse frequency: {percent} is not a share"))
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Task::Off => f.write_str("off"),
            Task::Return(text) => write!(f, "return {text:?}"),
            Task::Sleep(time) => write!(f, "sleep {time:?}"),
            Task::Panic(text) => write!(f, "panic {text:?}"),
            Task::Print(text) => write!(f, "print {text:?}"),
            Task::Pause => f.write_str("pause"),
            Task::Yield => f.write_str("yield"),
            Task::Delay(time) => write!(f, "delay {time:?}"),
            Task::Callback(_) => f.write_str("callback"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Action;

    /// The actions in `text`: of each, the probability, the count and the task, as text.
    fn parsed(text: &str) -> Result<String, String> {
        let actions = Action::parse_all(text)?;
        let shown = actions.iter().map(|action| format!("{:?} {:?} {:?}", action.frequency, action.left, action.task));
        Ok(shown.collect::<Vec<_>>().join("; "))
    }

    #[test]
    fn actions() {
        for (text, understood) in [
            ("return", "1.0 None return None"),
            ("return(64)", "1.0 None return Some(\"64\")"),
            ("return()", "1.0 None return Some(\"\")"),
            ("5*return", "1.0 Some(5) return None"),
            ("25%return", "0.25 None return None"),
            ("125%2*return", "1.25 Some(2) return None"),
            ("return(2%5)", "1.0 None return Some(\"2%5\")"),
            ("return(a(b)*c)", "1.0 None return Some(\"a(b)*c\")"),
            (" 125%2*off ", "1.25 Some(2) off"),
            ("125%2*sleep(100)", "1.25 Some(2) sleep 100ms"),
            ("125%2*panic", "1.25 Some(2) panic None"),
            ("panic(msg)", "1.0 None panic Some(\"msg\")"),
            ("print(still alive!)", "1.0 None print Some(\"still alive!\")"),
            ("0%pause", "0.0 None pause"),
            ("yield", "1.0 None yield"),
            ("delay(2)", "1.0 None delay 2ms"),
            ("20%3*print(a)->panic", "0.2 Some(3) print Some(\"a\"); 1.0 None panic None"),
        ] {
            assert_eq!(parsed(text).as_deref(), Ok(understood), "{text}");
        }
    }

    #[test]
    fn errors() {
        for (text, error) in [
            ("delay", "sleep require timeout"),
            ("sleep", "sleep require timeout"),
            ("sleep(a)", "failed to parse timeout: invalid digit found in string"),
            ("Return", "unrecognized command \"Return\""),
            ("", "unrecognized command \"\""),
            ("off->", "unrecognized command \"\""),
            ("ab%return", "failed to parse frequency: invalid float literal"),
            ("-5%return", "failed to parse frequency: -5 is not a share"),
            ("NaN%return", "failed to parse frequency: NaN is not a share"),
            ("ab*return", "failed to parse count: invalid digit found in string"),
            ("return(msg", "parentheses do not match"),
            ("return(a)b", "parentheses do not match"),
        ] {
            assert_eq!(parsed(text), Err(error.to_owned()), "{text}");
        }
    }

    /// An action with a count has its turn that number of times. An action with a probability has its turn in about that share of calls.
    #[test]
    fn turns() {
        let mut action = Action::parse("80%100*return").unwrap();
        let tries = (1..).scan(0, |taken, tries| {
            *taken += usize::from(action.take().is_some());
            (*taken < 100).then_some(tries)
        });
        let tries = tries.last().unwrap();
        assert!((105..150).contains(&tries), "{tries} for 100 of 80 %");
        assert!((0..1000).all(|_| action.take().is_none()));
        let mut never = Action::parse("0%return").unwrap();
        assert!((0..1000).all(|_| never.take().is_none()));
    }
}
