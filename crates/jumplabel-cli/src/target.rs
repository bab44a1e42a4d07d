//! What a command looks at: objects, each with its memory as it is at the start.

use std::cell::OnceCell;

use crate::failure::Failure;
use crate::image::Image;
use crate::image::lines::Lines;
use crate::table::Table;

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
    pub(crate) lines: OnceCell<Lines>,
}

impl Object {
    /// Looks again for sites that do not do what their subject is.
    #[cfg(target_os = "linux")]
    pub fn judge(&mut self) {
        self.table.damage.clear();
        self.table.judge(&self.image);
    }

    /// Reads its tables.
    pub fn read(image: Image, path: &str) -> Result<Object, Failure> {
        let table = Table::read(&image).map_err(|failure| failure.of(path))?;
        Ok(Object { path: path.to_owned(), image, table, lines: OnceCell::new() })
    }
}
