//! An element of a list is a static of the list's type, not one that dereferences to such a static. The same holds for the list.
use std::sync::LazyLock;

use jumplabel::{List, list, list_element};

pub struct Place {
    pub name: &'static str,
}

list! { static PLACES: [Place]; }
static PLACE: Place = Place { name: "a" };

static REFERENCE: &Place = &PLACE;
static LAZY: LazyLock<Place> = LazyLock::new(|| Place { name: "b" });
static LIST: &List<Place> = &PLACES;
static OTHER: u64 = 1;
static mut MUTABLE: Place = Place { name: "c" };

fn main() {
    list_element!(PLACES, PLACE);
    list_element!(PLACES, REFERENCE);
    list_element!(PLACES, LAZY);
    list_element!(LIST, PLACE);
    list_element!(PLACES, OTHER);
    list_element!(PLACES, MUTABLE);
}
