//! Stands between a command and the API server, and counts what goes through; it cannot read it.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

/// What went through since the last look.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Counted {
    pub(crate) connections: usize,
    /// Bytes from the server, encrypted as they are.
    pub(crate) received: u64,
    /// When the first connection was taken.
    pub(crate) first: Option<Instant>,
}

/// It listens until the process ends.
pub(crate) struct Counting {
    pub(crate) address: SocketAddr,
    counted: Arc<Mutex<Counted>>,
}

impl Counting {
    pub(crate) fn before(server: &str) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let counted = Arc::new(Mutex::new(Counted::default()));
        let (server, counts) = (server.to_owned(), Arc::clone(&counted));
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let now = Instant::now();
                note(&counts, |counted| {
                    counted.connections += 1;
                    counted.first.get_or_insert(now);
                });
                if let Ok(server) = TcpStream::connect(&server) {
                    pass(client, server, &counts);
                }
            }
        });
        Ok(Self { address, counted })
    }

    /// What went through, and begins anew.
    pub(crate) fn take(&self) -> Counted {
        std::mem::take(&mut self.counted.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn note(counts: &Mutex<Counted>, change: impl FnOnce(&mut Counted)) {
    change(&mut counts.lock().unwrap_or_else(PoisonError::into_inner));
}

/// Copies both ways until one side ends.
fn pass(client: TcpStream, server: TcpStream, counts: &Arc<Mutex<Counted>>) {
    let (Ok(from_client), Ok(from_server)) = (client.try_clone(), server.try_clone()) else {
        return;
    };
    let counts = Arc::clone(counts);
    thread::spawn(move || copy(from_client, server, |_| {}));
    thread::spawn(move || {
        copy(from_server, client, |bytes| {
            note(&counts, |counted| counted.received += bytes);
        });
    });
}

fn copy(mut from: TcpStream, mut to: TcpStream, count: impl Fn(u64)) {
    // Small writes must not wait for each other: that would be the counter's time, not the command's.
    drop(to.set_nodelay(true));
    let mut buffer = vec![0; 64 << 10];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        count(length as u64);
        let Some(read) = buffer.get(..length) else {
            break;
        };
        if to.write_all(read).is_err() {
            break;
        }
    }
    drop(to.shutdown(Shutdown::Both));
}
