//! A look at a library file before the platform's loader maps it.
//!
//! Loading a truncated library kills the process (the pages past its end cannot be read), so the
//! file's own headers are compared with its length first.

/// Why a file is not a library for this program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotLoadable {
    #[error("not an ELF file")]
    Magic,
    #[error("the ELF class or byte order differs from this program's")]
    Class,
    #[error("expected ELF machine {expected} (from this program), got {got}")]
    Machine { expected: u16, got: u16 },
    #[error("expected a shared library, got ELF type {0}")]
    Kind(u16),
    #[error("expected {expected} bytes (from its headers), got {got}")]
    Truncated { expected: u64, got: u64 },
}

const HEADER_LEN: usize = 64;
const PROGRAM_HEADER_LEN: usize = 56;
const SHARED_LIBRARY: u16 = 3;
const SEGMENT_LOAD: u32 = 1;

/// Machine number of this program.
const MACHINE: u16 = if cfg!(target_arch = "x86_64") {
    62
} else if cfg!(target_arch = "aarch64") {
    183
} else {
    0
};

/// Checks that `bytes` is a whole 64-bit little-endian shared library for this machine.
pub(crate) fn check(bytes: &[u8]) -> Result<(), NotLoadable> {
    let got = bytes.len() as u64;
    if !bytes.starts_with(b"\x7fELF") {
        return Err(NotLoadable::Magic);
    }
    let Some(header) = bytes.get(..HEADER_LEN) else {
        return Err(NotLoadable::Truncated { expected: HEADER_LEN as u64, got });
    };
    // Class 2 is 64-bit, data 1 little-endian.
    if header[4..6] != [2, 1] {
        return Err(NotLoadable::Class);
    }
    let kind = u16_at(header, 16);
    if kind != SHARED_LIBRARY {
        return Err(NotLoadable::Kind(kind));
    }
    let machine = u16_at(header, 18);
    if machine != MACHINE {
        return Err(NotLoadable::Machine { expected: MACHINE, got: machine });
    }
    let table = u64_at(header, 32);
    let count = u64::from(u16_at(header, 56));
    let table_end = table.saturating_add(count * PROGRAM_HEADER_LEN as u64);
    if table_end > got {
        return Err(NotLoadable::Truncated { expected: table_end, got });
    }
    // The end lies inside the file, so both fit an index.
    let programs = &bytes[table as usize..table_end as usize];
    for program in programs.chunks_exact(PROGRAM_HEADER_LEN) {
        let end = u64_at(program, 8).saturating_add(u64_at(program, 32));
        if u32_at(program, 0) == SEGMENT_LOAD && end > got {
            return Err(NotLoadable::Truncated { expected: end, got });
        }
    }
    Ok(())
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]
mod tests {
    use super::*;

    /// The image of this test program.
    ///
    /// It is position independent, so it has the same type as a shared library.
    fn whole() -> Vec<u8> {
        std::fs::read(std::env::current_exe().unwrap()).unwrap()
    }

    #[test]
    fn a_whole_file_passes_and_every_short_one_is_refused() {
        let file = whole();
        assert_eq!(check(&file), Ok(()));
        for len in (0..HEADER_LEN).chain([HEADER_LEN, 200, 4096]) {
            assert!(check(&file[..len]).is_err(), "{len} bytes");
        }
    }

    #[test]
    fn a_file_for_another_machine_is_refused() {
        let mut file = whole();
        file[18] ^= 0xff;
        assert!(matches!(check(&file), Err(NotLoadable::Machine { expected: MACHINE, .. })));
        let mut narrow = whole();
        narrow[4] = 1;
        assert_eq!(check(&narrow), Err(NotLoadable::Class));
        assert_eq!(check(b"MZ, a program of another system"), Err(NotLoadable::Magic));
    }
}
