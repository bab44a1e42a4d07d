//! What a command looks at: objects, each with its memory as it is at the start.

use std::cell::OnceCell;
use std::path::Path;

use crate::failure::Failure;
use crate::image::Image;
use crate::image::lines::Lines;
use crate::table::Table;

/// A target: a file, which is one object.
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
    pub(crate) lines: OnceCell<Lines>,
}

impl Target {
    /// Opens what an argument names. Reads it, and never runs it.
    pub fn open(name: &str) -> Result<Target, Failure> {
        let object = Object::read(Image::open(Path::new(name))?, name)?;
        Ok(Target { name: name.to_owned(), objects: vec![object] })
    }
}

impl Object {
    /// Reads its tables.
    pub fn read(image: Image, path: &str) -> Result<Object, Failure> {
        let table = Table::read(&image).map_err(|failure| failure.of(path))?;
        Ok(Object { path: path.to_owned(), image, table, lines: OnceCell::new() })
    }
}
