//! A process of this host, and what was done to it for the fleet.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jumplabel_agent::directory::Socket;
use jumplabel_agent::protocol::{Answer, Request};
use jumplabel_selector::Selector;

use super::Wish;
use crate::failure::Failure;
use crate::process::Process;

/// One that has an agent.
pub struct Member {
    pub name: String,
    pub pid: u32,
    path: PathBuf,
    connection: Option<Process>,
    /// By the wish's key: what takes back what it changed here.
    undo: BTreeMap<String, Vec<Selector>>,
    /// By the wish's key: why it is not so.
    pub failed: BTreeMap<String, String>,
}

impl Member {
    pub fn of(socket: Socket) -> Member {
        let Socket { name, pid, path } = socket;
        Member { name, pid, path, connection: None, undo: BTreeMap::new(), failed: BTreeMap::new() }
    }

    /// Makes a wish true. What an earlier form of it changed is what is taken back in the end.
    pub fn apply(&mut self, key: &str, wish: &Wish) {
        let (Ok(item), Ok(seconds)) = (wish.item(), wish.left()) else { return };
        let asked = self.set(vec![item], seconds);
        self.note(key, asked);
    }

    /// Takes back what a wish changed, and then makes true those that are left, in one change.
    pub fn withdraw(&mut self, key: &str, left: &[&Wish]) {
        self.failed.remove(key);
        let Some(mut items) = self.undo.remove(key) else { return };
        // With an end, they come after.
        let (ending, lasting): (Vec<&Wish>, Vec<&Wish>) = left.iter().partition(|wish| wish.is.until.is_some());
        items.extend(lasting.iter().filter_map(|wish| wish.item().ok()));
        let asked = self.set(items, None);
        if let Err(why) = asked {
            self.failed.insert(key.to_owned(), why);
        }
        for wish in ending {
            if let (Ok(item), Ok(seconds)) = (wish.item(), wish.left()) {
                let _ = self.set(vec![item], seconds);
            }
        }
    }

    fn note(&mut self, key: &str, asked: Result<Vec<Selector>, String>) {
        match asked {
            Ok(undo) => {
                self.failed.remove(key);
                let first = self.undo.entry(key.to_owned()).or_default();
                let is_new = |item: &Selector| !first.iter().any(|was| was.what == item.what);
                let more: Vec<_> = undo.into_iter().filter(is_new).collect();
                first.extend(more);
            }
            Err(why) => _ = self.failed.insert(key.to_owned(), why),
        }
    }

    /// What keys are.
    pub fn list(&mut self, selectors: &[Selector]) -> Result<Answer, Failure> {
        self.ask(&Request::List(selectors.to_vec()))
    }

    /// What takes it back; or why it is not done.
    fn set(&mut self, items: Vec<Selector>, seconds: Option<u32>) -> Result<Vec<Selector>, String> {
        let answer =
            self.ask(&Request::Set { items, seconds, dry_run: false }).map_err(|failure| failure.to_string())?;
        match (answer.set, answer.error) {
            (Some(done), None) => Ok(done.undo.split(',').filter_map(|item| item.parse().ok()).collect()),
            (_, why) => Err(why.unwrap_or_else(|| "it was not done".to_owned())),
        }
    }

    /// An agent drops who has been quiet for long, if others come: then the request goes by a new connection, once.
    fn ask(&mut self, request: &Request) -> Result<Answer, Failure> {
        if let Some(mut connection) = self.connection.take()
            && let Ok(answer) = connection.ask(request)
        {
            self.connection = Some(connection);
            return Ok(answer);
        }
        let mut connection = Process::find(&self.path.to_string_lossy())?;
        let answer = connection.ask(request)?;
        self.connection = Some(connection);
        Ok(answer)
    }
}
