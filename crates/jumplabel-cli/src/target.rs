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
    pub image: Image,
    pub table: Table,
    pub(crate) lines: OnceCell<Lines>,
}

impl Target {
    /// Opens what an argument names. Reads it, and never runs it.
    pub fn open(name: &str) -> Result<Target, Failure> {
        let image = Image::open(Path::new(name))?;
        let table = Table::read(&image).map_err(|failure| failure.of(name))?;
        Ok(Target { name: name.to_owned(), objects: vec![Object { image, table, lines: OnceCell::new() }] })
    }
}
