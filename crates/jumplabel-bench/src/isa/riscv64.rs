//! The instructions of the loops for RV64.

macro_rules! multiply {
    ($of:literal) => {
        concat!("mul {", $of, "}, {", $of, "}, {", $of, "}")
    };
}

macro_rules! add {
    ($to:literal, $number:literal) => {
        concat!("addi {", $to, "}, {", $to, "}, ", $number)
    };
}

macro_rules! next_line {
    ($apart:literal, $skipped:literal) => {
        concat!("j 2f\n.balign ", $apart, "\n.skip ", $skipped, "\n2:")
    };
}

macro_rules! returns_more {
    ($number:literal) => {
        concat!("addi a0, a0, ", $number, "\nret")
    };
}

macro_rules! triples {
    () => {
        "slli t0, a0, 1\nadd a0, a0, t0\nret"
    };
}

/// The result must be in a register other than the argument's.
macro_rules! triple {
    ($result:literal, $of:literal) => {
        concat!("slli {", $result, "}, {", $of, "}, 1\nadd {", $result, "}, {", $result, "}, {", $of, "}")
    };
}

pub(crate) use {add, multiply, next_line, returns_more, triple, triples};
