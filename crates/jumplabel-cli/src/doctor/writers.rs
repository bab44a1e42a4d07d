//! Examines the writers: which of them work here, by flips of a key of the tool's own, and which one `JUMPLABEL_WRITER` allows.

use jumplabel::{WriterKind, static_branch_unlikely, static_key};

use super::Findings;

static_key! {
    /// The key that the tool flips to see which writers work.
    static TRIED: false;
}

const WRITERS: [WriterKind; 3] = [WriterKind::Procmem, WriterKind::Mprotect, WriterKind::Remap];

/// The environment variable that forces a writer. A program reads it at its start.
pub const VARIABLE: &str = "JUMPLABEL_WRITER";

/// Tries each writer. Returns the names of those that work.
pub fn look(findings: &mut Findings) -> Vec<&'static str> {
    let mut working = Vec::new();
    if cfg!(jumplabel_fallback) {
        findings.note("writers", "this tool has no sites, and tries none", "build it for a target with sites");
        return working;
    }
    for kind in WRITERS {
        jumplabel::set_writer(Some(kind));
        let name = kind.name();
        match tried() {
            Ok(true) => working.push(name),
            Ok(false) => findings.bad("writers", format!("{name} says Ok, and does nothing"), "please report this"),
            Err(error) => findings.note(
                "writers",
                format!("{name}: {error}"),
                "a process in the same sandbox can flip by the others; docs/safety.md has each error's cure",
            ),
        }
    }
    jumplabel::set_writer(None);
    if working.is_empty() {
        findings.bad(
            "writers",
            "none works here: no key of this system's programs can be flipped from such a sandbox",
            "loosen the sandbox: allow one of pwrite to /proc/self/mem, mprotect, mremap for code",
        );
    } else {
        findings.ok(
            "writers",
            format!("{}; a few sites are written by the first, unless another is chosen", working.join(", ")),
        );
    }
    working
}

/// Reports the writer that an environment names. `working` are those that work here.
pub fn named(name: &[u8], working: &[&str], findings: &mut Findings) {
    if name.is_empty() || cfg!(jumplabel_fallback) {
        return;
    }
    let is = format!("{VARIABLE}={}", String::from_utf8_lossy(name));
    match WriterKind::named_by(name) {
        Ok(None) => {}
        Ok(Some(kind)) if working.contains(&kind.name()) => findings.note(
            "writers",
            format!("{is}: no other is tried"),
            "if it is refused, start the program without the variable. A program that calls set_writer() ignores it",
        ),
        Ok(Some(_)) => findings.bad(
            "writers",
            format!("{is}: no other is tried, and it does not work here"),
            "start the program without the variable. A program that calls set_writer() ignores it",
        ),
        Err(_) => findings.bad(
            "writers",
            format!("{is}: there is no such writer, so each flip fails"),
            "name auto, procmem, mprotect or remap, or none. A program that calls set_writer() ignores the variable",
        ),
    }
}

/// Flips the key on and off again. Returns whether its check followed.
fn tried() -> Result<bool, jumplabel::Error> {
    let is_on = || static_branch_unlikely!(TRIED);
    TRIED.enable()?;
    let was_on = is_on();
    TRIED.disable()?;
    Ok(was_on && !is_on())
}
