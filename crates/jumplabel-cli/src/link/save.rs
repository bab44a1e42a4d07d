//! Replaces a file on the disk as a whole. The new contents go to another file beside the old one, with the same mode, owner and attributes (access
//! lists, labels). Once the new file is complete and on the disk, it gets the old one's name. So a tool that is killed leaves the old file. Programs
//! that run keep the old file, and so do its other hard links.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use xattr::FileExt;

use super::{Found, Keep};
use crate::failure::Failure;
use crate::input;

/// The most bytes of a file. Other commands have the same limit (`image`).
const LARGEST: u64 = 16 << 30;

/// The attribute that `setcap` writes (linux/xattr.h). The system removes it when anyone writes to the file, so that a changed program does not keep
/// the capabilities.
const CAPABILITIES: &str = "security.capability";

/// Links a file in place. Returns what was found, and whether the file has changed.
pub fn link(path: &Path, keep: Keep) -> Result<(Found, bool), Failure> {
    let of = |failure: Failure| failure.of(&path.display().to_string());
    // A symbolic link stays one: the file that it names is replaced.
    let real = path.canonicalize().map_err(|error| of(Failure::OutOfReach(error.to_string())))?;
    in_place(&real, keep).map_err(of)
}

fn in_place(path: &Path, keep: Keep) -> Result<(Found, bool), Failure> {
    let refused = |why: &dyn std::fmt::Display| Failure::Refused(why.to_string());
    let unreachable = |error: std::io::Error| Failure::OutOfReach(error.to_string());
    let (file, before) = input::open(path).map_err(unreachable)?;
    // The kernel makes some files while they are read: their length is 0.
    if before.len() == 0 {
        return Err(Failure::OutOfReach("empty, and so not an ELF file".into()));
    }
    if before.len() > LARGEST {
        return Err(refused(&"larger than 16 GiB"));
    }
    if before.mode() & 0o6000 != 0 {
        return Err(refused(&"set-user-id or set-group-id: link it before it is"));
    }
    if matches!(xattr::get(path, CAPABILITIES), Ok(Some(_))) {
        return Err(refused(&"it has capabilities: link it before setcap"));
    }
    let bytes = input::read(file, LARGEST).map_err(unreachable)?;
    let linked = super::link(Rc::new(bytes), keep)?;
    let Some(bytes) = linked.bytes else { return Ok((linked.found, false)) };
    if before.mode() & 0o222 == 0 {
        return Err(refused(&"read-only"));
    }
    let beside = Beside::create(path).map_err(|error| refused(&format_args!("no file beside it: {error}")))?;
    let is_same = |now: &Metadata| {
        let of = |file: &Metadata| (file.dev(), file.ino(), file.len(), file.mtime(), file.mtime_nsec(), file.mode());
        of(now) == of(&before)
    };
    let replace = || -> std::io::Result<()> {
        beside.complete(&bytes, &before)?;
        beside.take_attributes(path)?;
        beside.file.sync_all()?;
        if !is_same(&fs::metadata(path)?) {
            return Err(std::io::Error::other("it has changed meanwhile"));
        }
        fs::rename(&beside.path, path)?;
        // Syncing the directory makes the rename durable. If the system crashes before that, the old file is still there.
        path.parent().map_or(Ok(()), |directory| File::open(directory)?.sync_all())
    };
    replace().map_err(|error| refused(&error))?;
    Ok((linked.found, true))
}

/// The new file, until it is renamed to the old file's name.
struct Beside {
    path: PathBuf,
    file: File,
}

impl Beside {
    fn create(of: &Path) -> std::io::Result<Beside> {
        let name = of.file_name().unwrap_or_default().to_string_lossy();
        let path = of.with_file_name(format!(".{name}.jumplabel-{}", std::process::id()));
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        Ok(Beside { path, file })
    }

    fn complete(&self, bytes: &[u8], like: &Metadata) -> std::io::Result<()> {
        (&self.file).write_all(bytes)?;
        let now = self.file.metadata()?;
        if (now.uid(), now.gid()) != (like.uid(), like.gid()) {
            fchown(&self.file, Some(like.uid()), Some(like.gid()))?;
        }
        self.file.set_permissions(PermissionsExt::from_mode(like.mode() & 0o7777))
    }

    /// Copies the extended attributes of the old file. A file system that has none leaves nothing to copy.
    fn take_attributes(&self, of: &Path) -> std::io::Result<()> {
        let names = match xattr::list(of) {
            Err(error) if error.kind() == std::io::ErrorKind::Unsupported => return Ok(()),
            names => names?,
        };
        for name in names {
            let Some(value) = xattr::get(of, &name)? else { continue };
            // The system gives a new file a security label, which is usually the same as the old file's, and which it may not let anybody change.
            if self.file.get_xattr(&name).ok().flatten().as_ref() == Some(&value) {
                continue;
            }
            self.file.set_xattr(&name, &value).map_err(|error| {
                let name = name.display();
                std::io::Error::new(error.kind(), format!("its attribute {name} cannot be kept: {error}"))
            })?;
        }
        Ok(())
    }
}

impl Drop for Beside {
    /// Removes the new file. After the rename, no file has this name.
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
