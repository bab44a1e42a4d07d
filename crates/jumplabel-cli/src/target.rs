//! The target of a command: its objects, each with its memory. The memory of a file is as the program finds it at the start.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::path::Path;

use crate::failure::Failure;
use crate::image::Image;
use crate::image::lines::Lines;
use crate::table::{Is, Subject, Table};

/// A target: a file, which is one object, or a process, with all objects that it has loaded.
pub struct Target {
    /// The name that the user gave.
    pub name: String,
    /// The programs and libraries.
    pub objects: Vec<Object>,
}

/// One program or library, with what its tables say.
pub struct Object {
    /// The path that the user gave, or where the process found the object.
    pub path: String,
    pub image: Image,
    pub table: Table,
    /// The object's addresses in the process are higher by this than in its file. 0 if the target is a file.
    pub bias: u64,
    /// The names of functions in other objects to which this object's static calls lead. Each is found by the function's address less `bias`.
    pub elsewhere: HashMap<u64, String>,
    pub(crate) lines: OnceCell<Lines>,
}

impl Target {
    /// Opens a file as a target. The file is read, and never run.
    pub fn of_file(name: &str) -> Result<Target, Failure> {
        let object = Object::read(Image::open(Path::new(name))?, name)?;
        Ok(Target { name: name.to_owned(), objects: vec![object] })
    }
}

impl Object {
    /// Judges again which sites do not do what their subject says, after the memory has changed.
    #[cfg(target_os = "linux")]
    pub fn judge(&mut self) {
        self.table.judge(&self.image);
    }

    /// Reads the tables of an object.
    pub fn read(image: Image, path: &str) -> Result<Object, Failure> {
        let table = Table::read(&image).map_err(|failure| failure.of(path))?;
        let (path, bias, elsewhere) = (path.to_owned(), 0, HashMap::new());
        Ok(Object { path, image, table, bias, elsewhere, lines: OnceCell::new() })
    }

    /// The name of the function at an address, or the address.
    pub fn function(&self, address: u64) -> String {
        let other = || self.elsewhere.get(&address).cloned();
        self.image.symbols().place(address).or_else(other).unwrap_or_else(|| format!("{address:#x}"))
    }
}

impl Subject {
    /// The subject's state in a word. In a file, that is the state at the start of the program; in a process, the state now.
    pub fn state(&self, object: &Object) -> String {
        match self.is {
            Is::Key(None) | Is::Tracepoint(None) | Is::Call(None) => "-".into(),
            Is::Key(Some(on)) | Is::Tracepoint(Some(on)) => if on { "on" } else { "off" }.into(),
            Is::Call(Some(target)) => object.function(target),
            Is::Mode { mode, count } => format!("{mode}/{count}"),
        }
    }
}
