//! What a command looks at: objects, each with its memory as it is at the start.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::path::Path;

use crate::failure::Failure;
use crate::image::Image;
use crate::image::lines::Lines;
use crate::table::{Is, Subject, Table};

/// A target: a file, which is one object; or what a process has loaded.
pub struct Target {
    /// As it was named.
    pub name: String,
    /// Programs and libraries.
    pub objects: Vec<Object>,
}

/// One program or library, with what its tables say.
pub struct Object {
    /// As it was named, or where the process found it.
    pub path: String,
    pub image: Image,
    pub table: Table,
    /// What is added to an address of the file in a process.
    pub bias: u64,
    /// Functions of other objects to which static calls of this one lead, by their addresses less the bias.
    pub elsewhere: HashMap<u64, String>,
    pub(crate) lines: OnceCell<Lines>,
}

impl Target {
    /// A file, which is read and never run.
    pub fn of_file(name: &str) -> Result<Target, Failure> {
        let object = Object::read(Image::open(Path::new(name))?, name)?;
        Ok(Target { name: name.to_owned(), objects: vec![object] })
    }
}

impl Object {
    /// Looks again for sites that do not do what their subject is.
    #[cfg(target_os = "linux")]
    pub fn judge(&mut self) {
        self.table.judge(&self.image);
    }

    /// Reads its tables.
    pub fn read(image: Image, path: &str) -> Result<Object, Failure> {
        let table = Table::read(&image).map_err(|failure| failure.of(path))?;
        let (path, bias, elsewhere) = (path.to_owned(), 0, HashMap::new());
        Ok(Object { path, image, table, bias, elsewhere, lines: OnceCell::new() })
    }

    /// The name of code, or its address.
    pub fn function(&self, address: u64) -> String {
        let other = || self.elsewhere.get(&address).cloned();
        self.image.symbols().place(address).or_else(other).unwrap_or_else(|| format!("{address:#x}"))
    }
}

impl Subject {
    /// What it is at the start, or, in a process, now: in a word.
    pub fn state(&self, object: &Object) -> String {
        match self.is {
            Is::Key(None) | Is::Tracepoint(None) | Is::Call(None) => "-".into(),
            Is::Key(Some(on)) | Is::Tracepoint(Some(on)) => if on { "on" } else { "off" }.into(),
            Is::Call(Some(target)) => object.function(target),
            Is::Mode { mode, count } => format!("{mode}/{count}"),
        }
    }
}
