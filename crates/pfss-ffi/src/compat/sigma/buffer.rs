//! The caller's buffer of keys, which SIGMA's own keys share.

use core::{
    ops::Range,
    slice,
    sync::atomic::{AtomicPtr, Ordering::Relaxed},
};

use zeroize::Zeroize;

use super::record::{HEADER_BYTES, Record};
use crate::{
    memory::check,
    status::{CallFailure, Status},
};

/// A buffer with the caller's cursor, which moves as keys are written and read.
///
/// Pointers are atomic only so that the buffer may move between threads.
pub(super) struct KeyBuffer {
    /// Where the caller keeps the address of the next byte.
    cursor: AtomicPtr<*mut u8>,
    start: AtomicPtr<u8>,
    capacity: usize,
    /// The records that were written and not read, as offsets.
    written: Vec<Range<usize>>,
}

impl KeyBuffer {
    /// The buffer of `capacity` bytes from the byte that `cursor` points at.
    ///
    /// # Safety
    /// Unless refused, `*cursor` and the bytes of the buffer may be read and written by this thread
    /// until the result is dropped, and by nothing else during its methods. Where the cursor stands
    /// when keys are read, bytes are initialised.
    pub(super) unsafe fn new(cursor: *mut *mut u8, capacity: usize) -> Result<Self, CallFailure> {
        check("the place of the cursor", cursor, 1)?;
        // SAFETY: not null and aligned; the rest is the caller's promise.
        let start = unsafe { *cursor };
        check("the cursor", start, capacity.max(1))?;
        Ok(Self { cursor: AtomicPtr::new(cursor), start: AtomicPtr::new(start), capacity, written: Vec::new() })
    }

    /// First address and length of the buffer.
    pub(super) fn span(&self) -> (usize, usize) {
        (self.start.load(Relaxed).addr(), self.capacity)
    }

    /// Appends a record, all of it or nothing.
    ///
    /// `before` is called once there is room; if it fails, nothing is written.
    pub(super) fn append(
        &mut self,
        record: &[u8],
        before: impl FnOnce() -> Result<(), CallFailure>,
    ) -> Result<(), CallFailure> {
        let at = self.position()?;
        let room = self.capacity - at;
        if record.len() > room {
            let message = format!("expected room for {} bytes of keys, the buffer has {room} left", record.len());
            return Err(CallFailure::new(Status::TREFOIL_PFSS_LENGTH, message));
        }
        before()?;
        // SAFETY: within the buffer, which nothing else uses by the promise made in `new`; it may be uninitialised.
        unsafe { self.start.get_mut().add(at).copy_from_nonoverlapping(record.as_ptr(), record.len()) };
        let end = at + record.len();
        // Earlier records that this one overwrites need no wiping of their own.
        self.written.retain(|range| range.start < at || range.end > end);
        self.written.push(at..end);
        self.advance(end);
        Ok(())
    }

    /// Reads the record at the cursor, moves the cursor behind it, and wipes its bytes.
    ///
    /// If it is refused, by `check` too, cursor and bytes stay as they are.
    pub(super) fn take(
        &mut self,
        check: impl FnOnce(&Record) -> Result<(), CallFailure>,
    ) -> Result<Record, CallFailure> {
        let at = self.position()?;
        let header = self.bytes(at, HEADER_BYTES)?;
        let len = Record::len_from(header.first_chunk().ok_or_else(|| past_the_end(HEADER_BYTES, 0))?)?;
        let record = Record::read(self.bytes(at, len)?)?;
        check(&record)?;
        self.bytes_mut(at..at + len).zeroize();
        // the end of longer keys, written at the same place before, is still to be wiped
        self.written.retain(|range| range.start < at || range.end > at + len);
        self.advance(at + len);
        Ok(record)
    }

    /// Wipes the records that were written and not read.
    pub(super) fn wipe(&mut self) {
        for range in core::mem::take(&mut self.written) {
            self.bytes_mut(range).zeroize();
        }
    }

    /// Where the cursor stands, from the start.
    fn position(&self) -> Result<usize, CallFailure> {
        // SAFETY: `new` checked the place, and it is readable by the promise made there.
        let cursor = unsafe { *self.cursor.load(Relaxed) };
        let (start, capacity) = self.span();
        match cursor.addr().checked_sub(start) {
            Some(at) if at <= capacity => Ok(at),
            _ => Err(CallFailure::state(format!("the cursor is outside the buffer of {capacity} bytes"))),
        }
    }

    /// Puts the cursor at the offset `at`, at most the capacity.
    fn advance(&mut self, at: usize) {
        let next = self.start.get_mut().wrapping_add(at);
        // SAFETY: `new` checked the place, and it is writable by the promise made there.
        unsafe { **self.cursor.get_mut() = next };
    }

    fn bytes(&self, at: usize, len: usize) -> Result<&[u8], CallFailure> {
        let left = self.capacity - at; // `at` is a position
        if len > left {
            return Err(past_the_end(len, left));
        }
        // SAFETY: within the buffer, whose bytes at the cursor are initialised by the promise made in `new`.
        Ok(unsafe { slice::from_raw_parts(self.start.load(Relaxed).add(at), len) })
    }

    /// Bytes of a record in the buffer.
    fn bytes_mut(&mut self, range: Range<usize>) -> &mut [u8] {
        assert!(range.start <= range.end && range.end <= self.capacity, "a range within the buffer");
        // SAFETY: a record in the buffer, initialised, which nothing else uses by the promise made in `new`.
        unsafe { slice::from_raw_parts_mut(self.start.get_mut().add(range.start), range.len()) }
    }
}

fn past_the_end(expected: usize, left: usize) -> CallFailure {
    let message = format!("expected {expected} bytes of keys at the cursor, the buffer has {left} left");
    CallFailure::new(Status::TREFOIL_PFSS_LENGTH, message)
}

#[cfg(test)]
mod tests {
    use pfss::{Party, functions::WiredBundles};

    use super::*;
    use crate::compat::sigma::request::{Request, SigmaFunction};

    #[test]
    fn the_end_of_longer_keys_under_those_that_were_read_is_wiped() {
        let mut bytes = [1u8; 128];
        let start = bytes.as_mut_ptr();
        let mut cursor = start;
        let cursor = &raw mut cursor;
        // SAFETY: a cursor and initialised bytes, which outlive the buffer and which nothing else uses meanwhile.
        let mut buffer = unsafe { KeyBuffer::new(cursor, 100) }.unwrap();
        let request = Request::new(SigmaFunction::NegExp, 50, 12).unwrap();
        let bundles = WiredBundles::from(Vec::new());
        let record = Record { request, party: Party::Zero, count: 0, bundles }.into_bytes();
        assert_eq!(record.len(), HEADER_BYTES);
        for keys in [&[7u8; 90][..], &record[..]] {
            // SAFETY: the cursor, which nothing else uses now.
            unsafe { *cursor = start };
            buffer.append(keys, || Ok(())).unwrap();
        }
        // SAFETY: the cursor, which nothing else uses now.
        unsafe { *cursor = start };
        assert_eq!(buffer.take(|_| Ok(())).unwrap().count, 0);
        // SAFETY: a byte of the buffer behind those that were read.
        let behind = unsafe { start.add(HEADER_BYTES).read() };
        assert_eq!(behind, 7);
        buffer.wipe();
        assert_eq!((&bytes[..90], &bytes[90..]), (&[0; 90][..], &[1; 38][..]));
    }
}
