//! Stands in for the module `force` on other systems. `--force` works only on processes of Linux on x86-64, so these functions refuse or find
//! nothing.

use jumplabel_agent::protocol::Answer;
use jumplabel_selector::Selector;

use crate::arguments::Set;
use crate::failure::Failure;
use crate::target::Target;

fn nowhere<T>() -> Result<T, Failure> {
    Err(Failure::OutOfReach("--force reaches processes of Linux on x86-64 alone".into()))
}

pub fn list(_: &str, _: &[Selector]) -> Result<Answer, Failure> {
    nowhere()
}

pub fn check(_: &str, _: &[Selector]) -> Result<Answer, Failure> {
    nowhere()
}

pub fn differences(_: &Target) -> Vec<String> {
    Vec::new()
}

pub fn verify(_: &str, _: &[Selector]) -> Result<Answer, Failure> {
    nowhere()
}

/// Stands in for `force::Inside`. No function here returns a value of this type.
pub struct Inside {
    pub instances: Vec<(String, u32)>,
    pub agent: Result<Option<std::path::PathBuf>, Failure>,
}

pub fn agent(_: &str) -> Result<Option<std::path::PathBuf>, Failure> {
    nowhere()
}

/// Returns `pid` if there is a process of that number. Unlike the function of `force`, does not notice that the first thread has ended.
pub fn alive(pid: u32) -> Result<u32, Failure> {
    match std::fs::exists(format!("/proc/{pid}")) {
        Ok(true) => Ok(pid),
        _ => Err(Failure::OutOfReach(format!("{pid}: there is no such process"))),
    }
}

pub fn inside(_: &str) -> Result<Inside, Failure> {
    nowhere()
}

pub fn guarded(_: &Set) -> Result<u8, Failure> {
    nowhere()
}

pub fn set(_: &Set) -> Result<Answer, Failure> {
    nowhere()
}

pub fn target(_: &str) -> Result<Target, Failure> {
    nowhere()
}
