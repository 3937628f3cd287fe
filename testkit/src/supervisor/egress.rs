//! The egress proxy between the API server and the kubelets.
//!
//! The API server refuses to proxy to loopback addresses, so it is told to go through an HTTP CONNECT proxy. The proxy
//! dials one address whatever host is asked for, on the port that is asked for. It must not look at what it passes on.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::thread;

/// Longest request head that is read; the API server's is about a hundred bytes.
const LONGEST_HEAD: usize = 8192;

/// Serves on a socket, on threads of its own, until the process ends.
pub(super) fn serve(socket: &Path, address: &str) -> io::Result<()> {
    let listener = UnixListener::bind(socket)?;
    let address = address.to_owned();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let address = address.clone();
            // A broken connection is seen by both of its ends; there is nobody else to tell.
            thread::spawn(move || tunnel(client, &address).ok());
        }
    });
    Ok(())
}

fn tunnel(mut client: UnixStream, address: &str) -> io::Result<()> {
    let head = read_head(&mut client)?;
    let Some(port) = connect_port(&head) else {
        return client.write_all(b"HTTP/1.1 405 Method Not Allowed\r\n\r\n");
    };
    let Ok(mut server) = TcpStream::connect((address, port)) else {
        return client.write_all(
            b"HTTP/1.1 502 Bad Gateway

",
        );
    };
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
    let (mut client_side, mut server_side) = (client.try_clone()?, server.try_clone()?);
    let back = thread::spawn(move || {
        let passed = io::copy(&mut server_side, &mut client_side);
        client_side.shutdown(Shutdown::Write).and(passed)
    });
    let passed = io::copy(&mut client, &mut server);
    server.shutdown(Shutdown::Write).ok();
    back.join().ok();
    passed.map(drop)
}

/// Reads up to the empty line and not a byte further: what follows belongs to the tunnel.
fn read_head(client: &mut UnixStream) -> io::Result<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && head.len() < LONGEST_HEAD {
        client.read_exact(&mut byte)?;
        head.extend_from_slice(&byte);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

/// Returns the port out of `CONNECT host:port HTTP/1.1`.
fn connect_port(head: &str) -> Option<u16> {
    let target = head.strip_prefix("CONNECT ")?.split_whitespace().next()?;
    target.rsplit_once(':')?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_connect_names_a_port() {
        assert_eq!(
            connect_port("CONNECT 192.0.2.10:10250 HTTP/1.1\r\nHost: x\r\n\r\n"),
            Some(10250)
        );
        assert_eq!(
            connect_port("CONNECT [2001:db8::1]:10251 HTTP/1.1\r\n\r\n"),
            Some(10251)
        );
        assert_eq!(connect_port("GET / HTTP/1.1\r\n\r\n"), None);
        assert_eq!(connect_port("CONNECT host HTTP/1.1\r\n\r\n"), None);
    }
}
