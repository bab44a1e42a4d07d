//! A process of this host as its follower sees it. A thread of its own asks its agent, so that a process that is stopped delays no other.
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

/// A process that has not answered by then is late.
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
    /// Starts its worker, with what an earlier follower has carried out in this process.
    pub fn start(socket: Socket, birth: Birth, known: &mut AllFollowed) -> io::Result<Member> {
        let Socket { name, pid, path } = socket;
        let followed = known.remove(&format!("{name}.{pid}")).filter(|followed| followed.birth == birth);
        let followed = followed.unwrap_or(Followed { birth, ..Followed::default() });
        let state = Arc::new(Mutex::new(State { followed, ..State::default() }));
        let (jobs, queue) = channel();
        let worker = Worker::new(path, Arc::clone(&state));
        // A list of all keys is read on the heap.
        std::thread::Builder::new().stack_size(256 << 10).spawn(move || worker.work(&queue))?;
        Ok(Member { name, pid, birth, jobs, state })
    }

    /// As records and lines name it.
    pub fn id(&self) -> String {
        format!("{}.{}", self.name, self.pid)
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Whether it has not answered something yet.
    pub fn is_late(&self) -> bool {
        self.state().unfinished > 0
    }

    /// Whether this form of a wish is for it and was neither carried out nor refused.
    pub fn lacks(&self, key: &str, wish: &Wish) -> bool {
        let is_new = || self.state().followed.wishes.get(key).is_none_or(|carried| carried.revision != wish.revision);
        wish.is_for(&self.name) && wish.left().is_ok() && is_new()
    }

    /// Its worker does the job after those that it has already.
    fn post(&self, job: Job) {
        self.state().unfinished += 1;
        if self.jobs.send(job).is_err() {
            self.state().is_gone = true;
        }
    }
}

/// Gives each process a job, all at once. Returns what the jobs return, in this order, or `None` for a process that is late.
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
