//! Access to the Internet from a shell: an HTTP proxy at the outer end of the shell's link.
//!
//! A namespace behind a link reaches servers on this machine. To reach other servers by routing,
//! the machine would have to forward packets and translate addresses, which only its owner should
//! decide. A proxy needs neither. The proxy is the far end of every connection over the link, so
//! its congestion control applies to downloads. Environment variables tell programs about the
//! proxy. In a nested shell, the environment still names the outermost proxy, which is reached
//! across all links.

use std::env;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::thread;

use cwndlab_emu::{Namespace, Right};

const VARIABLES: [&str; 4] = ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"];
const PREFIX: &str = "http://100.64.";
/// Maximum length of a request header: longer than that of any program.
const LONGEST_HEAD_BYTES: u64 = 64 * 1024;

/// Opens a proxy at `address` in the namespace `outside`; the proxy connects to servers from this
/// thread's namespace. Opens no proxy if the program already uses an outer proxy.
///
/// Returns the environment variables that programs need to find the proxy.
pub(crate) fn offer(
    outside: &Namespace,
    address: Ipv4Addr,
    right: Right,
) -> io::Result<Vec<(&'static str, String)>> {
    let before = VARIABLES.iter().find_map(|name| variable(name));
    let is_inner = before.as_deref().is_some_and(|proxy| proxy.starts_with(PREFIX));
    if is_inner && right == Right::Machine {
        return Ok(Vec::new());
    }
    let listener = outside.run(|| TcpListener::bind((address, 0)))?;
    let place = format!("{PREFIX}{}", after_prefix(address, listener.local_addr()?.port()));
    let upstream = before.as_deref().and_then(host_and_port);
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let upstream = upstream.clone();
            thread::spawn(move || serve(client, upstream.as_deref()));
        }
    });
    Ok(VARIABLES.iter().map(|&name| (name, place.clone())).collect())
}

fn after_prefix(address: Ipv4Addr, port: u16) -> String {
    let [_, _, network, number] = address.octets();
    format!("{network}.{number}:{port}")
}

#[expect(clippy::disallowed_methods, reason = "the code reads the environment as programs do")]
fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// Host and port of the machine's own proxy, from an address such as `http://proxy.example:3128/`.
fn host_and_port(proxy: &str) -> Option<String> {
    let place = proxy.strip_prefix("http://").unwrap_or(proxy).trim_end_matches('/');
    let place = place.rsplit_once('@').map_or(place, |(_, place)| place);
    place.contains(':').then(|| place.to_owned())
}

/// Serves one connection: looks up the requested server and copies bytes in both directions.
fn serve(client: TcpStream, upstream: Option<&str>) -> io::Result<()> {
    if let Some(upstream) = upstream {
        return join(client, TcpStream::connect(upstream)?);
    }
    let mut reader = BufReader::new(client.try_clone()?.take(LONGEST_HEAD_BYTES));
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut head = Vec::new();
    loop {
        let mut line = Vec::new();
        if reader.read_until(b'\n', &mut line)? == 0 || line == b"\r\n" || line == b"\n" {
            break;
        }
        if !is_of_this_hop(&line) {
            head.extend(line);
        }
    }
    let Some(request) = Request::parse(&first) else {
        return (&client).write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    };
    let Ok(mut server) = TcpStream::connect(&request.server) else {
        return (&client).write_all(b"HTTP/1.1 502 Bad Gateway\r\n\r\n");
    };
    if let Some(line) = request.forwarded {
        server.write_all(line.as_bytes())?;
        server.write_all(&head)?;
        server.write_all(b"Connection: close\r\n\r\n")?;
    } else {
        (&client).write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
    }
    server.write_all(reader.buffer())?;
    join(client, server)
}

fn is_of_this_hop(line: &[u8]) -> bool {
    let name = line.split(|&byte| byte == b':').next().unwrap_or(&[]).to_ascii_lowercase();
    matches!(name.as_slice(), b"connection" | b"proxy-connection" | b"keep-alive")
}

/// A client's request to an HTTP proxy (RFC 9112 section 3.2).
#[derive(PartialEq, Eq, Debug)]
struct Request {
    server: String,
    /// Request line to forward to the server; `None` if the client communicates with the server
    /// directly (`CONNECT`).
    forwarded: Option<String>,
}

impl Request {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        if method == "CONNECT" {
            return Some(Self { server: target.to_owned(), forwarded: None });
        }
        let rest = target.strip_prefix("http://")?;
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let path = if path.is_empty() { "/" } else { path };
        let server = if host.contains(':') { host.to_owned() } else { format!("{host}:80") };
        Some(Self { server, forwarded: Some(format!("{method} {path} {version}\r\n")) })
    }
}

/// Copies bytes in both directions until both sides have ended.
fn join(client: TcpStream, server: TcpStream) -> io::Result<()> {
    let (mut from, mut to) = (client.try_clone()?, server.try_clone()?);
    let upload = thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
    let (mut from, mut to) = (server, client);
    let copied = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
    upload.join().expect("no panic");
    copied.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_name_their_server() {
        let tunnel = Request::parse("CONNECT example.org:443 HTTP/1.1\r\n").expect("a request");
        assert_eq!(tunnel, Request { server: "example.org:443".to_owned(), forwarded: None });
        let plain = Request::parse("GET http://example.org/a?b HTTP/1.1").expect("a request");
        assert_eq!(plain.server, "example.org:80");
        assert_eq!(plain.forwarded.as_deref(), Some("GET /a?b HTTP/1.1\r\n"));
        let bare = Request::parse("HEAD http://h:81 HTTP/1.1").expect("a request");
        assert_eq!(
            (bare.server.as_str(), bare.forwarded.as_deref()),
            ("h:81", Some("HEAD / HTTP/1.1\r\n"))
        );
        for wrong in ["", "GET", "GET / HTTP/1.1", "GET ftp://x/ HTTP/1.1"] {
            assert_eq!(Request::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_proxy_of_the_machine_is_found_with_and_without_decoration() {
        for text in ["http://p:3128", "p:3128", "http://user:word@p:3128/"] {
            assert_eq!(host_and_port(text).as_deref(), Some("p:3128"), "{text}");
        }
        assert_eq!(host_and_port("http://p"), None);
    }

    #[test]
    fn a_request_reaches_its_server_and_the_answer_comes_back() {
        let server = TcpListener::bind("127.0.0.1:0").expect("bound");
        let place = server.local_addr().expect("known");
        let answering = thread::spawn(move || {
            let (mut stream, _) = server.accept().expect("accepted");
            let mut lines = Vec::new();
            for line in BufReader::new(&stream).lines().map_while(Result::ok) {
                if line.is_empty() {
                    break;
                }
                lines.push(line);
            }
            stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").expect("written");
            lines
        });
        let proxy = TcpListener::bind("127.0.0.1:0").expect("bound");
        let mut client = TcpStream::connect(proxy.local_addr().expect("known")).expect("connected");
        let (accepted, _) = proxy.accept().expect("accepted");
        let serving = thread::spawn(move || serve(accepted, None));
        let request = format!(
            "GET http://{place}/x HTTP/1.1\r\nHost: h\r\nProxy-Connection: keep-alive\r\n\r\n"
        );
        client.write_all(request.as_bytes()).expect("written");
        client.shutdown(Shutdown::Write).expect("shut");
        let mut answer = String::new();
        client.read_to_string(&mut answer).expect("read");
        assert_eq!(answer, "HTTP/1.1 204 No Content\r\n\r\n");
        let lines = answering.join().expect("no panic");
        assert_eq!(lines, ["GET /x HTTP/1.1", "Host: h", "Connection: close"]);
        serving.join().expect("no panic").expect("served");
    }
}
