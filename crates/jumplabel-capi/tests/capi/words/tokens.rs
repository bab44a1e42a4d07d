//! A lexer for the headers.

/// The words of a header.
#[derive(Default)]
pub struct Tokens {
    /// The names of its macros.
    pub defined: Vec<String>,
    /// The words of its code: not those in comments and strings, parameters of macros, parts of words (`a##b`), or words in #include and #error.
    pub code: Vec<String>,
}

fn is_of_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// All words of a text, also those in comments.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !is_of_word(character))
        .filter(|word| !word.starts_with(|first: char| first.is_ascii_digit()))
}

/// The text with blanks in place of comments, strings and characters, and with each directive on one line.
fn bare(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let skipped = if rest.starts_with("\\\n") {
            2
        } else if rest.starts_with("/*") {
            rest.find("*/").unwrap() + 2
        } else if rest.starts_with("//") {
            rest.find('\n').unwrap()
        } else if first == '"' || first == '\'' {
            // A prefix is a part of the string: no macro replaces the `L` of L'x'.
            let prefix = ["u8", "L", "u", "U"]
                .into_iter()
                .find(|prefix| out.strip_suffix(prefix).is_some_and(|before| !before.ends_with(is_of_word)));
            out.truncate(out.len() - prefix.map_or(0, str::len));
            let mut escaped = false;
            let end = rest[1..].find(|character| {
                let ends = character == first && !escaped;
                escaped = character == '\\' && !escaped;
                ends
            });
            end.unwrap() + 2
        } else {
            out.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        };
        out.push(' ');
        rest = &rest[skipped..];
    }
    out
}

/// The words of a line that are neither numbers nor pasted to others.
fn whole(line: &str) -> impl Iterator<Item = &str> {
    let bytes = line.as_bytes();
    words(line).filter(move |word| {
        let start = word.as_ptr() as usize - line.as_ptr() as usize;
        let end = start + word.len();
        let before = line[..start].trim_end();
        !word.is_empty()
            && !before.ends_with('#')
            && !line[end..].trim_start().starts_with("##")
            && (start == 0
                || bytes[start - 1] != b'.'
                || !before[..before.len() - 1].ends_with(|c: char| c.is_ascii_digit()))
    })
}

pub fn of(text: &str) -> Tokens {
    let mut tokens = Tokens::default();
    for line in bare(text).lines() {
        let mut parameters: Vec<&str> = Vec::new();
        let mut body = line;
        if let Some(directive) = line.trim_start().strip_prefix('#') {
            let (verb, rest) = directive.trim_start().split_once([' ', '\t']).unwrap_or((directive.trim(), ""));
            match verb {
                "if" | "elif" => body = rest,
                "define" => {
                    let name = rest.trim_start();
                    let end = name.find(|character| !is_of_word(character)).unwrap_or(name.len());
                    tokens.defined.push(name[..end].to_string());
                    body = &name[end..];
                    if let Some((list, rest)) = body.strip_prefix('(').and_then(|body| body.split_once(')')) {
                        parameters.extend(list.split(',').map(str::trim));
                        body = rest;
                    }
                }
                _ => continue,
            }
        }
        tokens.code.extend(whole(body).filter(|word| !parameters.contains(word)).map(str::to_string));
    }
    tokens
}
