//! The parts of a document that can be tried: fenced blocks, and commands in the text.

/// A fenced block.
pub struct Block {
    pub language: String,
    pub text: String,
    /// The line of the fence, from 1.
    pub line: usize,
}

/// The fenced blocks of a document, and the rest of it.
pub fn split(document: &str) -> (Vec<Block>, String) {
    let (mut blocks, mut rest, mut open) = (Vec::new(), String::new(), None);
    for (number, line) in document.lines().enumerate() {
        match (line.trim().strip_prefix("```"), open.take()) {
            (Some(language), None) => {
                open = Some(Block { language: language.into(), text: String::new(), line: number + 1 });
            }
            (Some(_), Some(block)) => blocks.push(block),
            (None, Some(mut block)) => {
                block.text += &(line.to_owned() + "\n");
                open = Some(block);
            }
            (None, None) => rest += &(line.to_owned() + "\n"),
        }
    }
    assert!(open.is_none(), "a block has no end");
    (blocks, rest)
}

/// The commands of a block: its lines, without comments.
pub fn lines(block: &str) -> Vec<String> {
    let command = |line: &str| line.split(" #").next().unwrap_or_default().trim().to_owned();
    block.lines().map(command).filter(|line| !line.is_empty()).collect()
}

/// The commands in the text: words between backquotes that begin with a program of ours or with cargo or make.
pub fn commands(text: &str) -> Vec<String> {
    let spans = text.split('`').skip(1).step_by(2);
    let words = spans.map(|span| span.split_whitespace().collect::<Vec<_>>());
    let is_command = |words: &Vec<&str>| match words[..] {
        ["cargo" | "make", _, ..] => true,
        [program, ..] => program.starts_with(".ci/"),
        [] => false,
    };
    words.filter(is_command).map(|words| words.join(" ")).collect()
}
