//! A client of etcd's JSON gateway (etcd.io, "gRPC gateway"). Keys and values are in base64, numbers are strings.

use std::io::Read;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Deserializer, Value, json};
use ureq::Agent;

use crate::failure::Failure;

/// The longest waits for a connection and for an answer. After that, the client asks another member. An election may take some seconds.
const PATIENCE: [Duration; 2] = [Duration::from_secs(3), Duration::from_secs(10)];
/// The duration of one watch. The next watch begins where the last one ended, so the client notices within this time that a member has gone without
/// a word.
const WATCH: Duration = Duration::from_secs(60);

/// The most bytes of an answer. Reports of 10,000 hosts are some 15 MB in base64.
const LONGEST: u64 = 256 << 20;

/// The members of a cluster. The client asks one of them. If that member does not answer, the client asks the next one.
pub struct Etcd {
    members: Vec<String>,
    /// The number of the member that answered last.
    at: usize,
    agent: Agent,
}

/// A key, its value, and its revision.
pub struct Pair {
    pub key: Vec<u8>,
    pub value: Vec<u8>,
    /// The revision of the key's last change.
    pub revision: i64,
}

/// One change that a watch reports.
pub enum Event {
    Put(Pair),
    Delete(Vec<u8>),
}

/// The reason why a watch has ended.
pub enum Ended {
    /// Nothing has failed: the watch may go on from the revision that it has reached.
    Quiet,
    /// etcd no longer knows the changes since that revision: read all keys anew.
    Compacted,
    /// The member has gone, or has lost the other members.
    Lost(String),
}

impl Etcd {
    /// Takes the addresses of the members: `http://host:2379,...`.
    pub fn new(members: &str) -> Result<Etcd, Failure> {
        let members: Vec<String> = members
            .split(',')
            .map(|member| member.trim().trim_end_matches('/').to_owned())
            .filter(|member| !member.is_empty())
            .collect();
        if members.is_empty() || !members.iter().all(|member| member.starts_with("http://")) {
            let why = "give the members of etcd as http://HOST:PORT,...; for TLS, put a proxy beside: etcd grpc-proxy";
            return Err(Failure::Usage(why.to_owned()));
        }
        Ok(Etcd { members, at: 0, agent: Agent::config_builder().timeout_connect(Some(PATIENCE[0])).build().into() })
    }

    /// The member that requests go to.
    pub fn member(&self) -> &str {
        &self.members[self.at]
    }

    /// Goes on with the next member.
    pub fn next(&mut self) {
        self.at = (self.at + 1) % self.members.len();
    }

    /// Sends a request to one member after the other, until one answers.
    fn ask(&mut self, what: &str, request: &Value) -> Result<Value, Failure> {
        let mut why = String::new();
        for _ in 0..self.members.len() {
            let url = format!("{}/v3/{what}", self.member());
            let asked =
                self.agent.post(&url).config().timeout_global(Some(PATIENCE[1])).build().send(request.to_string());
            let read = |mut answer: ureq::http::Response<ureq::Body>| {
                answer.body_mut().with_config().limit(LONGEST).read_to_string()
            };
            match asked.and_then(read) {
                Ok(text) => {
                    return serde_json::from_str(&text).map_err(|error| Failure::OutOfReach(format!("{url}: {error}")));
                }
                Err(error) => why = format!("{url}: {error}"),
            }
            self.next();
        }
        Err(Failure::OutOfReach(format!("no member of etcd answers; the last said: {why}")))
    }

    /// All pairs whose keys begin with `prefix`, and the revision at which that was so.
    pub fn range(&mut self, prefix: &str) -> Result<(Vec<Pair>, i64), Failure> {
        let answer =
            self.ask("kv/range", &json!({ "key": encoded(prefix), "range_end": STANDARD.encode(end(prefix)) }))?;
        let pairs = answer["kvs"].as_array().into_iter().flatten().filter_map(pair).collect();
        let revision =
            number(&answer["header"]["revision"]).ok_or(Failure::OutOfReach("etcd's answer has no revision".into()))?;
        Ok((pairs, revision))
    }

    /// Writes a value, under a lease if one is given. Returns the revision.
    pub fn put(&mut self, key: &str, value: &str, lease: Option<i64>) -> Result<i64, Failure> {
        let request = json!({ "key": encoded(key), "value": encoded(value), "lease": lease.unwrap_or(0).to_string() });
        let answer = self.ask("kv/put", &request)?;
        number(&answer["header"]["revision"]).ok_or(Failure::OutOfReach(format!("etcd: {answer}")))
    }

    /// Deletes a key. Returns whether it existed.
    pub fn delete(&mut self, key: &str) -> Result<bool, Failure> {
        let answer = self.ask("kv/deleterange", &json!({ "key": encoded(key) }))?;
        Ok(number(&answer["deleted"]).is_some_and(|count| count > 0))
    }

    /// Makes a lease that ends after `seconds`.
    pub fn lease(&mut self, seconds: u32) -> Result<i64, Failure> {
        let answer = self.ask("lease/grant", &json!({ "TTL": seconds.to_string(), "ID": "0" }))?;
        number(&answer["ID"]).ok_or(Failure::OutOfReach(format!("etcd: no lease: {answer}")))
    }

    /// Ends a lease, and with it all keys under it.
    pub fn revoke(&mut self, lease: i64) -> Result<(), Failure> {
        self.ask("lease/revoke", &json!({ "ID": lease.to_string() })).map(drop)
    }

    /// Renews a lease, so that it lasts as long from now on as it did at first. Returns whether it still exists.
    pub fn keep(&mut self, lease: i64) -> Result<bool, Failure> {
        let answer = self.ask("lease/keepalive", &json!({ "ID": lease.to_string() }))?;
        Ok(number(&answer["result"]["TTL"]).is_some_and(|left| left > 0))
    }

    /// Watches `prefix` from `revision` on, until the watch ends. Calls `tell` with the events of a revision, and with the next revision.
    pub fn watch(&self, prefix: &str, revision: i64, mut tell: impl FnMut(Vec<Event>, i64)) -> Ended {
        let url = format!("{}/v3/watch", self.member());
        let request = json!({ "create_request": {
            "key": encoded(prefix), "range_end": STANDARD.encode(end(prefix)), "start_revision": revision.to_string() } });
        // With this header, a member that has lost the others ends the watch, instead of keeping silent.
        let asked = self
            .agent
            .post(&url)
            .header("Grpc-Metadata-hasleader", "true")
            .config()
            .timeout_recv_response(Some(PATIENCE[1]))
            .timeout_recv_body(Some(WATCH))
            .build()
            .send(request.to_string());
        let body = match asked {
            Ok(answer) => answer.into_body().into_reader(),
            Err(error) => return Ended::Lost(format!("{url}: {error}")),
        };
        for line in Deserializer::from_reader(Bytewise(body)).into_iter::<Value>() {
            let result = match line {
                Ok(mut line) if line["error"].is_null() => line["result"].take(),
                Ok(line) => return Ended::Lost(format!("{url}: {}", line["error"]["message"])),
                Err(error) if error.io_error_kind() == Some(std::io::ErrorKind::TimedOut) => return Ended::Quiet,
                Err(error) => return Ended::Lost(format!("{url}: {error}")),
            };
            if number(&result["compact_revision"]).is_some_and(|at| at > 0) {
                return Ended::Compacted;
            }
            if result["canceled"] == true {
                return Ended::Lost(format!("{url}: {}", result["cancel_reason"]));
            }
            let events: Vec<_> = result["events"].as_array().into_iter().flatten().filter_map(event).collect();
            if let (false, Some(at)) = (events.is_empty(), number(&result["header"]["revision"])) {
                tell(events, at + 1);
            }
        }
        Ended::Lost(format!("{url}: it has closed the watch"))
    }
}

/// A reader of an answer's body that returns the bytes that have arrived, without waiting for more. Reports a timeout of the HTTP client as
/// `TimedOut`.
struct Bytewise<R>(R);

impl<R: Read> Read for Bytewise<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(buffer).map_err(|error| {
            match error.get_ref().and_then(|inner| inner.downcast_ref::<ureq::Error>()) {
                Some(ureq::Error::Timeout(_)) => std::io::ErrorKind::TimedOut.into(),
                _ => error,
            }
        })
    }
}

fn encoded(text: &str) -> String {
    STANDARD.encode(text)
}

/// The first key after all keys that begin with `prefix`.
fn end(prefix: &str) -> Vec<u8> {
    let mut end = prefix.as_bytes().to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            break;
        }
    }
    end
}

/// Reads a number. Numbers of 64 bits are strings in JSON.
fn number(value: &Value) -> Option<i64> {
    value.as_str().map_or(value.as_i64(), |text| text.parse().ok())
}

fn bytes(value: &Value) -> Option<Vec<u8>> {
    value.as_str().map_or(Some(Vec::new()), |text| STANDARD.decode(text).ok())
}

fn pair(value: &Value) -> Option<Pair> {
    let revision = number(&value["mod_revision"])?;
    Some(Pair { key: bytes(&value["key"])?, value: bytes(&value["value"])?, revision })
}

/// Reads an event. Its type is DELETE or PUT. In JSON, etcd leaves the type PUT out.
fn event(value: &Value) -> Option<Event> {
    match value["type"].as_str() {
        Some("DELETE") => bytes(&value["kv"]["key"]).map(Event::Delete),
        _ => pair(&value["kv"]).map(Event::Put),
    }
}
