//! Reads a declaration of C or C++: its name, and the text that a page shows.

/// A declaration.
#[derive(Debug, PartialEq)]
pub struct Declaration {
    pub name: String,
    pub text: String,
}

/// The code without its comments.
pub fn without_comments(code: &str) -> String {
    let (mut left, mut rest) = (String::new(), code);
    while let Some((before, comment)) = rest.split_once("/*") {
        left += before;
        rest = comment.split_once("*/").map_or("", |(_, rest)| rest);
    }
    left += rest;
    left.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// Reads a declaration. `None` if it is not for programs.
pub fn read(code: &str) -> Option<Declaration> {
    let declaration = if code.trim_start().starts_with('#') { macro_of(code) } else { declared(code) }?;
    let name = &declaration.name;
    let is_ours = name.ends_with('_') || name.starts_with('_') || name.is_empty();
    (!is_ours).then_some(declaration)
}

/// Reads a macro: its name and arguments. For a constant in one line, also its value.
fn macro_of(code: &str) -> Option<Declaration> {
    let rest = code.trim().trim_start_matches('#').trim_start().strip_prefix("define ")?.trim_start();
    let end = rest.find(|c| !is_of_name(c)).unwrap_or(rest.len());
    let name = rest[..end].to_owned();
    let (arguments, value) = match rest[end..].strip_prefix('(') {
        Some(arguments) => (format!("({})", arguments.split(')').next()?), ""),
        None => (String::new(), rest[end..].trim()),
    };
    let is_guard = value.is_empty() && arguments.is_empty();
    let is_plain =
        !value.contains(['\n', '\\', '{']) && !value.split(|c| !is_of_name(c)).any(|word| word.ends_with('_'));
    let value = if is_plain && !value.is_empty() { format!(" {value}") } else { String::new() };
    (!is_guard).then(|| Declaration { text: format!("#define {name}{arguments}{value}"), name })
}

/// Words in front of a declaration. Pages do not show them.
const LEFT_OUT: [&str; 5] = [
    "static __inline__ ",
    "__inline__ ",
    "JUMPLABEL_OPTIONAL_API_ ",
    "JUMPLABEL_INLINE_ ",
    "__attribute__((__cold__)) ",
];

/// Reads a function, a type or a variable.
fn declared(code: &str) -> Option<Declaration> {
    let mut code = code.trim();
    while let Some(rest) = LEFT_OUT.iter().find_map(|word| code.strip_prefix(word)) {
        code = rest;
    }
    let is_template = code.starts_with("template <");
    let plain = without_comments(code);
    let head = plain.split('{').next()?.trim().trim_end_matches(';').trim();
    let mut words = head.split(|c| !is_of_name(c)).filter(|word| !word.is_empty());
    let first = words.next()?;
    let is_type = ["struct", "union", "class"].contains(&first) && !head.contains('(') && !head.contains('*');
    if is_type || (["struct", "class"].contains(&first) && head.contains("[[")) {
        let name = words.find(|word| *word != "__nodiscard__")?;
        return plain.contains('{').then(|| Declaration { name: name.to_owned(), text: typed(code) });
    }
    if first == "enum" {
        let body = plain.split_once('{')?.1;
        let name = words.next().or_else(|| body.split(|c| !is_of_name(c)).find(|word| !word.is_empty()))?;
        return Some(Declaration { name: name.to_owned(), text: typed(code) });
    }
    if first == "typedef" {
        let name = match plain.split_once("(*") {
            Some((_, rest)) => rest.split(')').next()?,
            None => head.rsplit(|c| !is_of_name(c)).next()?,
        };
        return Some(Declaration { name: name.trim().to_owned(), text: parameters(code) });
    }
    // This is a function. Its name is the word before the first parenthesis that does not belong to an attribute.
    if ["namespace", "extern", "using", "inline"].contains(&first) || is_template && head.contains("struct ") {
        return None;
    }
    let before = head.split('(').find(|part| !part.trim_end().ends_with("__attribute__") && !part.trim().is_empty())?;
    let name = before.rsplit(|c| !is_of_name(c)).next()?;
    // A macro that declares something has no type before its name.
    let is_function = head.contains('(') && before.trim() != name;
    is_function.then(|| Declaration { name: name.to_owned(), text: parameters(&signature(code)) })
}

/// The text of a function, without its body.
fn signature(code: &str) -> String {
    let head = code.split("\n{").next().unwrap_or_default();
    let head = head.split(" {").next().unwrap_or_default().trim().trim_end_matches(';');
    format!("{head};")
}

/// The text of a type, without its private parts, and with `struct` in place of the macro `JUMPLABEL_STRUCT_`.
fn typed(code: &str) -> String {
    let code = code.split_once("\n\nprivate:\n").map_or(code.to_owned(), |(public, _)| format!("{public}\n}};"));
    code.replace("JUMPLABEL_STRUCT_ ", "struct ")
}

/// Removes underscores before the names of parameters. They are there only because a program may have macros of any name.
fn parameters(code: &str) -> String {
    let mut shown = String::new();
    let mut before = ' ';
    for c in typed(code).chars() {
        let is_sign = c == '_' && matches!(before, ' ' | '*' | '&' | '(');
        if !is_sign {
            shown.push(c);
        }
        before = c;
    }
    shown
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_it_is_shown() {
        for (code, name, text) in [
            ("#define ON 1U", "ON", "#define ON 1U"),
            ("# define A(b, c) \\\n\td", "A", "#define A(b, c)"),
            ("#define INIT JUMPLABEL_INIT_(1)", "INIT", "#define INIT"),
            ("int f(void);", "f", "int f(void);"),
            ("struct key *g(struct key *_key, int _n);", "g", "struct key *g(struct key *key, int n);"),
            ("static __inline__ void h(void)\n{\n}", "h", "void h(void);"),
            ("typedef void (*fn)(const char *_text);", "fn", "typedef void (*fn)(const char *text);"),
            ("typedef struct key k;", "k", "typedef struct key k;"),
            ("enum { A, B };", "A", "enum { A, B };"),
            (
                "class [[__nodiscard__]] c {\n\tc();\n\nprivate:\n\tint _n;\n};",
                "c",
                "class [[__nodiscard__]] c {\n\tc();\n};",
            ),
            ("template <class _t> int t(_t &_a)\n{\n}", "t", "template <class t> int t(t &a);"),
        ] {
            assert_eq!(read(code), Some(Declaration { name: name.into(), text: text.into() }), "{code}");
        }
    }

    #[test]
    fn not_for_readers() {
        for code in [
            "#define GUARD_H",
            "#define HIDDEN_ 1",
            "#include <a.h>",
            "int hidden_(void);",
            "struct forward;",
            "struct hidden_ {\n};",
            "MACRO_(a, b);",
            "namespace a {",
            "}",
            "extern struct key list[];",
        ] {
            assert_eq!(read(code), None, "{code}");
        }
    }
}
