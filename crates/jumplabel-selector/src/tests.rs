use proptest::prelude::*;

use super::{Assignment, Glob, Selector, What, did_you_mean, literal};

fn parsed(text: &str) -> Selector {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn each_form() {
    let glob = Glob::new;
    for (text, what, assignment) in [
        ("net.*", What::Name(glob("net.*")), None),
        ("net.trace=on", What::Name(glob("net.trace")), Some(Assignment::On)),
        ("net.trace=off", What::Name(glob("net.trace")), Some(Assignment::Off)),
        ("net:packet+1", What::Name(glob("net:packet")), Some(Assignment::Inc)),
        ("a::B[3]-1", What::Name(glob("a::B[3]")), Some(Assignment::Dec)),
        ("HOOK=fast", What::Name(glob("HOOK")), Some(Assignment::Target("fast".into()))),
        (
            "fail:save=2*return(a=b)->off",
            What::Name(glob("fail:save")),
            Some(Assignment::Target("2*return(a=b)->off".into())),
        ),
        ("a=b=return(c,d e)", What::Name(glob("a=b")), Some(Assignment::Target("return(c,d e)".into()))),
        ("a(b=on", What::Name(glob("a(b")), Some(Assignment::On)),
        ("K@src/a.rs:3:1", What::Name(glob("K@src/a.rs:3:1")), None),
        ("file::K", What::Name(glob("file::K")), None),
        ("fn::K", What::Name(glob("fn::K")), None),
        ("file:a.rs", What::File(glob("a.rs"), None), None),
        ("file:src/*.rs:7", What::File(glob("src/*.rs"), Some(7..=7)), None),
        ("file:a.rs:7-9=off", What::File(glob("a.rs"), Some(7..=9)), Some(Assignment::Off)),
        ("file:a.rs:1-1", What::File(glob("a.rs"), Some(1..=1)), None),
        ("file:a.rs-1", What::File(glob("a.rs"), None), Some(Assignment::Dec)),
        ("fn:net::*::read=on", What::Function(glob("net::*::read")), Some(Assignment::On)),
        ("obj:libnet.so*", What::Object(glob("libnet.so*")), None),
    ] {
        assert_eq!(text.parse(), Ok(Selector { what, assignment }), "{text}");
    }
}

#[test]
fn refused() {
    for (text, why) in [
        ("", "a pattern is missing"),
        ("=on", "a pattern is missing"),
        ("net=", "a value is missing"),
        ("file:", "a pattern is missing"),
        ("file::7=on", "file"), // This one is accepted, as a name.
        ("fn:", "a pattern is missing"),
        ("obj:=on", "a pattern is missing"),
        ("file:a.rs:x", "`x` is no line"),
        ("file:a.rs:", "`` is no line"),
        ("file:a.rs:+7", "`+7` is no line"),
        ("file:a.rs:9-7", "in front of the first"),
        ("file:a.rs:7-1", "in front of the first"),
        ("file:a.rs:7-1-1", "in front of the first"),
        ("file:a.rs:99999999999", "is no line"),
    ] {
        match text.parse::<Selector>() {
            Err(error) => assert!(error.contains(why), "{text}: {error}"),
            Ok(selector) => assert!(why == "file" && matches!(selector.what, What::Name(_)), "{text}: {selector:?}"),
        }
    }
}

#[test]
fn globs() {
    for (pattern, text, matches) in [
        ("net.*", "net.trace", true),
        ("net.*", "net.", true),
        ("net.*", "cabinet.trace", false),
        ("*trace", "net.trace", true),
        ("*a*b*", "xxaxxbxx", true),
        ("*a*b*", "xxbxxaxx", false),
        ("K[3]", "K[3]", true),
        ("K[3]", "K3", false),
        ("K[?]", "K[7]", true),
        ("?", "ü", true),
        ("", "", true),
        ("", "a", false),
        ("*", "", true),
        ("**", "", true),
    ] {
        assert_eq!(Glob::new(pattern).matches(text), matches, "{pattern} {text}");
    }
    assert!(Glob::new("cache.rs").matches_end("src/cache.rs", "/"));
    assert!(Glob::new("src/*").matches_end("/home/src/cache.rs", "/"));
    assert!(!Glob::new("cache.rs").matches_end("src/mycache.rs", "/"));
    // The paths that `file!()` returns have backslashes if the program was built on Windows.
    for path in ["src/cache.rs", r"src\cache.rs", r"C:\work\src/cache.rs"] {
        for pattern in ["cache.rs", "src/cache.rs", r"src\cache.rs", "src/*.rs"] {
            assert!(Glob::new(pattern).matches_path(path), "{pattern} {path}");
        }
        assert!(!Glob::new("ache.rs").matches_path(path) && !Glob::new("src").matches_path(path));
    }
    assert!(Glob::new("k@src/*:3:*").matches_with_path(r"k@src\a.rs:3:5"));
    assert!(Glob::new(r"k@src\a.rs:3:5").matches_with_path("k@src/a.rs:3:5"));
    assert!(!Glob::new("src/a.rs:3:5").matches_with_path("k@src/a.rs:3:5"));
}

/// A literal has the assignment that it was given, or none, and its pattern matches the name. Characters that need no `?` stay.
#[test]
fn literals() {
    for (name, assignment, expected) in [
        ("net.trace", "", "net.trace"),
        ("K-1", "", "K?1"),
        ("K+1", "", "K?1"),
        ("K-1", "=on", "K-1=on"),
        ("K+1", "-1", "K+1-1"),
        ("K-11", "", "K-11"),
        ("-1", "", "?1"),
        ("file:a.rs:7-1", "", "file?a.rs:7?1"),
        ("a b,c=d", "=off", "a?b?c?d=off"),
        ("a(b", "", "a(b"),
        ("a(b", "=on", "a(b=on"),
        ("a(b", "=return(c=d)", "a?b=return(c=d)"),
    ] {
        let selector = literal(name, assignment);
        assert_eq!(selector, expected);
        is_literal(name, assignment, &parsed(&selector));
    }
}

fn is_literal(name: &str, assignment: &str, selector: &Selector) {
    let value = selector.assignment.as_ref().map_or("", Assignment::value);
    assert_eq!(value, assignment.strip_prefix('=').unwrap_or(assignment), "{name:?}: {selector}");
    assert!(matches!(&selector.what, What::Name(glob) if glob.matches(name)), "{name:?}: {selector}");
}

/// A long pattern with many stars does not take exponential time.
#[test]
fn no_explosion() {
    let pattern = Glob::new(&"*a".repeat(2000));
    assert!(!pattern.matches(&("a".repeat(1999) + "b")));
}

/// Matches as the definition of patterns says: a star stands for nothing, or for one character and another star.
fn slow(pattern: &[char], text: &[char]) -> bool {
    match (pattern, text) {
        ([], []) => true,
        (['*', rest @ ..], []) => slow(rest, &[]),
        (['*', rest @ ..], [_, behind @ ..]) => slow(rest, text) || slow(pattern, behind),
        ([wanted, rest @ ..], [found, behind @ ..]) => (*wanted == '?' || wanted == found) && slow(rest, behind),
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn globs_by_definition(pattern in "[ab*?]{0,8}", text in "[abc]{0,10}") {
        let chars = |text: &str| text.chars().collect::<Vec<_>>();
        prop_assert_eq!(Glob::new(&pattern).matches(&text), slow(&chars(&pattern), &chars(&text)));
    }

    /// Each accepted selector is displayed as a text that parses to the same selector.
    #[test]
    fn displayed_and_parsed(text in "(file:|fn:|obj:|)[a-z*?:.\\[\\]/_=+1-]{1,16}(=on|=off|\\+1|-1|=f|:[0-9]{1,3}-[0-9]{1,3}|)") {
        if let Ok(selector) = text.parse::<Selector>() {
            prop_assert_eq!(parsed(&selector.to_string()), selector);
        }
    }

    /// A literal of any name chooses the name, and has the assignment that it was given.
    #[test]
    fn any_literal(
        name in "(file:|fn:|obj:|)[a-z*?:,() =+1-]{1,12}(\\+1|-1|)",
        assignment in "(|=on|=off|\\+1|-1|=f|=3|=return\\(a=b\\))",
    ) {
        is_literal(&name, &assignment, &parsed(&literal(&name, &assignment)));
    }

    /// Any text is either accepted, or refused with a message that quotes a part of it.
    #[test]
    fn anything(text in "\\PC*") {
        if let Err(error) = text.parse::<Selector>() {
            prop_assert!(error.contains('`'));
        }
    }
}

#[test]
fn misspelt() {
    let names =
        ["net.trace", "net.traced", "net.unused", "wal.fsync", "app::HOOKS[3]", "app::cache::VERIFY", "net:packet"];
    for (text, meant) in [
        ("net.trcae", "; did you mean net.trace or net.traced?"),
        ("net.trce=on", "; did you mean net.trace or net.traced?"),
        ("NET.TRACE", "; did you mean net.trace or net.traced?"),
        ("wal.fysnc", "; did you mean wal.fsync?"),
        ("trase", "; did you mean net.trace?"),
        ("fsync", "; did you mean wal.fsync?"),
        ("cache::verfy", "; did you mean app::cache::VERIFY?"),
        ("app::HOOK[3]", "; did you mean app::HOOKS[3]?"),
        ("net.packet", "; did you mean net:packet?"),
        ("nte.*", "; did you mean net.trace, net.traced or net.unused?"),
        ("*.fsnyc", "; did you mean wal.fsync?"),
        ("nobody.*", ""),
        ("*", ""),
        ("x", ""),
        ("", ""),
        ("file:net.trace", ""),
        ("fn:net.trace", ""),
        ("\u{e4}\u{f6}\u{fc}\u{df}", ""),
    ] {
        let what = text.split('=').next().unwrap().parse().unwrap_or(What::Name(Glob::new("")));
        assert_eq!(did_you_mean(&what, names), meant, "{text}");
    }
    // Nobody types such a long pattern, so it is not compared.
    assert_eq!(did_you_mean(&What::Name(Glob::new(&"x".repeat(4096))), names), "");
}
