//! Splits requests that are too long for an agent.

use std::fmt::Display;

use jumplabel_agent::protocol::{self, LONGEST};

/// Splits items into portions that fit into one request each, in the same order.
pub fn of<T: Display>(items: Vec<T>) -> Vec<Vec<T>> {
    // The other 100 bytes of a request are for `set`, a time, and the end of the line.
    const ROOM: usize = LONGEST - 100;
    let (mut portions, mut length) = (Vec::<Vec<T>>::new(), ROOM);
    for item in items {
        let own = protocol::item(&item.to_string()).len() + 1;
        length += own;
        match portions.last_mut() {
            Some(last) if length <= ROOM => last.push(item),
            _ => {
                length = own;
                portions.push(vec![item]);
            }
        }
    }
    portions
}

#[test]
fn long_requests() {
    use jumplabel_agent::protocol::Request;
    use jumplabel_selector::Selector;

    let items: Vec<Selector> = (0..1000).map(|number| format!("net.key{number:04}=on").parse().unwrap()).collect();
    let portions = of(items.clone());
    assert_eq!(portions.concat(), items);
    assert_eq!(portions.len(), 4);
    for items in portions {
        let request = Request::Set { items, seconds: Some(u32::MAX), dry_run: true };
        assert!(request.to_string().len() < LONGEST);
    }
    assert!(of(Vec::<Selector>::new()).is_empty());
}
