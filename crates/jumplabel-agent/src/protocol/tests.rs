use proptest::prelude::*;

use super::*;

#[test]
fn requests() {
    for line in [
        "hello",
        "list",
        "list net.*,file:a.rs:3-9",
        "check",
        "check net.trace=on,wal.*",
        "verify",
        "verify net.*,x",
        "set net.trace=on",
        "set a::MODE=2,x+1 for 30",
        "set x=off dry-run",
        "set x=off for 4294967295 dry-run",
        "set for=on,dry-run=off dry-run",
        "list for,dry-run",
        "watch",
        "trace trace:h2::*,trace:at",
        "trace x at 4294967295",
        "set fail:save=return(a=b)->off,x=on for 3",
        "set \"fail:save=return(a, b)\",x=on dry-run",
        "check \"fail:save=print(\\\"a\\\" b)\"",
    ] {
        assert_eq!(line.parse::<Request>().unwrap().to_string(), line);
    }
    let set = "\tset  x=on,  dry-run for 30s\r".parse::<Request>().unwrap();
    assert_eq!(set.to_string(), "set x=on for 30 dry-run");
    for (line, why) in [
        ("", "no such request"),
        ("fetch", "`fetch`: no such request; there are hello"),
        ("hello you", "`you`: too much"),
        ("list net.trace=on", "without values"),
        ("verify net.trace=on", "verify takes selectors without values"),
        ("list a b", "`b`: too much"),
        ("set", "say what is to change"),
        ("set , for 3", "say what is to change"),
        ("set for 3", "say what is to change"),
        ("set ,dry-run", "`dry-run`: say what it is to be"),
        ("set x", "`x`: say what it is to be"),
        ("set x=", "a value is missing"),
        ("set x=on for", "for takes seconds"),
        ("set x=on for 0", "for takes seconds"),
        ("set x=on for +3", "for takes seconds"),
        ("set x=on for 4294967296", "for takes seconds"),
        ("set x=on for 3m", "for takes seconds"),
        ("set x=on for 3 for 4", "`for`: set takes"),
        ("trace", "say what is to be followed"),
        ("trace at 5", "say what is to be followed"),
        ("trace x=on", "trace takes selectors without values"),
        ("trace x at", "give a number of records"),
        ("trace x at 0", "give a number of records"),
        ("trace x for 5", "`for`: trace takes"),
        ("trace x at 5 at 6", "`at`: too much"),
        ("set \"x=on", "no string of JSON"),
        ("set \"x=on\"y=on", "a comma is missing in front of it"),
        ("list \"x=a b\"", "takes selectors without values"),
        ("set x=on y=on", "`y=on`: set takes"),
    ] {
        let error = line.parse::<Request>().unwrap_err();
        assert!(error.contains(why), "{line}: {error}");
    }
}

#[test]
fn items() {
    for all in [&["a=on"][..], &["a=b c", "d,e", "f"], &["\"", "=", "a\u{3000}b", "\n"], &[]] {
        let text: Vec<_> = all.iter().map(|text| item(text)).collect();
        assert_eq!(split_items(&text.join(",")).unwrap(), all);
    }
    assert!(split_items("a b").is_err() && split_items("\"a").is_err());
}

proptest! {
    /// A request that is read from a line and written again reads as the same request.
    #[test]
    fn any_line(line in "(set|list|check|verify|trace|\\PC*) ?[ a-z0-9=,:*+()\"-]{0,40}( for [0-9]{1,11}s?)?( dry-run)?( at [0-9]{1,11})?\\PC{0,9}") {
        if let Ok(request) = line.parse::<Request>() {
            prop_assert_eq!(request.to_string().parse(), Ok(request));
        }
    }
}
