//! Uses `fail` as crates do that know nothing of this project: in the style of 2015, too.

#[macro_use]
extern crate fail;

/// Saves, unless the point says otherwise.
pub fn save() -> Result<(), String> {
    fail_point!("dependency::save", |text| Err(text.unwrap_or_default()));
    fail::fail_point!("dependency::saved");
    Ok(())
}
