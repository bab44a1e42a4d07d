//! A minimal Debian in a folder. Only `download`, by apt, has a network there, and reaches the mirrors that this machine's apt uses. All else runs
//! without a network.

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
        // The settings of this machine's apt for proxies and for old lists are those of the new system, too.
        let how = printed("apt-config dump | grep -E '^Acquire::(http|https|Check-)' || true", Path::new("/"));
        let how: String = how.lines().map(|line| format!(" --aptopt='{line}'")).collect();
        let (list, path) = (list.display(), root.display());
        printed(
            &format!("mmdebstrap --quiet --mode=root --variant=minbase{how} {release} {path} {list}"),
            Path::new("/"),
        );
        Bookworm { root: root.into() }
    }

    /// The path of a file of this Debian.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Makes apt download packages, and all that they need, without installing them.
    pub fn download(&self, packages: &str) {
        let fetch = format!("apt-get update -qq && apt-get install -qq -y --download-only {packages}");
        printed(&self.line("unshare --mount", &fetch), Path::new("/"));
    }

    /// The command that runs the line in this Debian, in /root, in namespaces of its own: its mounts are gone when it has ended.
    fn line(&self, unshare: &str, line: &str) -> String {
        let inner = format!(
            "mount -t proc proc {root}/proc && exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root XDG_RUNTIME_DIR=/root LC_ALL=C.UTF-8 \
             DEBIAN_FRONTEND=noninteractive chroot {root} sh -euc {line}",
            root = self.root.display(),
            line = quoted(&format!("cd /root\n{line}")),
        );
        format!("{unshare} sh -euc {}", quoted(&inner))
    }

    /// The output of the line, which runs in this Debian without a network. It must succeed.
    pub fn run(&self, line: &str) -> String {
        printed(&self.line("unshare --mount --net", line), Path::new("/"))
    }

    /// Starts a program in this Debian, without a network.
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

/// A program that answers each line with a line.
pub struct Running {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Running {
    /// The number of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn answer(&mut self) -> String {
        self.input.write_all(b"\n").unwrap();
        self.line()
    }

    /// The next line that the program writes.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    /// Closes the program's input. It must then end with success.
    pub fn end(mut self) {
        drop(self.input);
        assert!(self.child.wait().unwrap().success());
    }
}
