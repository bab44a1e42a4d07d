//! Stands in for the module `process` on other systems. Agents run only on Linux, so every target here is a file.

use std::time::Instant;

use jumplabel_agent::protocol::{Answer, Request};

use crate::failure::Failure;

/// Stands in for `process::Process`. There are no values of this type.
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

    pub fn event_before(&mut self, _: Option<Instant>) -> Result<Option<Answer>, Failure> {
        match *self {}
    }

    pub fn event(&mut self) -> Result<Option<Answer>, Failure> {
        match *self {}
    }
}
