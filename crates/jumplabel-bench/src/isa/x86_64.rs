//! The instructions of the loops for x86-64.

macro_rules! multiply {
    ($of:literal) => {
        concat!("imul {", $of, "}, {", $of, "}, 3")
    };
}

macro_rules! add {
    ($to:literal, $number:literal) => {
        concat!("add {", $to, "}, ", $number)
    };
}

macro_rules! next_line {
    ($apart:literal, $skipped:literal) => {
        concat!("jmp 2f\n.balign ", $apart, ", 0xcc\n.skip ", $skipped, ", 0xcc\n2:")
    };
}

macro_rules! returns_more {
    ($number:literal) => {
        concat!("lea rax, [rdi + ", $number, "]\nret")
    };
}

macro_rules! triples {
    () => {
        "lea rax, [rdi + rdi * 2]\nret"
    };
}

macro_rules! triple {
    ($result:literal, $of:literal) => {
        concat!("lea {", $result, "}, [{", $of, "} + {", $of, "} * 2]")
    };
}

pub(crate) use {add, multiply, next_line, returns_more, triple, triples};
