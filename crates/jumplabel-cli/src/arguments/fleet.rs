//! The arguments of the commands that use etcd.

use clap::{Args, Subcommand};
use jumplabel_selector::Selector;

use super::help::after;

/// Where etcd is.
#[derive(Args)]
pub struct Cluster {
    /// Members of etcd: http://HOST:2379,...
    #[arg(long, value_name = "URL,...", env = "JUMPLABEL_ETCD")]
    pub etcd: String,
    /// What the names of all keys in etcd begin with
    #[arg(long, default_value = "/jumplabel", env = "JUMPLABEL_ETCD_PREFIX")]
    pub prefix: String,
}

#[derive(Subcommand)]
pub enum Fleet {
    /// Says what keys are to be, of all processes that match, now and later
    #[command(after_help = after!("jumplabel fleet set --processes 'web*' 'net.*=on' --for 600s"))]
    Set(FleetSet),
    /// Takes that back: processes change back what they changed for it
    #[command(after_help = after!("jumplabel fleet unset --processes 'web*' 'net.*'"))]
    Unset(FleetUnset),
    /// Lists wishes, and counts processes by what their keys are, as followers last reported
    #[command(after_help = after!("jumplabel fleet list" "jumplabel fleet list --json"))]
    List(FleetList),
}

#[derive(Args)]
pub struct FleetSet {
    #[command(flatten)]
    pub cluster: Cluster,
    /// Names of processes, as in @NAME; * is any text
    #[arg(long, default_value = "*", value_name = "NAMES")]
    pub processes: String,
    /// What is to be: net.trace=on, 'net.*=off', app::MODE=2
    #[arg(value_name = "SELECTOR=VALUE", required = true)]
    pub selectors: Vec<Selector>,
    /// Each process takes it back by itself after so many seconds, whatever becomes of etcd: 30, 30s
    #[arg(long = "for", value_name = "SECONDS", value_parser = jumplabel_agent::protocol::duration)]
    pub seconds: Option<u32>,
    /// Waits until all processes follow, at most so many seconds: 60 if no number is given
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "60", value_parser = jumplabel_agent::protocol::duration)]
    pub wait: Option<u32>,
    /// Wishes it even if some process refuses it
    #[arg(long)]
    pub anyway: bool,
}

#[derive(Args)]
pub struct FleetUnset {
    #[command(flatten)]
    pub cluster: Cluster,
    /// Names of processes, in the words of `set`
    #[arg(long, default_value = "*", value_name = "NAMES")]
    pub processes: String,
    /// In the words of `set`, without values
    #[arg(value_name = "SELECTOR", required = true)]
    pub selectors: Vec<Selector>,
}

#[derive(Args)]
pub struct FleetList {
    #[command(flatten)]
    pub cluster: Cluster,
    /// One line of JSON instead, with "version": 1
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct Follow {
    #[command(flatten)]
    pub cluster: Cluster,
    /// The name of this host in reports; the system's, if there is none
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,
    /// For tests: forgets what happened while it was cut off
    #[arg(long, hide = true)]
    pub forgets: bool,
}
