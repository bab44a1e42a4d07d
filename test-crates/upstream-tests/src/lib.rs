//! Nothing: the tests are upstream's.
