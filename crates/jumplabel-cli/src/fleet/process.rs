//! A process of this host, and what was done to it for the fleet.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jumplabel_agent::directory::Socket;
use jumplabel_agent::protocol::{Answer, LONGEST, Request};
use jumplabel_selector::Selector;

use super::Wish;
use super::report::Undo;
use crate::failure::Failure;
use crate::process::{Process, is_alive};

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
    /// With what an earlier follower has changed in it.
    pub fn of(socket: Socket, known: &mut Undo) -> Member {
        let Socket { name, pid, path } = socket;
        let mut member = Member { name, pid, path, connection: None, undo: BTreeMap::new(), failed: BTreeMap::new() };
        let parsed = |items: Vec<String>| items.iter().filter_map(|item| item.parse().ok()).collect();
        let known = known.remove(&member.id()).unwrap_or_default();
        member.undo = known.into_iter().map(|(wish, items)| (wish, parsed(items))).collect();
        member
    }

    /// As [`Undo`] names it.
    pub fn id(&self) -> String {
        format!("{}.{}", self.name, self.pid)
    }

    /// What takes back what was changed in it, by wish.
    pub fn undo(&self) -> BTreeMap<String, Vec<String>> {
        let text = |items: &Vec<Selector>| items.iter().map(Selector::to_string).collect();
        self.undo
            .iter()
            .filter(|(_, items)| !items.is_empty())
            .map(|(wish, items)| (wish.clone(), text(items)))
            .collect()
    }

    /// Whether somebody is there: what is left of a process that was killed has a socket still.
    pub fn is_there(&self) -> bool {
        self.connection.is_some() || is_alive(&self.path)
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

    /// What takes it back; or why it is not done. In one change, if a request has room for it.
    fn set(&mut self, items: Vec<Selector>, seconds: Option<u32>) -> Result<Vec<Selector>, String> {
        let mut undo = Vec::new();
        for some in portions(items) {
            undo.extend(self.set_some(some, seconds)?);
        }
        Ok(undo)
    }

    fn set_some(&mut self, items: Vec<Selector>, seconds: Option<u32>) -> Result<Vec<Selector>, String> {
        let answer =
            self.ask(&Request::Set { items, seconds, dry_run: false }).map_err(|failure| failure.to_string())?;
        match (answer.set, answer.error) {
            (Some(done), None) => Ok(done.undo.split(',').filter_map(|item| item.parse().ok()).collect()),
            (_, why) => Err(why.unwrap_or_else(|| "it was not done".to_owned())),
        }
    }

    /// An agent drops who has been quiet for long, if others come: then the request goes by a new connection, once.
    fn ask(&mut self, request: &Request) -> Result<Answer, Failure> {
        if let Some(mut connection) = self.connection.take() {
            match connection.ask(request) {
                Err(Failure::OutOfReach(_)) => {}
                answer => {
                    self.connection = Some(connection);
                    return answer;
                }
            }
        }
        let mut connection = Process::find(&self.path.to_string_lossy())?;
        let answer = connection.ask(request);
        self.connection = Some(connection);
        answer
    }
}

/// What one request has room for, each, in this order.
fn portions(items: Vec<Selector>) -> Vec<Vec<Selector>> {
    // Beside the items: `set`, a time, the end of the line.
    const ROOM: usize = LONGEST - 100;
    let (mut portions, mut length) = (Vec::<Vec<Selector>>::new(), ROOM);
    for item in items {
        let own = item.to_string().len() + 1;
        length += own;
        match portions.last_mut() {
            Some(last) if length <= ROOM => last.push(item),
            _ => {
                length = own;
                portions.push(vec![item]);
            }
        }
    }
    portions
}

#[test]
fn long_requests() {
    let items: Vec<Selector> = (0..1000).map(|number| format!("net.key{number:04}=on").parse().unwrap()).collect();
    let portions = portions(items.clone());
    assert_eq!(portions.concat(), items);
    assert_eq!(portions.len(), 4);
    for items in portions {
        let request = Request::Set { items, seconds: Some(u32::MAX), dry_run: true };
        assert!(request.to_string().len() < LONGEST);
    }
    assert!(self::portions(Vec::new()).is_empty());
}
