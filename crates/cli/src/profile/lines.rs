//! The file of a profile, written in whole lines.

use std::{
    io::{self, Write},
    mem,
    sync::{Arc, Mutex, PoisonError},
};

/// The first failure to write.
#[derive(Clone, Default)]
pub(super) struct WriteFailure(Arc<Mutex<Option<io::Error>>>);

impl WriteFailure {
    /// The failure, if there was one.
    pub(super) fn take(&self) -> Option<io::Error> {
        mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn keep(&self, reason: io::Error) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason);
    }
}

/// A file that is written in whole lines and keeps its first failure.
///
/// A file that is cut can thus be read. Failures are not returned, because the writer of profiles
/// panics on one.
pub(super) struct WholeLines<W> {
    file: W,
    /// A line whose end is still to come.
    begun: Vec<u8>,
    more: MoreLines,
    failure: WriteFailure,
}

/// Lines to be written before the bracket that ends the list.
#[derive(Clone, Default)]
pub(super) struct MoreLines(Arc<Mutex<Vec<u8>>>);

impl MoreLines {
    /// Sets the lines, each an event after a comma.
    pub(super) fn set(&self, lines: Vec<u8>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = lines;
    }

    fn take(&self) -> Vec<u8> {
        mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<W: Write> WholeLines<W> {
    /// No lines yet; `more` come before the last line, and failures go to `failure`.
    pub(super) fn new(file: W, more: MoreLines, failure: WriteFailure) -> Self {
        Self { file, begun: Vec::new(), more, failure }
    }
}

impl<W: Write> Write for WholeLines<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        let (ends, begins) = bytes.split_at(whole);
        if !ends.is_empty() {
            self.begun.extend_from_slice(ends);
            let lines = mem::take(&mut self.begun);
            self.file.write_all(&lines).unwrap_or_else(|reason| self.failure.keep(reason));
        }
        self.begun.extend_from_slice(begins);
        Ok(bytes.len())
    }

    /// Writes the line that has no end, too.
    fn flush(&mut self) -> io::Result<()> {
        let mut last = mem::take(&mut self.begun);
        if last == b"]" {
            last = [self.more.take(), last].concat();
        }
        self.file.write_all(&last).and_then(|()| self.file.flush()).unwrap_or_else(|reason| self.failure.keep(reason));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps written pieces separate.
    struct Pieces<'a>(&'a mut Vec<Vec<u8>>);

    impl Write for Pieces<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.push(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_file_is_given_whole_lines_however_they_come() {
        let text = b"[\n{\"a\":1},\n{\"b\":22},\n\n{\"c\":333}\n]";
        for len in 1..=text.len() {
            let mut pieces = Vec::new();
            let mut lines = WholeLines::new(Pieces(&mut pieces), MoreLines::default(), WriteFailure::default());
            text.chunks(len).for_each(|chunk| lines.write_all(chunk).unwrap());
            lines.flush().unwrap();
            assert_eq!(pieces.concat(), text, "{len}");
            assert!(pieces[..pieces.len() - 1].iter().all(|piece| piece.ends_with(b"\n")), "{len}");
        }
    }

    #[test]
    fn more_lines_come_before_the_end_of_the_list_alone() {
        let (mut pieces, more) = (Vec::new(), MoreLines::default());
        let mut lines = WholeLines::new(Pieces(&mut pieces), more.clone(), WriteFailure::default());
        lines.write_all(b"[\n{\"a\":1}").unwrap();
        more.set(b",{\"b\":2}\n".to_vec());
        lines.flush().unwrap();
        lines.write_all(b"\n]").unwrap();
        lines.flush().unwrap();
        assert_eq!(pieces.concat(), b"[\n{\"a\":1}\n,{\"b\":2}\n]");
    }
}
