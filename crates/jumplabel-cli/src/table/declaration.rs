//! The part of a declaration that the compiled file keeps: names, file and line.

use std::rc::Rc;

use jumplabel_format::layout::{CALL, DEFAULT, INDIRECT, MODE, OFFSET_SHIFT};

use super::{Declared, Place};
use crate::image::Image;

/// The declaration of a key, an array of keys, a static call, or a mode.
pub struct Declaration {
    /// The place of the static that contains the key, call or mode.
    pub object: Place,
    /// The address of the slot that leads to the static, if the record names a slot and not the static itself.
    pub slot: Option<u64>,
    pub is_call: bool,
    pub is_mode: bool,
    pub default: bool,
    pub declared: Rc<Declared>,
    name: String,
    count: u64,
    /// The distance between two keys of an array; 0 for a single key.
    stride: u64,
    offset: u64,
}

impl Declaration {
    /// Reads the record at an address. An error says what is wrong with the record.
    pub fn read(image: &Image, record: u64) -> Result<Declaration, String> {
        let lost = || "leads out of the file".to_owned();
        let key = image.follow(record).ok_or_else(lost)?;
        let at = image.follow(record + 4).ok_or_else(lost)?;
        let word = |number: u64| image.word(at.wrapping_add(number * 4)).ok_or_else(lost);
        let (line, column, count, shape, offset) = (word(0)?, word(1)?, word(2)?, word(3)?, word(4)?);
        let stride = u64::from(shape >> OFFSET_SHIFT);
        let mut lengths = [0; 4];
        for (length, number) in lengths.iter_mut().zip(0..) {
            *length = usize::from(image.half(at.wrapping_add(20 + number * 2)).ok_or_else(lost)?);
        }
        let [_, path, name, file] = lengths;
        let texts = image.slice(at.wrapping_add(28), path + name + file).ok_or_else(lost)?;
        // The library reads names in the same way: a name ends before the first byte that is not UTF-8.
        let text = |from: usize, bytes: usize| {
            texts[from..from + bytes].utf8_chunks().next().map_or("", |chunk| chunk.valid())
        };
        let object = Place::of(image, key, shape & INDIRECT != 0, 0).ok_or_else(lost)?;
        if stride == 0 && count != 1 {
            return Err(format!("says {count} keys in one place"));
        }
        // The last key must lie in the object as well, whatever the count says.
        let far = u64::from(offset) + u64::from(count.saturating_sub(1)) * stride;
        if let Place::Here(start) = object
            && (start % 4 != 0 || !image.contains(start.wrapping_add(far), 8))
        {
            return Err("leads to no key of the object".into());
        }
        let named = text(path, name);
        let name = if named.is_empty() { text(0, path) } else { named }.to_owned();
        Ok(Declaration {
            object,
            slot: (shape & INDIRECT != 0).then_some(key),
            is_call: shape & CALL != 0,
            is_mode: shape & MODE != 0,
            default: shape & DEFAULT != 0,
            declared: Rc::new(Declared { file: text(path + lengths[2], file).to_owned(), line, column }),
            name,
            count: count.into(),
            stride,
            offset: offset.into(),
        })
    }

    /// The facts that distinguish this declaration from all others: place, name, and position in the source.
    pub fn identity(&self) -> (Place, u64, String, Declared) {
        (self.object.clone(), self.offset, self.name.clone(), Declared::clone(&self.declared))
    }

    /// The keys of the declaration: each one's name, its place, and its offset in the static.
    pub fn elements(&self) -> impl Iterator<Item = (String, Place, u64)> {
        (0..self.count).map(|element| {
            let name = if self.stride == 0 { self.name.clone() } else { format!("{}[{element}]", self.name) };
            let offset = self.offset + element * self.stride;
            (name, self.object.clone().plus(offset), offset)
        })
    }
}
