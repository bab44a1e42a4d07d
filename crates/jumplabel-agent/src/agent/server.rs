//! The agent's thread. One round of its loop:
//!
//! ```text
//!   listener   opens the socket again if the program has closed it
//!   poll       waits for the socket and for each client; it has a timeout only if something is due later
//!   reverts    takes back the changes that are due
//!   looks      repairs sites, if it is time
//!   followers  sends them new records, at most 20 times a second
//!   clients    answers one request of each, so that no client delays the others
//!   accept     adds new clients; a connection of a user who is neither this process's nor root is closed
//! ```

use std::io;
use std::os::fd::AsFd;
use std::time::{Instant, SystemTime};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::Running;
use super::clients::{Client, Clients, peer};
use super::event::Event;
use super::followers::Followers;
use super::listener::{Listener, PAUSE};
use super::looks::{self, Looks};
use super::made::Made;
use super::options::{Log, Options};
use super::refused::{self, Refused};
use super::verbs;
use crate::protocol::{Answer, Done, Happened, Hello, Peer, Request};

/// The size of the thread's stack in bytes. Pages of the stack that the thread does not touch cost nothing.
const STACK: usize = 512 << 10;
/// The largest number of clients that the agent accepts in one round.
const ACCEPTED: usize = 16;

pub struct Server {
    listener: Listener,
    name: String,
    read_only: bool,
    log: Log,
    running: &'static Running,
    clients: Clients,
    made: Made,
    looks: Looks,
    followers: Followers,
    round: u64,
}

impl Server {
    pub fn new(listener: Listener, name: String, options: Options, running: &'static Running) -> Server {
        let Options { read_only, log, verifies, .. } = options;
        let (clients, made, looks) = (Clients::default(), Made::default(), Looks::every(verifies));
        let (followers, round) = (Followers::default(), 0);
        Server { listener, name, read_only, log, running, clients, made, looks, followers, round }
    }

    /// Starts the thread, with all signals blocked except `unblocked`.
    pub fn spawn(mut self, unblocked: &[i32]) -> io::Result<()> {
        let builder = std::thread::Builder::new().name("jumplabel-agent".to_owned()).stack_size(STACK);
        let mut before = std::mem::MaybeUninit::zeroed();
        // This thread blocks the signals while it starts the new thread, which inherits the mask.
        // SAFETY: all pointers lead to sets of signals on this function's stack.
        unsafe {
            let mut all = std::mem::MaybeUninit::zeroed();
            libc::sigfillset(all.as_mut_ptr());
            for &signal in unblocked {
                libc::sigdelset(all.as_mut_ptr(), signal);
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        }
        let thread = builder.spawn(move || {
            loop {
                self.once();
            }
        });
        // SAFETY: `before` is this thread's mask, which the call of `pthread_sigmask` above has stored there.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
        thread.map(drop)
    }

    fn once(&mut self) {
        self.round += 1;
        if let Some(trouble) = self.listener.restore() {
            self.tell(Event::Trouble(trouble));
        }
        let Some((listener, clients)) = self.wait() else { return };
        self.revert();
        self.look();
        self.followers.tell(&mut self.clients.all);
        for (at, ready) in clients.into_iter().enumerate() {
            self.serve(at, ready);
        }
        if self.clients.close() {
            self.listener.go_on();
        }
        let ended = {
            let _using = self.running.using_keys();
            self.followers.end(&self.clients.all)
        };
        ended.into_iter().for_each(|event| self.tell(event));
        if listener {
            self.accept();
        }
    }

    /// Waits until there is something to do. Returns whether somebody has connected, and the events for which each client is ready. `None` if the
    /// wait was interrupted or failed.
    fn wait(&mut self) -> Option<(bool, Vec<PollFlags>)> {
        let now = Instant::now();
        let paused = self.listener.paused(now);
        let mut end = [self.made.next(), self.looks.next(), self.followers.next(), paused].into_iter().flatten().min();
        if self.clients.all.iter().any(Client::is_ready) {
            end = Some(now);
        }
        let timeout = end.map(|end| {
            let left = end.saturating_duration_since(now);
            Timespec {
                tv_sec: left.as_secs().try_into().unwrap_or(i32::MAX.into()),
                tv_nsec: left.subsec_nanos().into(),
            }
        });
        let clients = self.clients.all.iter().map(|client| PollFd::new(client, client.waits_for()));
        let mut fds: Vec<_> = clients.chain(self.listener.waits_for()).collect();
        let polled = poll(&mut fds, timeout.as_ref());
        let mut ready: Vec<_> = fds.iter().map(PollFd::revents).collect();
        let listener = ready.split_off(self.clients.all.len());
        match polled {
            Ok(_) => Some((listener.contains(&PollFlags::IN), ready)),
            Err(Errno::INTR) => None,
            Err(error) => {
                self.tell(Event::Trouble(format!("poll: {error}")));
                std::thread::sleep(PAUSE);
                None
            }
        }
    }

    fn accept(&mut self) {
        for _ in 0..ACCEPTED {
            let fd = match self.listener.accept() {
                Ok(Some(fd)) => fd,
                Ok(None) => return,
                Err(trouble) => return self.tell(Event::Trouble(trouble)),
            };
            match peer(fd.as_fd()) {
                Ok(peer) if peer.uid == 0 || peer.uid == rustix::process::geteuid().as_raw() => {
                    self.clients.add(Client::new(fd, peer, self.round));
                }
                Ok(peer) => self.tell(Event::Foreign(peer)),
                Err(error) => self.tell(Event::Trouble(format!("who has connected? {error}"))),
            }
        }
    }

    fn serve(&mut self, at: usize, ready: PollFlags) {
        let Some(client) = self.clients.all.get_mut(at) else { return };
        client.exchange(ready, self.round);
        let answer = match client.line() {
            None => return,
            Some(Err(wrong)) => wrong,
            Some(Ok(line)) => match line.parse::<Request>() {
                Err(why) => Answer::error(2, why),
                Ok(request) => {
                    client.asked();
                    return self.request(at, request);
                }
            },
        };
        client.answer(&answer);
    }

    /// Carries out a request: logs its event if it has one, answers the client, and then sends a change to the clients that watch.
    fn request(&mut self, at: usize, request: Request) {
        let watches = request == Request::Watch;
        let mut event = None;
        let answer = self.answer(at, request, &mut event).unwrap_or_else(|(status, why)| Answer::error(status, why));
        if let Some(event) = &event {
            (self.log)(event);
        }
        if let Some(client) = self.clients.all.get_mut(at) {
            client.answer(&answer);
            client.watches |= watches && answer.status == 0;
        }
        self.clients.bound(at);
        if let Some(Event::Changed(happened)) = event {
            self.show(happened);
        }
    }

    fn answer(&mut self, at: usize, request: Request, event: &mut Option<Event>) -> Result<Answer, Refused> {
        let (_using, by) = (self.running.using_keys(), self.clients.all[at].peer);
        match request {
            Request::Hello => {
                let program = std::env::current_exe().ok().map(|path| path.to_string_lossy().into_owned());
                let (name, pid) = (self.name.clone(), self.running.pid);
                Ok(Answer { hello: Some(Hello { name, pid, program, read_only: self.read_only }), ..Answer::new() })
            }
            Request::List(items) => verbs::list(&items, &self.made),
            Request::Check(items) => verbs::check(&items),
            Request::Verify(_) if self.read_only => {
                Err((4, "the agent is read-only: the program lets nobody change sites from outside".to_owned()))
            }
            Request::Verify(items) => {
                let verified = looks::verify(&items)?;
                let sites = verified.sites;
                *event = (sites > 0).then_some(Event::Repaired { sites, by: Some(by) });
                Ok(Answer { verified: Some(verified), ..Answer::new() })
            }
            Request::Watch if self.clients.may_watch() => Ok(Answer::new()),
            Request::Watch => Err((3, "too many clients watch already".to_owned())),
            Request::Trace { .. } if self.read_only => {
                Err((4, "the agent is read-only: the program lets nobody follow what it does".to_owned()))
            }
            Request::Trace { items, per_second } => {
                self.followers.answer(&mut self.clients, at, &items, per_second, event)
            }
            Request::Set { items, seconds, dry_run } => {
                let done = if self.read_only && !dry_run {
                    Err((4, "the agent is read-only: the program lets nobody change keys from outside".to_owned()))
                } else {
                    verbs::set(&items, seconds, dry_run, by, &mut self.made)
                };
                *event = match &done {
                    Err((4, why)) => Some(Event::Refused { by, why: why.clone() }),
                    Ok(done) if !dry_run && !done.changes.is_empty() => Some(changed(Some(by), done.clone())),
                    _ => None,
                };
                Ok(Answer { set: Some(done?), ..Answer::new() })
            }
        }
    }

    /// Looks at all sites, if it is time for that.
    fn look(&mut self) {
        let found = {
            let _using = self.running.using_keys();
            self.looks.look(Instant::now())
        };
        found.into_iter().for_each(|event| self.tell(event));
    }

    /// Takes back the changes that are due.
    fn revert(&mut self) {
        let now = Instant::now();
        if self.made.next().is_none_or(|due| due > now) {
            return;
        }
        let running = self.running;
        let using = running.using_keys();
        let all = match refused::all() {
            Ok(all) => all,
            Err((_, why)) => {
                self.made.postpone(Instant::now() + PAUSE);
                drop(using);
                return self.tell(Event::Trouble(format!("keys stay as they are for another second: {why}")));
            }
        };
        let (done, kept) = self.made.take_back(&all, now, PAUSE);
        drop(using);
        done.into_iter().for_each(|done| self.tell(changed(None, done)));
        kept.into_iter().for_each(|(key, why)| self.tell(Event::Kept { key, why }));
    }

    /// Reports an event to the program and, if it is a change, to the clients that watch.
    fn tell(&mut self, event: Event) {
        (self.log)(&event);
        if let Event::Changed(happened) = event {
            self.show(happened);
        }
    }

    fn show(&mut self, happened: Happened) {
        self.clients.tell(&Answer { event: Some(happened), ..Answer::new() });
    }
}

fn changed(by: Option<Peer>, done: Done) -> Event {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Event::Changed(Happened { time: since.as_secs_f64(), by, done })
}
