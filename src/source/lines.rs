//! Lines of a stream, each looked at once and where it is; none is kept.
//!
//! It must not know what a line says.

use std::io::{self, BufRead};

/// One line without its end.
#[derive(Debug)]
pub(super) enum Line<'l> {
    Whole(&'l [u8]),
    /// Longer than the bound; nothing of it is kept.
    TooLong,
}

/// Gives each line to `take`. A last one without an end is a line as well. Ends with the error at which the stream broke off.
pub(super) fn each(
    reader: &mut dyn BufRead,
    bound: usize,
    take: &mut dyn FnMut(Line<'_>),
) -> io::Result<()> {
    let mut long = Vec::new();
    loop {
        // Lines that are whole in the buffer are looked at where they are.
        let used = match reader.fill_buf() {
            Ok([]) => return Ok(()),
            Ok(chunk) => {
                let whole = memchr::memrchr(b'\n', chunk).map_or(0, |end| end + 1);
                let (lines, _) = chunk.split_at(whole);
                let mut rest = lines;
                while let Some(end) = memchr::memchr(b'\n', rest) {
                    let (line, after) = rest.split_at(end);
                    take(Line::Whole(line));
                    rest = after.get(1..).unwrap_or_default();
                }
                whole
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if used > 0 {
            reader.consume(used);
            continue;
        }
        take(across_buffers(reader, bound, &mut long)?);
    }
}

/// Reads a line that goes over the end of a buffer.
fn across_buffers<'l>(
    reader: &mut dyn BufRead,
    bound: usize,
    line: &'l mut Vec<u8>,
) -> io::Result<Line<'l>> {
    line.clear();
    let mut too_long = false;
    loop {
        let chunk = match reader.fill_buf() {
            Ok(chunk) => chunk,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if chunk.is_empty() {
            break;
        }
        let end = memchr::memchr(b'\n', chunk);
        let (part, _) = chunk.split_at(end.unwrap_or(chunk.len()));
        if line.len() + part.len() > bound {
            too_long = true;
            *line = Vec::new();
        }
        if !too_long {
            line.extend_from_slice(part);
        }
        let used = part.len() + usize::from(end.is_some());
        reader.consume(used);
        if end.is_some() {
            break;
        }
    }
    Ok(if too_long {
        Line::TooLong
    } else {
        Line::Whole(line)
    })
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    fn seen(text: &[u8], size: usize, bound: usize) -> Vec<String> {
        let mut seen = Vec::new();
        let mut reader = BufReader::with_capacity(size, text);
        each(&mut reader, bound, &mut |line| {
            seen.push(match line {
                Line::Whole(line) => String::from_utf8_lossy(line).into_owned(),
                Line::TooLong => "too long".to_owned(),
            });
        })
        .expect("memory can be read");
        seen
    }

    #[test]
    fn lines_are_whole_whatever_the_buffer() {
        let text = b"one\n\ntwo and more\nlast";
        for size in 1..text.len() + 2 {
            assert_eq!(seen(text, size, 100), ["one", "", "two and more", "last"]);
        }
        assert_eq!(seen(text, 4, 8), ["one", "", "too long", "last"]);
    }
}
