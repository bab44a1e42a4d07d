//! The limit for a callsite's shown events as a text: `on` (no limit), or a number of events in a second such as `100/s`.

use crate::patched::ALL;

/// Reads a limit: `on`, or `100/s`. Returns the number of events in a second, [`ALL`] for `on`; `None` if the text is not a limit.
pub fn parse(value: &str) -> Option<u32> {
    if value == "on" {
        return Some(ALL);
    }
    let number = value.strip_suffix("/s").filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()))?;
    number.parse().ok().filter(|&number| number > 0 && number != ALL)
}

/// The text from which [`parse`] reads this limit.
pub fn text(most: u32) -> String {
    if most == ALL { "on".to_owned() } else { format!("{most}/s") }
}

#[test]
fn values() {
    for (value, most) in [("on", ALL), ("1/s", 1), ("100/s", 100), ("4294967294/s", ALL - 1)] {
        assert_eq!((parse(value), text(most)), (Some(most), value.to_owned()));
    }
    for value in ["", "off", "0/s", "/s", "100", "100/m", "-1/s", "+1/s", "4294967295/s", "4294967296/s", "1 /s"] {
        assert_eq!(parse(value), None, "{value}");
    }
}
