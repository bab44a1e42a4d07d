//! Small clients. They return a server's answer without its date.

use std::io::{Read, Write};
use std::net::TcpStream;

fn without_date(answer: &str) -> String {
    answer.split_inclusive('\n').filter(|line| !line.starts_with("date:")).collect()
}

fn asked(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    without_date(&answer)
}

pub fn get(address: &str, path: &str) -> String {
    asked(address, &format!("GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n"))
}

/// Answers to several requests, one of them to no route.
pub fn http1(address: &str) -> String {
    let post = "POST /echo HTTP/1.1\r\nHost: test\r\nConnection: close\r\nContent-Length: 4\r\n\r\necho";
    get(address, "/") + &get(address, "/add/2/3") + &get(address, "/missing") + &asked(address, post)
}

/// `GET /` by HTTP/2 without TLS. Returns the first byte of the headers, which is the status, and the body.
pub fn http2(address: &str) -> String {
    Connection::to(address).get()
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const WINDOW_UPDATE: u8 = 8;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// The bytes of a frame (RFC 9113, 4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).unwrap();
    [&[0, 0, length, kind, flags], &stream.to_be_bytes()[..], payload].concat()
}

/// A connection by HTTP/2 without TLS, for one request after the other.
pub struct Connection {
    stream: TcpStream,
    next: u32,
}

impl Connection {
    pub fn to(address: &str) -> Connection {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        let much = frame(WINDOW_UPDATE, 0, 0, &(1_u32 << 30).to_be_bytes());
        stream
            .write_all(&[b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), frame(SETTINGS, 0, 0, &[]), much].concat())
            .unwrap();
        Connection { stream, next: 1 }
    }

    /// Sends `GET /`. Returns the first byte of the headers, which is the status, and the body.
    pub fn get(&mut self) -> String {
        // The headers: GET, http and `/` from the static table (RFC 7541, appendix A), and an authority.
        let headers = frame(HEADERS, END_STREAM | END_HEADERS, self.next, b"\x82\x86\x84\x41\x04test");
        self.stream.write_all(&headers).unwrap();
        self.next += 2;
        let mut answer = String::new();
        loop {
            let mut head = [0; 9];
            self.stream.read_exact(&mut head).unwrap();
            let [high, middle, low, kind, flags, ..] = head;
            let mut payload = vec![0; u32::from_be_bytes([0, high, middle, low]) as usize];
            self.stream.read_exact(&mut payload).unwrap();
            match kind {
                HEADERS => answer += &format!("{:x}\n", payload[0]),
                DATA => answer += &String::from_utf8_lossy(&payload),
                _ => {}
            }
            if flags & END_STREAM != 0 && kind <= HEADERS {
                return answer;
            }
        }
    }
}
