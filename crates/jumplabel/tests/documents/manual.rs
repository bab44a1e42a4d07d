//! jumplabel(3): its synopsis as C that a compiler checks, and its example.

/// The text of a line of `.B` or `.BI`: its words in two fonts, which have no blanks between them but those in quotes.
fn text(line: &str) -> Option<String> {
    let words = line.strip_prefix(".BI ").or_else(|| line.strip_prefix(".B "))?;
    if line.starts_with(".B ") {
        return Some(words.to_owned());
    }
    let mut quoted = false;
    let keep = |c: &char| {
        quoted ^= *c == '"';
        *c != '"' && (quoted || *c != ' ')
    };
    Some(words.chars().filter(keep).collect())
}

/// A declaration of each function, which the compiler compares with the header's; a question for each macro.
pub fn synopsis(page: &str) -> String {
    let synopsis = page.split(".SH SYNOPSIS").nth(1).and_then(|rest| rest.split(".SH").next()).expect("a synopsis");
    let declarations = synopsis.lines().filter_map(text).collect::<Vec<_>>().join(" ");
    let (_, declarations) = declarations.split_once("#include <jumplabel.h>").expect("an #include");
    // With a tracepoint that is called what the page calls one.
    let mut source =
        String::from("#include <jumplabel.h>\nDECLARE_TRACE(name, TP_PROTO(int arguments), TP_ARGS(arguments));\n");
    let mut count = 0;
    for declaration in declarations.split(';').map(str::trim).filter(|declaration| !declaration.is_empty()) {
        let (name, arguments) = declaration.split_once('(').expect("a function");
        let name = name.rsplit([' ', '*']).next().unwrap();
        // A macro that takes a name or a place has no types.
        let is_macro = arguments.starts_with('&') || arguments.starts_with("name");
        source += &if is_macro {
            format!("#ifndef {name}\n#error no {name}\n#endif\n")
        } else if name.contains("_name") {
            format!("extern __typeof__(&{name}) function_{count};\n")
        } else {
            format!("{declaration};\n")
        };
        count += 1;
    }
    assert!(count >= 20, "{count} names in the synopsis");
    source
}

/// The program between `.EX` and `.EE`.
pub fn example(page: &str) -> String {
    let (_, rest) = page.split_once(".EX\n").expect("an example");
    rest.split(".EE").next().unwrap().replace("\\en", "\\n").replace("\\\\", "\\")
}

/// The command below the example.
pub fn command(page: &str) -> &str {
    page.lines().find(|line| line.starts_with("cc ")).expect("a command")
}
