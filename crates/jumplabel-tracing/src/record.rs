//! Makes the record of an event or of a new span: a text with one JSON object.

use std::fmt::{Debug, Write};
use std::time::Duration;

use serde::Serialize;
use tracing_core::Metadata;
use tracing_core::field::{Field, Visit};

/// The largest length of a value, in bytes. A longer value is cut off there, and ends with `...`.
const LONGEST: usize = 4096;
/// The largest length of all fields of a record without the message, in bytes. A field that does not fit is left out.
const LONGEST_FIELDS: usize = 16 << 10;

/// The first part of a record: the time, the callsite and the thread.
#[derive(Serialize)]
struct Head<'a> {
    time: f64,
    level: &'a str,
    kind: &'a str,
    target: &'a str,
    name: &'a str,
    module: Option<&'a str>,
    file: Option<&'a str>,
    line: Option<u32>,
    thread: Option<&'a str>,
}

/// Makes the record of an event at the callsite `meta`: the [`Head`], the message, all other fields, and the number of events of this callsite that
/// were lost since its last record. `values` visits the event's fields.
pub fn json(meta: &Metadata<'_>, now: Duration, lost: u32, values: &dyn Fn(&mut dyn Visit)) -> String {
    let thread = std::thread::current();
    let head = Head {
        time: now.as_secs_f64(),
        level: meta.level().as_str(),
        kind: if meta.is_span() { "span" } else { "event" },
        target: meta.target(),
        name: meta.name(),
        module: meta.module_path(),
        file: meta.file(),
        line: meta.line(),
        thread: thread.name(),
    };
    let mut fields = Fields { message: None, others: String::new(), left_out: 0 };
    values(&mut fields);
    let mut json = text(&head);
    json.pop();
    if let Some(message) = fields.message {
        json.extend([",\"message\":", &message]);
    }
    json.extend([",\"fields\":{", &fields.others, "}"]);
    if fields.left_out > 0 {
        json.extend([",\"left_out\":", &text(&fields.left_out)]);
    }
    if lost > 0 {
        json.extend([",\"lost\":", &text(&lost)]);
    }
    json.push('}');
    json
}

/// `value` as JSON. It cannot fail: all values here are texts, numbers and booleans.
fn text(value: &(impl Serialize + ?Sized)) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}

/// The values of an event's fields, as JSON.
struct Fields {
    message: Option<String>,
    others: String,
    /// The number of fields that were left out, because the record was too long.
    left_out: usize,
}

impl Fields {
    fn put(&mut self, field: &Field, value: &(impl Serialize + ?Sized)) {
        let value = text(value);
        if field.name() == "message" {
            self.message = Some(value);
        } else {
            self.put_other(field.name(), &value);
        }
    }

    /// Adds a field, if it fits. `value` is JSON.
    fn put_other(&mut self, name: &str, value: &str) {
        let comma = if self.others.is_empty() { "" } else { "," };
        let field = [comma, &text(name), ":", value];
        if self.others.len() + field.iter().map(|part| part.len()).sum::<usize>() <= LONGEST_FIELDS {
            self.others.extend(field);
        } else {
            self.left_out += 1;
        }
    }
}

impl Visit for Fields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        // JSON has only finite numbers, so any other number is written as a text.
        if value.is_finite() { self.put(field, &value) } else { self.record_debug(field, &value) }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, &value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, &value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, &value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let mut cut = Cut(String::new());
        let _ = cut.write_str(value);
        self.put(field, &cut.0);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let mut cut = Cut(String::new());
        // An error can come only from the value's own `Debug`. Then the record has the part of the text before the error.
        let _ = write!(cut, "{value:?}");
        self.put(field, &cut.0);
    }
}

/// A text that is cut off after [`LONGEST`] bytes. Writes beyond that still return `Ok`, because an implementation of `Debug` may rely on success.
struct Cut(String);

impl Write for Cut {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let Some(room) = LONGEST.checked_sub(self.0.len()) else { return Ok(()) };
        if text.len() <= room {
            self.0.push_str(text);
            return Ok(());
        }
        let end = (0..=room).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        self.0.push_str(&text[..end]);
        self.0.extend(std::iter::repeat_n('.', LONGEST + 3 - self.0.len()));
        Ok(())
    }
}

#[test]
fn long_texts_end() {
    let mut cut = Cut(String::new());
    for (part, expected) in [("é".repeat(2047), 4094), ("aé".to_owned(), 4099), ("x".to_owned(), 4099)] {
        cut.write_str(&part).unwrap();
        assert_eq!(cut.0.len(), expected);
    }
    assert!(cut.0.ends_with("éa...."), "{}", cut.0);
}

/// The fields are as long as they may be, and never longer: names, quotes and commas count, too.
#[test]
fn fields_end() {
    let mut fields = Fields { message: None, others: String::new(), left_out: 0 };
    let name = "n".repeat(100);
    // Each of these fields has 104 bytes: the name, its quotes, a colon and the value. All but the first have a comma, too.
    let fit = (LONGEST_FIELDS + 1) / 105;
    (0..fit + 3).for_each(|_| fields.put_other(&name, "1"));
    assert_eq!((fields.others.len(), fields.left_out), (fit * 105 - 1, 3));
    // A field that is one byte too long is left out. A shorter one still fits, to the last byte: beside its value it has four bytes.
    let before = fields.others.len();
    let rest = LONGEST_FIELDS - before;
    fields.put_other("", &"1".repeat(rest - 3));
    assert_eq!((fields.others.len(), fields.left_out), (before, 4));
    fields.put_other("", &"1".repeat(rest - 4));
    assert_eq!((fields.others.len(), fields.left_out), (LONGEST_FIELDS, 4));
}
