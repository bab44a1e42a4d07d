//! Agents run on Linux; elsewhere every target is a file.

use jumplabel_agent::protocol::{Answer, Request};

use crate::failure::Failure;

/// None.
pub enum Process {}

pub fn is_one(_: &str) -> bool {
    false
}

pub fn agents() -> Vec<(String, u32)> {
    Vec::new()
}

impl Process {
    pub fn find(target: &str) -> Result<Process, Failure> {
        Err(Failure::OutOfReach(format!("{target}: processes can be reached on Linux alone")))
    }

    pub fn at(target: &str, _: &std::path::Path) -> Result<Process, Failure> {
        Process::find(target)
    }

    pub fn ask(&mut self, _: &Request) -> Result<Answer, Failure> {
        match *self {}
    }

    pub fn event(&mut self) -> Result<Option<Answer>, Failure> {
        match *self {}
    }
}
