//! The arguments of the commands that use etcd.

use clap::{Args, Subcommand};
use jumplabel_selector::Selector;

use super::help::after;

/// The members of etcd, and the prefix of the keys there.
#[derive(Args)]
pub struct Cluster {
    /// Members of etcd: http://HOST:2379,...
    #[arg(long, value_name = "URL,...", env = "JUMPLABEL_ETCD")]
    pub etcd: String,
    /// The prefix of all keys in etcd
    #[arg(long, default_value = "/jumplabel", env = "JUMPLABEL_ETCD_PREFIX")]
    pub prefix: String,
}

#[derive(Subcommand)]
pub enum Fleet {
    /// Sets keys in all processes that match, now and later
    #[command(after_help = after!("jumplabel fleet set --processes 'web*' 'net.*=on' --for 600s"))]
    Set(FleetSet),
    /// Ends what `fleet set` has begun: processes undo the changes that they made for it
    #[command(after_help = after!("jumplabel fleet unset --processes 'web*' 'net.*'"))]
    Unset(FleetUnset),
    /// Lists what was set, and counts processes by the states of their keys, as followers last reported
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
    /// The new values: net.trace=on, 'net.*=off', app::MODE=2
    #[arg(value_name = "SELECTOR=VALUE", required = true)]
    pub selectors: Vec<Selector>,
    /// Each process undoes it after this time, whatever happens to etcd: 30, 30s
    #[arg(long = "for", value_name = "SECONDS", value_parser = jumplabel_agent::protocol::duration)]
    pub seconds: Option<u32>,
    /// Waits until all processes follow, but no longer than this: 60 seconds if no number is given
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "60", value_parser = jumplabel_agent::protocol::duration)]
    pub wait: Option<u32>,
    /// Sets it even if a process refuses it
    #[arg(long)]
    pub anyway: bool,
}

#[derive(Args)]
pub struct FleetUnset {
    #[command(flatten)]
    pub cluster: Cluster,
    /// Names of processes, as for `set`
    #[arg(long, default_value = "*", value_name = "NAMES")]
    pub processes: String,
    /// Selectors as for `set`, without values
    #[arg(value_name = "SELECTOR", required = true)]
    pub selectors: Vec<Selector>,
}

#[derive(Args)]
pub struct FleetList {
    #[command(flatten)]
    pub cluster: Cluster,
    /// Prints one line of JSON instead, with "version": 1
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct Follow {
    #[command(flatten)]
    pub cluster: Cluster,
    /// The name of this host in reports; by default, the system's
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,
    /// For tests: forgets the events from before it was cut off
    #[arg(long, hide = true)]
    pub forgets: bool,
}
