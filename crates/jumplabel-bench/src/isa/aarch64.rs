//! The instructions of the loops for AArch64.

macro_rules! multiply {
    ($of:literal) => {
        concat!("mul {", $of, "}, {", $of, "}, {", $of, "}")
    };
}

macro_rules! add {
    ($to:literal, $number:literal) => {
        concat!("add {", $to, "}, {", $to, "}, #", $number)
    };
}

macro_rules! next_line {
    ($apart:literal, $skipped:literal) => {
        concat!("b 2f\n.balign ", $apart, "\n.skip ", $skipped, "\n2:")
    };
}

macro_rules! returns_more {
    ($number:literal) => {
        concat!("add x0, x0, #", $number, "\nret")
    };
}

macro_rules! triples {
    () => {
        "add x0, x0, x0, lsl #1\nret"
    };
}

macro_rules! triple {
    ($result:literal, $of:literal) => {
        concat!("add {", $result, "}, {", $of, "}, {", $of, "}, lsl #1")
    };
}

pub(crate) use {add, multiply, next_line, returns_more, triple, triples};
