//! A proxy on a loopback port: HTTP CONNECT and SOCKS5, with or without a password for CONNECT; or a balancer of connections.
//!
//! It leads to loopback addresses only, and looks names up in its own table, so that a test can use the name of a server
//! that no resolver knows. It counts who comes through, and must not look into what they say.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// The longest silence before a connection is closed.
const PATIENCE: Duration = Duration::from_mins(1);

/// A running proxy; dropping it closes all connections and ends its threads.
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    accept: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    /// The addresses of names.
    names: BTreeMap<String, SocketAddr>,
    /// `user:password`, which CONNECT has to bring.
    password: Option<String>,
    /// Where each connection is led to in turn, unasked; empty is where its client says.
    in_turn: Vec<SocketAddr>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    stop: bool,
    /// `host:port` of every tunnel that was opened.
    opened: Vec<String>,
    /// Reasons of refusals.
    refused: Vec<&'static str>,
    connections: Vec<TcpStream>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Proxy {
    /// Listens on a free port of 127.0.0.1, knows these names, and asks for `user:password` if one is given.
    ///
    /// # Panics
    /// If there is no loopback interface, or no thread to be had.
    pub fn start(names: &[(&str, SocketAddr)], password: Option<&str>) -> Self {
        let names = names.iter().map(|(name, to)| ((*name).to_owned(), *to));
        Self::of(Shared {
            names: names.collect(),
            password: password.map(str::to_owned),
            ..Shared::default()
        })
    }

    /// Leads each connection to the next of these servers, as a balancer of connections does.
    ///
    /// # Panics
    /// If there is no loopback interface, or no thread to be had.
    pub fn balancing(servers: &[SocketAddr]) -> Self {
        Self::of(Shared {
            in_turn: servers.to_vec(),
            ..Shared::default()
        })
    }

    fn of(shared: Shared) -> Self {
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
        let address = listener
            .local_addr()
            .expect("a bound listener has an address");
        let shared = Arc::new(shared);
        let accept = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || accept(&listener, &shared)
        });
        Self {
            address,
            shared,
            accept: Some(accept),
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `host:port` of every tunnel up to now, as the client named it.
    pub fn opened(&self) -> Vec<String> {
        self.shared.state().opened.clone()
    }

    /// Why clients were refused, up to now.
    pub fn refused(&self) -> Vec<&'static str> {
        self.shared.state().refused.clone()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        {
            let mut state = self.shared.state();
            state.stop = true;
            for connection in &state.connections {
                // An error means that the peer has closed it already.
                connection.shutdown(Shutdown::Both).ok();
            }
        }
        // `accept` returns only with a connection; this one is the last.
        TcpStream::connect(self.address).ok();
        if let Some(accept) = self.accept.take() {
            accept.join().ok();
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    for stream in listener.incoming().flatten() {
        if !keep(&stream, shared) {
            break;
        }
        let shared = Arc::clone(shared);
        threads.retain(|thread| !thread.is_finished());
        // An error means that a peer has gone, which is its right.
        threads.push(std::thread::spawn(move || {
            serve(&stream, &shared).ok();
            stream.shutdown(Shutdown::Both).ok();
        }));
    }
    for thread in threads {
        thread.join().ok();
    }
}

/// Keeps a connection, so that it can be closed from outside; false where the end has come.
fn keep(stream: &TcpStream, shared: &Shared) -> bool {
    stream.set_read_timeout(Some(PATIENCE)).ok();
    let mut state = shared.state();
    match stream.try_clone() {
        Ok(twin) if !state.stop => {
            state.connections.push(twin);
            true
        }
        _ => false,
    }
}

fn serve(client: &TcpStream, shared: &Shared) -> io::Result<()> {
    let mut reader = BufReader::new(client);
    let server = if !shared.in_turn.is_empty() {
        next(shared)
    } else if reader.fill_buf()?.first() == Some(&5) {
        socks(&mut reader, client, shared)?
    } else {
        connect(&mut reader, client, shared)?
    };
    let Some(server) = server else {
        return Ok(());
    };
    // Nobody may have spoken before the tunnel stood, so nothing is left in the reader.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            io::copy(&mut &server, &mut &*client).ok();
            client.shutdown(Shutdown::Write).ok();
        });
        io::copy(&mut &*client, &mut &server).ok();
        server.shutdown(Shutdown::Write).ok();
    });
    Ok(())
}

/// Connects to the server whose turn it is.
fn next(shared: &Shared) -> Option<TcpStream> {
    let mut state = shared.state();
    let turn = state.opened.len() % shared.in_turn.len().max(1);
    let address = shared.in_turn.get(turn)?;
    state.opened.push(address.to_string());
    drop(state);
    let server = TcpStream::connect(address).ok();
    server.filter(|server| keep(server, shared))
}

/// Connects to what a client named, if it may.
fn open(host: &str, port: u16, shared: &Shared) -> Option<TcpStream> {
    let named = shared.names.get(host).copied();
    let address = named.or_else(|| Some(SocketAddr::new(host.parse::<IpAddr>().ok()?, port)));
    let server = address
        .filter(|address| address.ip().is_loopback())
        .and_then(|address| TcpStream::connect(address).ok())
        .filter(|server| keep(server, shared));
    let mut state = shared.state();
    match &server {
        Some(_) => state.opened.push(format!("{host}:{port}")),
        None => state.refused.push("no way"),
    }
    drop(state);
    server
}

/// HTTP CONNECT; another method gets no answer that it could use.
fn connect(
    reader: &mut impl BufRead,
    mut client: &TcpStream,
    shared: &Shared,
) -> io::Result<Option<TcpStream>> {
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut authorization = None;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim_end().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("proxy-authorization")
        {
            authorization = Some(value.trim().to_owned());
        }
    }
    let due = shared
        .password
        .as_ref()
        .map(|password| format!("Basic {}", BASE64_STANDARD.encode(password)));
    if due.is_some() && authorization != due {
        shared.state().refused.push("password");
        client.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n")?;
        return Ok(None);
    }
    let mut words = first.split_whitespace();
    let target = (words.next() == Some("CONNECT"))
        .then(|| words.next()?.rsplit_once(':'))
        .flatten();
    let server = target.and_then(|(host, port)| open(host, port.parse().ok()?, shared));
    let answer: &[u8] = match server {
        Some(_) => b"HTTP/1.1 200 Connection established\r\n\r\n",
        None => b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n",
    };
    client.write_all(answer)?;
    Ok(server)
}

/// SOCKS5 (RFC 1928) without authentication, CONNECT only.
fn socks(
    reader: &mut impl Read,
    mut client: &TcpStream,
    shared: &Shared,
) -> io::Result<Option<TcpStream>> {
    let mut take = |length: usize| -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        reader.read_exact(&mut bytes)?;
        Ok(bytes)
    };
    let bad = || io::Error::from(io::ErrorKind::InvalidData);
    let methods = take(2)?.get(1).copied().unwrap_or_default();
    take(usize::from(methods))?;
    client.write_all(&[5, 0])?;
    let host = match take(4)?.as_slice() {
        [5, 1, 0, 1] => {
            let address: [u8; 4] = take(4)?.try_into().map_err(|_| bad())?;
            Ipv4Addr::from(address).to_string()
        }
        [5, 1, 0, 3] => {
            let length = take(1)?.first().copied().unwrap_or_default();
            String::from_utf8(take(usize::from(length))?).map_err(|_| bad())?
        }
        _ => return Err(bad()),
    };
    let port: [u8; 2] = take(2)?.try_into().map_err(|_| bad())?;
    let server = open(&host, u16::from_be_bytes(port), shared);
    let code = if server.is_some() { 0 } else { 4 };
    client.write_all(&[5, code, 0, 1, 0, 0, 0, 0, 0, 0])?;
    Ok(server)
}
