//! What a compressed stream or an archive may cost, so that a small file cannot ask for a large memory or a long time.
//!
//! A stream that breaks or spends its budget ends there, and the budget says why: what came before is used.
//! It must not know what the bytes are.

use std::cell::{Cell, RefCell};
use std::io::{self, Read, Seek, SeekFrom};
use std::rc::Rc;

/// So much may come of however little.
const FREE: u64 = 64 << 20;

/// Beyond it, so many bytes may come of one. Logs and lists of objects stay far below; a bomb is far above.
const RATIO: u64 = 400;

/// More than any archive that was seen holds.
const MAX_TOTAL: u64 = 32 << 30;

/// What the names and attributes of one entry may take.
const HEADER: u64 = 1 << 20;

/// Zeros that are counted at the end of what was read at once: a tar's end mark.
const MARK: usize = 1024;

/// What came through a stream, and why it ended early if it did. Copies are the same budget.
#[derive(Debug, Clone, Default)]
pub(super) struct Budget(Rc<Entries>);

#[derive(Debug, Default)]
struct Entries {
    packed: Cell<u64>,
    plain: Cell<u64>,
    /// Zeros at the end so far.
    zeros: Cell<u64>,
    /// Where an entry's header must have ended.
    header_until: Cell<Option<u64>>,
    fault: RefCell<Option<String>>,
    spent: Cell<bool>,
}

impl Budget {
    /// Why the stream ended early.
    pub(super) fn fault(&self) -> Option<String> {
        self.0.fault.borrow().clone()
    }

    /// Whether it ended because it asked for too much, and not because it is damaged.
    pub(super) fn is_spent(&self) -> bool {
        self.0.spent.get()
    }

    fn spend(&self, fault: String) {
        self.0.spent.set(true);
        self.end(fault);
    }

    fn end(&self, fault: String) {
        self.0.fault.borrow_mut().get_or_insert(fault);
    }

    /// Whether all that came last is so many zeros, as at the end of a tar.
    pub(super) fn ends_with_zeros(&self, count: u64) -> bool {
        self.0.zeros.get() >= count
    }

    /// Whether anything came at all.
    pub(super) fn is_untouched(&self) -> bool {
        self.0.plain.get() == 0
    }

    /// Bytes that came so far.
    pub(super) fn read(&self) -> u64 {
        self.0.plain.get()
    }

    /// Does what reads a header; it may not read for ever.
    pub(super) fn header<T>(&self, read: impl FnOnce() -> T) -> T {
        self.0
            .header_until
            .set(Some(self.0.plain.get().saturating_add(HEADER)));
        let value = read();
        self.0.header_until.set(None);
        value
    }

    pub(super) fn packed<R: Read>(&self, inner: R) -> Packed<R> {
        Packed {
            inner,
            budget: self.clone(),
        }
    }

    /// A file that is stored as it is read, and in which a reader may pass over bytes: those cost nothing.
    pub(super) fn seekable<R: Read + Seek>(&self, inner: R) -> Plain<Packed<R>> {
        self.plain(self.packed(inner))
    }

    pub(super) fn plain<R: Read>(&self, inner: R) -> Plain<R> {
        Plain {
            inner,
            budget: self.clone(),
        }
    }

    fn add(&self, bytes: &[u8]) {
        let entries = &self.0;
        let count = bytes.len() as u64;
        let plain = entries.plain.get().saturating_add(count);
        entries.plain.set(plain);
        let last = bytes.iter().rev().take(MARK);
        let zeros = last.take_while(|byte| **byte == 0).count() as u64;
        let before = if zeros == count {
            entries.zeros.get()
        } else {
            0
        };
        entries.zeros.set(before.saturating_add(zeros));
        if plain > MAX_TOTAL {
            self.spend(format!("it expands to more than {} GiB", MAX_TOTAL >> 30));
        } else if plain > FREE && plain / RATIO > entries.packed.get() {
            self.spend(format!("it expands to more than {RATIO} times its size"));
        } else if entries.header_until.get().is_some_and(|end| plain > end) {
            self.spend("the name of an entry has no end".to_owned());
        }
    }
}

/// The side that is stored.
pub(super) struct Packed<R> {
    inner: R,
    budget: Budget,
}

impl<R: Read> Read for Packed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        let packed = &self.budget.0.packed;
        packed.set(packed.get().saturating_add(count as u64));
        Ok(count)
    }
}

/// The side that is read. It never fails: it ends.
pub(super) struct Plain<R> {
    inner: R,
    budget: Budget,
}

impl<R: Read> Read for Plain<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.budget.0.fault.borrow().is_some() {
            return Ok(0);
        }
        loop {
            match self.inner.read(buffer) {
                Ok(count) => {
                    self.budget.add(buffer.get(..count).unwrap_or_default());
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.budget.end(error.to_string());
                    return Ok(0);
                }
            }
        }
    }
}

impl<R: Seek> Seek for Packed<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}

impl<R: Seek> Seek for Plain<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.budget.0.zeros.set(0);
        self.inner.seek(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(packed: u64, plain: u64) -> (u64, Option<String>) {
        let budget = Budget::default();
        io::copy(
            &mut budget.packed(io::repeat(1).take(packed)),
            &mut io::sink(),
        )
        .expect("memory can be read");
        let mut reader = budget.plain(io::repeat(0).take(plain));
        let count = io::copy(&mut reader, &mut io::sink()).expect("it never fails");
        (count, budget.fault())
    }

    #[test]
    fn a_bomb_ends_near_the_free_budget_and_what_is_dense_does_not() {
        let (count, fault) = read(1 << 10, 1 << 30);
        assert!(count <= FREE + (1 << 20), "{count}");
        assert_eq!(
            fault.as_deref(),
            Some("it expands to more than 400 times its size")
        );
        assert_eq!(read(1 << 20, 100 << 20), (100 << 20, None));
        assert_eq!(read(1, FREE), (FREE, None));
    }

    #[test]
    fn a_header_has_a_budget_of_its_own() {
        let budget = Budget::default();
        let mut reader = budget.plain(io::repeat(b'a').take(8 << 20));
        let count = budget.header(|| io::copy(&mut reader, &mut io::sink()));
        assert!(count.expect("it never fails") < 2 << 20);
        assert!(budget.fault().is_some());
    }
}
