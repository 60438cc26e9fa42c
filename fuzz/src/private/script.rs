//! A peer that does not listen.

use std::io::{self, Read, Write};

/// A peer whose bytes are there already, and who takes any answer.
pub(crate) struct Script<'a> {
    pub(crate) rest: &'a [u8],
}

impl Read for Script<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.rest.read(buffer)
    }
}

impl Write for Script<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
