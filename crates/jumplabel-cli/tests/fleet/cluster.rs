//! An etcd of three members on this machine.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::{hosts, until};

pub struct Cluster {
    directory: PathBuf,
    /// Of clients, and of the other members.
    ports: [[u16; 2]; 3],
    members: [Option<Child>; 3],
}

impl Cluster {
    /// When this returns, it answers.
    pub fn start(name: &str) -> Cluster {
        let directory = hosts::scratch(&format!("etcd-{name}"));
        // All at a time, so that they differ.
        let listeners = [[(); 2]; 3].map(|two| two.map(|()| TcpListener::bind("127.0.0.1:0").unwrap()));
        let ports = listeners.each_ref().map(|two| two.each_ref().map(|one| one.local_addr().unwrap().port()));
        drop(listeners);
        let mut cluster = Cluster { directory, ports, members: [None, None, None] };
        (0..3).for_each(|member| cluster.restart(member));
        until("etcd answers", || cluster.tool(&["fleet", "list"]).0 == 0);
        cluster
    }

    /// With what it has written before.
    pub fn restart(&mut self, member: usize) {
        let [own, peer] = self.ports[member].map(|port| format!("http://127.0.0.1:{port}"));
        let all: Vec<_> =
            self.ports.iter().enumerate().map(|(at, [_, peer])| format!("m{at}=http://127.0.0.1:{peer}")).collect();
        let mut etcd = Command::new("etcd");
        etcd.arg("--name").arg(format!("m{member}")).arg("--data-dir").arg(self.directory.join(member.to_string()));
        etcd.args(["--listen-client-urls", &own, "--advertise-client-urls", &own, "--listen-peer-urls", &peer]);
        etcd.args(["--initial-advertise-peer-urls", &peer, "--initial-cluster", &all.join(",")]);
        let etcd = etcd.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        self.members[member] = Some(etcd.expect("etcd: cargo xtask setup installs it"));
    }

    /// As when the machine fails.
    pub fn kill(&mut self, member: usize) {
        if let Some(mut child) = self.members[member].take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    pub fn urls(&self) -> String {
        let urls: Vec<_> = self.ports.iter().map(|[own, _]| format!("http://127.0.0.1:{own}")).collect();
        urls.join(",")
    }

    pub fn tool(&self, words: &[&str]) -> (i32, String, String) {
        hosts::tool(words, &[("JUMPLABEL_ETCD", &self.urls())])
    }

    /// Its revision. During an election nobody can.
    pub fn set(&self, item: &str, words: &[&str]) -> i64 {
        let mut revision = 0;
        until("etcd takes it", || {
            let (code, out, _) = self.tool(&[&["fleet", "set", item], words].concat());
            let number = out.strip_prefix("revision ").and_then(|rest| rest.split(':').next());
            revision = number.and_then(|number| number.parse().ok()).unwrap_or(0);
            // 1: no process has such a key yet.
            code <= 1
        });
        revision
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        (0..3).for_each(|member| self.kill(member));
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
