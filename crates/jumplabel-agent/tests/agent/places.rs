//! All places of an agent are taken: who has to go, and what it hears.

use std::io::{Read, Write};

use jumplabel_agent::Options;
use jumplabel_testing::scenario::{fork, passes, reap};

use crate::access::{as_root, give_to_nobody, leave_root};
use crate::client::{Agent, Client, Directory};

/// As many as an agent serves.
const PLACES: usize = 64;

/// So many that have asked something, and wait.
fn idle(count: usize, socket: &std::path::Path) -> Vec<Client> {
    let client = |_| {
        let mut client = Client::new(socket);
        client.done("hello");
        client
    };
    (0..count).map(client).collect()
}

/// The answer that it did not ask for, and the end.
fn was_turned_away(client: &mut Client) -> bool {
    let answer = client.answer();
    let why = "the agent serves 64 clients, and this one was silent for longest when another came";
    (answer.status, answer.error.as_deref(), client.line()) == (3, Some(why), None)
}

/// Whoever comes is served, whatever the others have asked before.
#[test]
fn a_newcomer_is_served() {
    passes(|| {
        let agent = Agent::start(|options| options);
        let mut others = idle(PLACES, &agent.socket);
        // Now the second one is silent for longest.
        others[0].done("hello");
        let mut newcomers = idle(3, &agent.socket);
        for gone in &mut others[1..4] {
            assert!(was_turned_away(gone));
        }
        others.drain(1..4);
        others.iter_mut().chain(&mut newcomers).for_each(|client| drop(client.done("hello")));
    });
}

/// Those who watch stay; and of the others, one that has never asked anything goes first.
#[test]
fn who_stays() {
    passes(|| {
        let agent = Agent::start(|options| options);
        let mut others = idle(PLACES - 1, &agent.socket);
        others[0].done("watch");
        let mut silent = agent.client();
        // The agent takes it in in one round, and another client in a later one.
        (0..2).for_each(|_| drop(others[PLACES - 2].done("hello")));
        let mut newcomers = idle(1, &agent.socket);
        assert!(was_turned_away(&mut silent));
        newcomers.extend(idle(1, &agent.socket));
        assert!(was_turned_away(&mut others[1]));
        others.remove(1);
        others.iter_mut().chain(&mut newcomers).for_each(|client| drop(client.done("hello")));
    });
}

/// The agent of a user: root's client stays though it was silent for longest, and root takes a place of the user's.
#[test]
fn root_and_the_user() {
    passes(|| {
        as_root();
        let directory = Directory::new();
        give_to_nobody(&directory.0);
        let inner = directory.inner();
        let [(mut ready, mut started), (mut next, mut go_on)] = [std::io::pipe().unwrap(), std::io::pipe().unwrap()];
        let child = fork(|| {
            leave_root();
            let socket = Options::new().directory(&inner).name("x").log(|_| {}).start().unwrap();
            started.write_all(b".").unwrap();
            next.read_exact(&mut [0]).unwrap();
            let mut own = idle(PLACES - 1, &socket);
            started.write_all(b".").unwrap();
            was_turned_away(&mut own[0]) && own[1..].iter_mut().all(|client| client.ask("hello").status == 0)
        });
        ready.read_exact(&mut [0]).unwrap();
        let socket = inner.join(format!("x.{child}.sock"));
        let mut clients = idle(1, &socket);
        go_on.write_all(b".").unwrap();
        ready.read_exact(&mut [0]).unwrap();
        clients.extend(idle(1, &socket));
        clients.iter_mut().for_each(|client| drop(client.done("hello")));
        reap(child);
    });
}
