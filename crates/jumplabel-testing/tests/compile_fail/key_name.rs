//! The attribute for a key's name: misspelt, given twice, empty, with a line break, and not a string.
jumplabel::static_key! {
    #[key(nmae = "a.name")]
    static MISSPELT: false;
}
jumplabel::static_key! {
    #[key(name = "a.name")]
    #[key(name = "another")]
    static TWICE: false;
}
jumplabel::static_key! {
    #[key(name = "")]
    static EMPTY: false;
}
jumplabel::naked_key! {
    #[key(name = "two\nlines")]
    static LINES: false;
}
jumplabel::static_key! {
    #[key(name = 7)]
    static NUMBER: false;
}

fn main() {}
