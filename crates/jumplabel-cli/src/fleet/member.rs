//! A process of this host, as its follower sees it. Each process has a thread that asks its agent, so that a process that is stopped delays no other.
//!
//! ```text
//!   follower ──jobs──► worker of web.4711 ──socket──► agent      waits as long as the process is there
//!        │  ───jobs──► worker of web.4712 ──socket──► agent
//!        └─ answers ◄─ of all that answer soon; the others are late, and nobody waits for them
//! ```

use std::io;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use jumplabel_agent::directory::Socket;

use super::Wish;
use super::followed::{AllFollowed, Birth, Followed};
use super::worker::{Job, State, Worker, lock};

/// A process that has not answered after this time is late.
const PATIENCE: Duration = Duration::from_secs(2);

/// A process that has an agent.
pub struct Member {
    pub name: String,
    pub pid: u32,
    pub birth: Birth,
    jobs: Sender<Job>,
    state: Arc<Mutex<State>>,
}

impl Member {
    /// Starts the thread of a process. `known` has what an earlier follower has carried out in the process.
    pub fn start(socket: Socket, birth: Birth, known: &mut AllFollowed) -> io::Result<Member> {
        let Socket { name, pid, path } = socket;
        let followed = known.remove(&format!("{name}.{pid}")).filter(|followed| followed.birth == birth);
        let followed = followed.unwrap_or(Followed { birth, ..Followed::default() });
        let state = Arc::new(Mutex::new(State { followed, ..State::default() }));
        let (jobs, queue) = channel();
        let worker = Worker::new(path, Arc::clone(&state));
        // The stack may be small, because a list of all keys is read into the heap.
        std::thread::Builder::new().stack_size(256 << 10).spawn(move || worker.work(&queue))?;
        Ok(Member { name, pid, birth, jobs, state })
    }

    /// The process's name in records and lines: `NAME.PID`.
    pub fn id(&self) -> String {
        format!("{}.{}", self.name, self.pid)
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Whether the process has not finished all its jobs yet.
    pub fn is_late(&self) -> bool {
        self.state().unfinished > 0
    }

    /// Whether the process has yet to get this revision of a wish: the wish is for it, has not ended, and was neither carried out nor refused there.
    pub fn lacks(&self, key: &str, wish: &Wish) -> bool {
        let is_new = || self.state().followed.wishes.get(key).is_none_or(|carried| carried.revision != wish.revision);
        wish.is_for(&self.name) && wish.left().is_ok() && is_new()
    }

    /// Gives the worker a job. The worker does its jobs one after the other.
    fn post(&self, job: Job) {
        self.state().unfinished += 1;
        if self.jobs.send(job).is_err() {
            self.state().is_gone = true;
        }
    }
}

/// Gives each process a job, all at once. Waits at most [`PATIENCE`], and not for processes that were late already. Returns the results in the order
/// of `members`; `None` if there is none yet.
pub fn side_by_side<T, J>(members: &[&Member], job: impl Fn(&Member) -> J) -> Vec<Option<T>>
where
    T: Send + 'static,
    J: FnOnce(&mut Worker) -> T + Send + 'static,
{
    let (sender, answers) = channel();
    let mut awaited = 0;
    for (at, member) in members.iter().enumerate() {
        let (job, sender, was_late) = (job(member), sender.clone(), member.is_late());
        awaited += usize::from(!was_late);
        member.post(Box::new(move |worker| drop(sender.send((at, was_late, job(worker))))));
    }
    drop(sender);
    let mut all: Vec<Option<T>> = members.iter().map(|_| None).collect();
    let end = Instant::now() + PATIENCE;
    while awaited > 0
        && let Ok((at, was_late, answer)) = answers.recv_timeout(end.saturating_duration_since(Instant::now()))
    {
        all[at] = Some(answer);
        awaited -= usize::from(!was_late);
    }
    all
}
