//! Holds the end of a container until it is let go: what the preStop hook of one Pod at a time calls.
//!
//! It is a web server that does not answer; the kubelet waits for it within the Pod's grace period. Nothing but that
//! kubelet's request may wait on it.

use std::io;

use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};

use crate::client::CEILING;

/// Fixed, since every cluster has its own address; no component has it.
const PORT: u16 = 12080;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// A hold. Dropping it lets go as well, and the kubelet reports that the hook failed.
pub(crate) struct Hold {
    listener: TcpListener,
    address: String,
}

impl Hold {
    /// Listens on a cluster's address.
    pub(crate) async fn new(address: &str) -> io::Result<Self> {
        Ok(Self {
            listener: TcpListener::bind((address, PORT)).await?,
            address: address.to_owned(),
        })
    }

    /// The `lifecycle` of the container that is to be held.
    pub(crate) fn lifecycle(&self) -> Value {
        json!({"preStop": {"httpGet": {"host": self.address, "port": PORT, "path": "/"}}})
    }

    /// Answers the hook, so that the container's end goes on; waits for the hook's call if it is not there yet.
    pub(crate) async fn release(self) -> io::Result<()> {
        let answering = async {
            let (kubelet, _) = self.listener.accept().await?;
            answer(&kubelet).await
        };
        match tokio::time::timeout(CEILING, answering).await {
            Ok(answered) => answered,
            Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "no hook called")),
        }
    }
}

/// Reads a request to its end, or what is left unread would break the connection before the answer arrives.
async fn answer(kubelet: &TcpStream) -> io::Result<()> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        kubelet.readable().await?;
        match kubelet.try_read(&mut byte) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => request.extend(byte),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    kubelet.writable().await?;
    match kubelet.try_write(ANSWER)? {
        written if written == ANSWER.len() => Ok(()),
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn whoever_calls_waits_until_it_is_let_go() {
        const ADDRESS: &str = "127.77.251.1"; // The clusters' slots end before.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let hold = Hold::new(ADDRESS).await.expect("nobody has this address");
            let mut hook = TcpStream::connect((ADDRESS, PORT)).expect("it listens");
            hook.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                .expect("it takes requests");
            hold.release().await.expect("the hook has called");
            let mut answer = String::new();
            hook.read_to_string(&mut answer).expect("it answers");
            assert_eq!(answer.as_bytes(), ANSWER);
        });
    }
}
