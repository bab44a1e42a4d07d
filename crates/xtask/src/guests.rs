//! Runs the core's tests on Debian's kernel for another instruction set, in qemu-system. The guest has no disk: its files are in memory.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use xshell::{Shell, cmd};

use crate::programs::{self, sum};
use crate::targets::{Compiler, Guest, OF_GUESTS, Target};
use crate::{Skipped, has, in_ci, printed};

/// Variables for the tests: how many times slower the emulator is than a processor (tests then send fewer signals and fork less often), and the path
/// of the program that tests/objects.rs starts.
const VARIABLES: &str = "JUMPLABEL_SLOWNESS=20 JUMPLABEL_OBJECTS=/objects/objects";

pub fn run(sh: &Shell, targets: &[&Target], require: bool) -> Result<()> {
    let mut skipped = Skipped::default();
    for target in targets {
        let (Some(guest), Compiler::Gcc(gnu, debian)) = (&target.guest, &target.compiler) else {
            skipped.push(target, "no such guest");
            continue;
        };
        let directory = crate::root().join("target/guests").join(target.name);
        let tools = [target.cc(), guest.program().into(), "cpio".into(), "apt-get".into()];
        if let Some(tool) = tools.iter().find(|tool| !has(tool)) {
            skipped.push(target, format_args!("no {tool} (cargo xtask setup --guests {})", target.name));
            continue;
        }
        let found = kernel(sh, &directory, debian, guest).and_then(|kernel| Ok((kernel, emulator(sh, guest)?)));
        match found {
            Err(reason) => skipped.push(target, format_args!("{reason:#}")),
            Ok((kernel, emulator)) => {
                let start = emulator.first().context("a guest has a program")?;
                let version = cmd!(sh, "{start} --version").quiet().read()?;
                fill(sh, target, gnu, &directory)?;
                println!("== {}: {}", target.name, version.lines().next().unwrap_or_default());
                boot(guest, &emulator, &kernel, &directory)?;
            }
        }
    }
    skipped.end(require || in_ci())
}

/// Runs apt for packages of one architecture, and perhaps of another release than the machine's. The package lists are in a directory of their own,
/// so the machine's lists stay as they are.
struct Apt<'a> {
    sh: &'a Shell,
    directory: &'a Path,
    options: Vec<String>,
}

impl Apt<'_> {
    fn new<'a>(sh: &'a Shell, directory: &'a Path, architecture: &str, release: Option<&str>) -> Result<Apt<'a>> {
        fs::create_dir_all(directory.join("lists/partial"))?;
        fs::create_dir_all(directory.join("cache/archives/partial"))?;
        sh.write_file(directory.join("status"), "")?;
        let here = directory.display();
        let mut options = vec![
            format!("APT::Architecture={architecture}"),
            format!("APT::Architectures={architecture}"),
            format!("Dir::State::lists={here}/lists"),
            format!("Dir::State::status={here}/status"),
            format!("Dir::Cache={here}/cache"),
            "APT::Sandbox::User=root".into(),
        ];
        if let Some(release) = release {
            let mirrors = cmd!(sh, "apt-get indextargets --format $(REPO_URI)").quiet().read()?;
            let mirror = mirrors.lines().find(|mirror| mirror.ends_with("/debian/")).context("no mirror of Debian")?;
            let keys = "/usr/share/keyrings/debian-archive-keyring.gpg";
            let source = format!("deb [signed-by={keys}] {mirror} {release} main\n");
            sh.write_file(directory.join("sources.list"), source)?;
            options.push(format!("Dir::Etc::sourcelist={here}/sources.list"));
            options.push("Dir::Etc::sourceparts=/dev/null".into());
        }
        let apt = Apt { sh, directory, options };
        let _ = apt.run("apt-get", &["update"]); // An error is ignored: a mirror need not have all suites of the release.
        Ok(apt)
    }

    fn run(&self, program: &str, arguments: &[&str]) -> Result<String> {
        let (sh, options) = (self.sh, self.options.iter().flat_map(|option| ["-o", option]));
        let _directory = sh.push_dir(self.directory);
        Ok(cmd!(sh, "{program} -qq {options...} {arguments...}").ignore_stderr().quiet().read()?)
    }

    /// Downloads packages, and unpacks a part of them into the directory.
    fn unpack(&self, packages: &[&str], part: &str) -> Result<()> {
        self.run("apt-get", &[&["download"], packages].concat())?;
        let sh = self.sh;
        let _directory = sh.push_dir(self.directory);
        for package in packages {
            let unpack = format!("dpkg-deb --fsys-tarfile {package}_*.deb | tar -x ./{part}");
            cmd!(sh, "bash -o pipefail -c {unpack}").quiet().run()?;
        }
        Ok(())
    }
}

/// Downloads Debian's kernel. Returns its path.
fn kernel(sh: &Shell, directory: &Path, architecture: &str, guest: &Guest) -> Result<PathBuf> {
    let find = || {
        let mut files = fs::read_dir(directory.join("boot")).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
        files.find(|file| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vmlinu")))
    };
    if let Some(kernel) = find() {
        return Ok(kernel);
    }
    let apt = Apt::new(sh, directory, architecture, guest.release)?;
    let depends = apt.run("apt-cache", &["depends", guest.kernel]).unwrap_or_default();
    let package = depends.lines().find_map(|line| line.split_once("Depends: ")?.1.strip_prefix("linux-image-"));
    let package = package.with_context(|| format!("no package {}", guest.kernel))?;
    apt.unpack(&[&format!("linux-image-{package}")], "boot")?;
    find().with_context(|| format!("no kernel in {}", guest.kernel))
}

/// Returns the command that starts the machine. If the installed qemu is older than 10, downloads a newer one: qemu 7.2 sometimes runs stale code,
/// the translation of a program that has ended, in the next program at the same address. Qemu 10.0 was not seen to do so.
fn emulator(sh: &Shell, guest: &Guest) -> Result<Vec<String>> {
    let program = guest.program();
    let version = cmd!(sh, "{program} --version").quiet().read()?;
    let major = version.split_once("version ").and_then(|(_, version)| version.split('.').next()?.parse::<u32>().ok());
    if major.is_some_and(|major| major >= 10) {
        return Ok(vec![program.into()]);
    }
    let directory = crate::root().join("target/guests/qemu");
    let newer = directory.join("usr/bin").join(program);
    if !newer.exists() {
        let architecture = cmd!(sh, "dpkg --print-architecture").quiet().read()?;
        let release = cmd!(sh, "bash -c '. /etc/os-release; echo $VERSION_CODENAME-backports'").quiet().read()?;
        let apt = Apt::new(sh, &directory, &architecture, Some(&release))?;
        apt.unpack(&[guest.backport, "qemu-system-data"], "usr")
            .with_context(|| format!("no package {} of version 10", guest.backport))?;
    }
    let data = directory.join("usr/share/qemu");
    Ok([newer.to_string_lossy(), "-L".into(), data.to_string_lossy(), "-L".into(), "/usr/share/qemu".into()]
        .map(String::from)
        .into())
}

/// Builds the programs for the guest, and packs them as its root file system.
fn fill(sh: &Shell, target: &Target, gnu: &str, directory: &Path) -> Result<()> {
    let root = directory.join("root");
    sh.remove_path(&root)?;
    for name in ["tests", "bin", "objects"] {
        sh.create_dir(root.join(name))?;
    }
    let statically = "-Ctarget-feature=+crt-static";
    let guest = ["--quiet", "--release", "--manifest-path", "test-crates/guest/Cargo.toml"];
    programs::cargo(sh, target, "build", statically).args(guest).run()?;
    sh.copy_file(programs::results(target).join("guest"), root.join("init"))?;
    symlink("/init", root.join("bin/true"))?;

    let sets = OF_GUESTS.split(' ').flat_map(|set| ["--test", set]);
    let cargo =
        programs::cargo(sh, target, "test", statically).args(["--no-run", "-p", "jumplabel", "--lib"]).args(sets);
    let built = printed(cargo.env("CARGO_TERM_COLOR", "never").env("CARGO_TERM_QUIET", "false"))?;
    let strip = format!("{gnu}-strip");
    let mut list = String::new();
    for program in built.lines().filter(|line| line.trim_start().starts_with("Executable")) {
        let program =
            program.split_once('(').map(|(_, path)| path.trim_end_matches(')')).context("an executable has a path")?;
        // The file's name looks like deps/keys-0123456789abcdef.
        let test = program.rsplit('/').next().and_then(|name| name.rsplit_once('-')).context("and a hash")?.0;
        let to = root.join("tests").join(test);
        cmd!(sh, "{strip} {program} -o {to}").quiet().run()?;
        list += &format!("/tests/{test} --test-threads=1\n");
    }
    if let Some(c) = &target.c {
        programs::c_library(sh, target, "staticlib")?;
        let program = root.join("tests/conformance").display().to_string();
        let compiler = format!("{} {} -O2 -DREAL_KERNEL", target.cc(), c.gcc);
        programs::in_c(sh, target, &compiler, programs::CONFORMANCE, &program)?;
        list += "/tests/conformance\n";
    }
    sh.write_file(root.join("list"), list)?;

    // The program that tests/objects.rs starts, and the C library that it needs.
    let objects = root.join("objects").display().to_string();
    programs::objects(sh, target, &objects)?;
    for program in sh.read_dir(&objects)? {
        cmd!(sh, "{strip} --strip-debug {program}").quiet().run()?;
    }
    let (libraries, loader) = programs::libraries(sh, target)?;
    let to = root.join(libraries.strip_prefix("/")?);
    sh.create_dir(&to)?;
    for name in [&loader, "libc.so.6", "libgcc_s.so.1"] {
        sh.copy_file(libraries.join(name), &to)?;
    }
    let _root = sh.push_dir(&root);
    cmd!(sh, "bash -o pipefail -c 'find . | cpio -o -H newc --quiet | gzip -1 >../root.gz'").quiet().run()?;
    Ok(())
}

/// Starts the machine, waits until it has ended, and prints the results of its tests.
fn boot(guest: &Guest, emulator: &[String], kernel: &Path, directory: &Path) -> Result<()> {
    let file = File::create(directory.join("log"))?;
    Command::new("timeout")
        .arg("3000")
        .args(emulator)
        .args(guest.machine.split(' ').skip(1))
        .args(["-accel", &format!("tcg,thread={}", guest.threads)])
        .args(["-smp", "2", "-m", "1G", "-nographic", "-no-reboot", "-nic", "none", "-kernel"])
        .arg(kernel)
        .arg("-initrd")
        .arg(directory.join("root.gz"))
        .args(["-append", &format!("console={} quiet panic=-1 {VARIABLES}", guest.console)])
        .stdin(Stdio::null())
        .stderr(file.try_clone()?)
        .stdout(file)
        .status()?;
    let log = fs::read(directory.join("log"))?;
    let log = String::from_utf8_lossy(&log);
    log.lines().filter_map(|line| line.find("guest: Linux").map(|at| &line[at..])).for_each(|line| println!("{line}"));
    let [passed, failed, ignored] = ["passed", "failed", "ignored"].map(|what| sum(&log, what));
    println!("{passed} passed, {failed} failed, {ignored} ignored");
    log.lines().filter(|line| line.starts_with("ok ")).for_each(|line| println!("conformance: {line}"));
    if log.lines().any(|line| line.starts_with("guest: 0 failed")) {
        return Ok(());
    }
    let lines: Vec<_> = log.lines().collect();
    bail!("{}", lines[lines.len().saturating_sub(40)..].join("\n"))
}
