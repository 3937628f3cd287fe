//! HTTP/1.1 as far as clients of the API server use it: requests in, answers out.
//!
//! It must not know routes or keep anything.

use std::fmt::Write as _;
use std::io::{self, BufRead, Read, Write};

use super::{Reply, Request};

pub(crate) fn read(reader: &mut impl BufRead) -> io::Result<Option<Request>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let bad = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let mut words = line.split_whitespace().map(str::to_owned);
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Err(bad("no request line"));
    };
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(bad("ends within its headers"));
        }
        match line.trim_end().split_once(':') {
            Some((name, value)) => {
                headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
            }
            None if line.trim_end().is_empty() => break,
            None => return Err(bad("a header without a colon")),
        }
    }
    let mut request = Request {
        method,
        target,
        headers,
        body: Vec::new(),
    };
    if request.header("transfer-encoding").is_some() {
        request.body = read_chunks(reader)?;
    } else if let Some(length) = request.header("content-length") {
        let length = length.parse().map_err(|_| bad("its length is no number"))?;
        request.body.resize(length, 0);
        reader.read_exact(&mut request.body)?;
    }
    Ok(Some(request))
}

fn read_chunks(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let length = u64::from_str_radix(line.trim(), 16).map_err(io::Error::other)?;
        if reader.take(length).read_to_end(&mut body)? as u64 != length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        reader.read_line(&mut line)?;
        if length == 0 {
            return Ok(body);
        }
    }
}

/// Sends a response, with only so many bytes of the body as given and another announced length where one is given.
pub(crate) fn write(
    stream: &mut impl Write,
    date: Option<&str>,
    reply: &Reply,
    bytes: usize,
    announced: Option<u64>,
) -> io::Result<()> {
    let mut head = format!(
        "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n",
        reply.status,
        phrase(reply.status),
        reply.content_type,
        announced.unwrap_or(reply.body.len() as u64),
    );
    let date = date.map(|date| ("Date".to_owned(), date.to_owned()));
    for (name, value) in date.iter().chain(&reply.headers) {
        write!(head, "{name}: {value}\r\n").map_err(io::Error::other)?;
    }
    head.push_str("\r\n");
    let mut message = head.into_bytes();
    message.extend(reply.body.iter().take(bytes));
    stream.write_all(&message)?;
    stream.flush()
}

fn phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        409 => "Conflict",
        410 => "Gone",
        422 => "Unprocessable Entity",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Status",
    }
}
