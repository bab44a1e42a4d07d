//! A Debian of nothing else, in a folder. Only apt reaches the network there, and so the mirrors that this machine's apt has; whatever else runs has
//! none.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use super::{printed, shell};

pub struct Bookworm {
    root: PathBuf,
}

impl Bookworm {
    /// Debian's essential packages and apt, of this machine's release, from this machine's mirrors.
    pub fn new(root: &Path) -> Bookworm {
        let mirrors = printed(
            ". /etc/os-release; apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' \
             'Created-By: Packages' 'Origin: Debian' | grep \" $VERSION_CODENAME\" | sort -u; echo $VERSION_CODENAME",
            Path::new("/"),
        );
        let (mirrors, release) = mirrors.trim_end().rsplit_once('\n').expect("a mirror, and the release");
        let list = root.with_extension("list");
        std::fs::write(&list, format!("{mirrors}\n")).unwrap();
        // What this machine's apt says of proxies and of old lists holds there, too.
        let how = printed("apt-config dump | grep -E '^Acquire::(http|https|Check-)' || true", Path::new("/"));
        let how: String = how.lines().map(|line| format!(" --aptopt='{line}'")).collect();
        let (list, path) = (list.display(), root.display());
        printed(
            &format!("mmdebstrap --quiet --mode=root --variant=minbase{how} {release} {path} {list}"),
            Path::new("/"),
        );
        Bookworm { root: root.into() }
    }

    /// A file there.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Has apt fetch packages, and all that they need, without installing them.
    pub fn download(&self, packages: &str) {
        let fetch = format!("apt-get update -qq && apt-get install -qq -y --download-only {packages}");
        printed(&self.line("unshare --mount", &fetch), Path::new("/"));
    }

    /// How the line is run there, in /root, in namespaces of its own: what it mounts is gone when it has ended.
    fn line(&self, unshare: &str, line: &str) -> String {
        let inner = format!(
            "mount -t proc proc {root}/proc && exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
             DEBIAN_FRONTEND=noninteractive chroot {root} sh -euc {line}",
            root = self.root.display(),
            line = quoted(&format!("cd /root\n{line}")),
        );
        format!("{unshare} sh -euc {}", quoted(&inner))
    }

    /// What it prints there, without a network. It must succeed.
    pub fn run(&self, line: &str) -> String {
        printed(&self.line("unshare --mount --net", line), Path::new("/"))
    }

    /// Starts a program there.
    pub fn start(&self, program: &str) -> Running {
        let line = self.line("exec unshare --mount --net", &format!("exec {program}"));
        let mut child = shell(&line, Path::new("/")).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Running { child, input, output }
    }
}

fn quoted(line: &str) -> String {
    format!("'{}'", line.replace('\'', "'\\''"))
}

/// A program that answers a line with a line.
pub struct Running {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Running {
    pub fn answer(&mut self) -> String {
        self.input.write_all(b"\n").unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    /// It ends when it has read all, and well.
    pub fn end(mut self) {
        drop(self.input);
        assert!(self.child.wait().unwrap().success());
    }
}
