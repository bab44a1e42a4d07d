//! A web server for one browser: it serves the pages of the site, and a page with the script that looks at them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use super::browser::Browser;

const LOOK: &str = include_str!("look.js");

/// A page that is not in the folder.
pub struct Page {
    pub name: String,
    pub text: String,
}

pub struct Server {
    address: String,
    results: Receiver<String>,
}

impl Server {
    pub fn start(folder: &Path, pages: Vec<Page>) -> Server {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (sender, results) = channel();
        let served = Arc::new((folder.to_owned(), pages));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (served, sender) = (served.clone(), sender.clone());
                // If the browser closes the connection during an answer, the error does not matter.
                std::thread::spawn(move || drop(answer(stream, &served, &sender)));
            }
        });
        Server { address, results }
    }

    /// The address of the page that looks at these pages, and searches for each of these words or groups of words.
    pub fn look(&self, pages: &[String], widths: &[u32], themes: &[&str], searches: &[String]) -> String {
        let widths: Vec<_> = widths.iter().map(u32::to_string).collect();
        let lists = [pages.join(","), widths.join(","), themes.join(","), searches.join(",")];
        format!("{}/look?{}", self.address, lists.join(";").replace(' ', "%20"))
    }

    /// The script's result, which it sends when it has looked at everything.
    pub fn result(&self, browser: &Browser) -> String {
        loop {
            match self.results.recv_timeout(Duration::from_secs(1)) {
                Ok(result) => return result,
                Err(RecvTimeoutError::Timeout) => browser.must_run(),
                Err(RecvTimeoutError::Disconnected) => panic!("the server is gone"),
            }
        }
    }
}

/// Answers one request of a connection.
fn answer(
    mut stream: TcpStream,
    (folder, pages): &(PathBuf, Vec<Page>),
    results: &Sender<String>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut request, mut length) = (String::new(), 0);
    reader.read_line(&mut request)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let path =
        request.split(' ').nth(1).unwrap_or_default().trim_start_matches('/').split('?').next().unwrap_or_default();
    let body = if request.starts_with("POST") {
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let _ = results.send(String::from_utf8_lossy(&body).into_owned());
        Some(Vec::new())
    } else if path == "look" {
        Some(format!("<!DOCTYPE html><meta charset='utf-8'><iframe></iframe><script>{LOOK}</script>").into_bytes())
    } else if let Some(page) = pages.iter().find(|page| page.name == path) {
        Some(page.text.clone().into_bytes())
    } else {
        std::fs::read(folder.join(path)).ok()
    };
    let kind = match Path::new(path).extension().and_then(|extension| extension.to_str()) {
        None | Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css",
        Some("js") => "text/javascript",
        Some("svg") => "image/svg+xml",
        Some(_) => "application/octet-stream",
    };
    let status = if body.is_some() { "200 OK" } else { "404 Not Found" };
    let body = body.unwrap_or_default();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    )?;
    stream.write_all(&body)
}
