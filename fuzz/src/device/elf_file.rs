//! ELF files of driver libraries.
//!
//! An accepted file has every byte that its headers name, and is rejected one byte shorter.

// The reader alone: its crate opens each library it accepts.
#[path = "../../../crates/cuda-loader/src/driver/elf.rs"]
mod reader;

const HEADER_BYTES: usize = 64;
const PROGRAM_HEADER_BYTES: usize = 56;
const LOADED: usize = 1;

/// Checks one input.
pub fn check_input(bytes: &[u8]) {
    if reader::check(bytes).is_err() {
        return;
    }
    let end = end(bytes);
    assert!(end <= bytes.len(), "{} bytes are accepted, the headers name {end}", bytes.len());
    assert_eq!(reader::check(&bytes[..end]), Ok(()), "the headers name no more than {end} bytes");
    assert!(reader::check(&bytes[..end - 1]).is_err(), "the headers name {end} bytes");
}

/// One past the last byte of a header or a loaded segment.
///
/// Fields follow the ELF-64 object file format, figures 2 and 6.
fn end(bytes: &[u8]) -> usize {
    let (table, count) = (number(bytes, 32, 8), number(bytes, 56, 2));
    let headers = (0..count).map(|index| table + index * PROGRAM_HEADER_BYTES);
    let loaded = headers.filter(|&at| number(bytes, at, 4) == LOADED);
    let segments = loaded.map(|at| number(bytes, at + 8, 8) + number(bytes, at + 32, 8));
    segments.chain([HEADER_BYTES, table + count * PROGRAM_HEADER_BYTES]).max().unwrap_or(0)
}

/// A little-endian number.
fn number(bytes: &[u8], at: usize, len: usize) -> usize {
    bytes[at..at + len].iter().rev().fold(0, |number, &byte| number << 8 | usize::from(byte))
}
