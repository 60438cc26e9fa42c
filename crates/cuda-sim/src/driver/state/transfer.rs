//! Copies and fills.
//!
//! # Safety
//! Copies touch host memory through addresses that a caller of the driver API gave, who by that API
//! keeps them valid until the copy is known to be done.

use std::{
    hash::{DefaultHasher, Hasher},
    ops::Range,
    ptr::{with_exposed_provenance, with_exposed_provenance_mut},
    sync::Arc,
};

use cuda_loader::Status;

use super::{accesses::Accesses, outcome::Failure};
use crate::exec::{self, Memory};

/// Fill byte of host memory that a copy has not written yet, and of bytes never written.
///
/// It gives NaN in every float format.
const POISON: u8 = 0xff;

/// One end of a copy.
#[derive(Clone, Debug)]
pub(in crate::driver) enum CopyLocation {
    /// Device or mapped memory.
    Device(u64),
    /// Host memory, read or written when the copy runs.
    Host(usize),
    /// Bytes of the host as they were when the copy was enqueued.
    Staged(Arc<[u8]>),
}

/// One end of a copy of planes of rows.
#[derive(Clone, Debug)]
pub(in crate::driver) struct End {
    pub(in crate::driver) place: CopyLocation,
    /// Bytes from one row to the next.
    pub(in crate::driver) pitch: u64,
    /// Bytes from one plane to the next.
    pub(in crate::driver) plane: u64,
}

/// A copy of `depth` planes of `height` rows of `width` bytes.
#[derive(Clone, Debug)]
pub(in crate::driver) struct Copy {
    pub(in crate::driver) target: End,
    pub(in crate::driver) source: End,
    pub(in crate::driver) width: u64,
    pub(in crate::driver) height: u64,
    pub(in crate::driver) depth: u64,
    /// Reports success and writes nothing.
    pub(in crate::driver) dropped: bool,
}

/// A fill of `height` rows of `width` elements.
#[derive(Clone, Debug)]
pub(in crate::driver) struct Fill {
    pub(in crate::driver) target: u64,
    pub(in crate::driver) pitch: u64,
    pub(in crate::driver) value: u32,
    /// 1, 2 or 4.
    pub(in crate::driver) element: u32,
    pub(in crate::driver) width: u64,
    pub(in crate::driver) height: u64,
}

impl Copy {
    /// A copy of consecutive bytes.
    pub(in crate::driver) fn flat(target: CopyLocation, source: CopyLocation, bytes: u64) -> Self {
        let end = |place| End { place, pitch: bytes, plane: bytes };
        Self { target: end(target), source: end(source), width: bytes, height: 1, depth: 1, dropped: false }
    }

    /// Whether it moves consecutive bytes.
    pub(in crate::driver) fn is_flat(&self) -> bool {
        self.height == 1 && self.depth == 1
    }

    /// Bytes that it moves.
    pub(in crate::driver) fn bytes(&self) -> u64 {
        self.width * self.height * self.depth
    }

    /// How far each row lies past the start of the target and of the source.
    fn rows(&self) -> impl Iterator<Item = (u64, u64)> {
        let at = |end: &End, plane, row| plane * end.plane + row * end.pitch;
        (0..self.depth).flat_map(move |plane| {
            (0..self.height).map(move |row| (at(&self.target, plane, row), at(&self.source, plane, row)))
        })
    }

    /// Copies.
    ///
    /// With `checked`, bytes that nothing has written reach the host as a pattern, and the first of
    /// them is returned.
    pub(in crate::driver) fn run(&self, memory: &Memory, checked: bool) -> Result<Option<u64>, Failure> {
        let mut unwritten = None;
        if self.dropped {
            return Ok(None);
        }
        for (target_at, source_at) in self.rows() {
            let (target, source) = (&self.target.place, &self.source.place);
            let gap = copy_row(memory, target, target_at, source, source_at, self.width, checked)?;
            unwritten = unwritten.or(gap);
        }
        Ok(unwritten)
    }

    /// Its accesses to device memory, and to host memory by address.
    pub(in crate::driver) fn accesses(&self) -> Accesses {
        let (targets, sources): (Vec<u64>, Vec<u64>) = self.rows().unzip();
        let range = |end: &End, at: u64| match end.place {
            CopyLocation::Device(base) => Some(base + at..base + at + self.width),
            CopyLocation::Host(base) => Some(base as u64 + at..base as u64 + at + self.width),
            CopyLocation::Staged(_) => None,
        };
        Accesses {
            reads: joined(sources.into_iter().filter_map(|at| range(&self.source, at))),
            writes: joined(targets.into_iter().filter_map(|at| range(&self.target, at))),
            ..Accesses::default()
        }
    }

    /// The host memory that it reads, from the first to past the last byte.
    pub(in crate::driver) fn host_source(&self) -> Option<Range<u64>> {
        self.source.host_range(self.width, self.height, self.depth)
    }

    /// The host memory that it writes, likewise.
    pub(in crate::driver) fn host_target(&self) -> Option<Range<u64>> {
        self.target.host_range(self.width, self.height, self.depth)
    }

    /// A digest of its source in host memory as that is now.
    pub(in crate::driver) fn source_digest(&self) -> Option<u64> {
        let CopyLocation::Host(source) = self.source.place else { return None };
        let mut digest = DefaultHasher::new();
        for (_, at) in self.rows() {
            let row = host_row(source + at as usize, self.width);
            digest.write(&row);
        }
        Some(digest.finish())
    }

    /// Writes a pattern where it will write into host memory.
    pub(in crate::driver) fn poison_target(&self) {
        let CopyLocation::Host(target) = self.target.place else { return };
        for (at, _) in self.rows() {
            let row = with_exposed_provenance_mut::<u8>(target + at as usize);
            // SAFETY: the caller of the driver keeps the target valid and untouched until the copy is known to be done.
            unsafe { row.write_bytes(POISON, self.width as usize) };
        }
    }
}

/// Ascending ranges with neighbours joined.
///
/// They are in no order if the rows overlap, as no meaningful copy's rows do.
fn joined(rows: impl Iterator<Item = Range<u64>>) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for row in rows {
        match ranges.last_mut() {
            Some(last) if last.end == row.start => last.end = row.end,
            _ => ranges.push(row),
        }
    }
    ranges.sort_unstable_by_key(|range| range.start);
    ranges
}

/// Bytes of host memory as they are now.
fn host_row(source: usize, bytes: u64) -> Vec<u8> {
    let mut row = vec![0; bytes as usize];
    let source = with_exposed_provenance::<u8>(source);
    // SAFETY: the caller of the driver keeps the source valid until the copy is known to be done; `row` is new.
    unsafe { source.copy_to_nonoverlapping(row.as_mut_ptr(), row.len()) };
    row
}

impl End {
    /// First and past-the-last address that a copy of these dimensions touches.
    ///
    /// `None` if the copy's end is not in device memory.
    pub(in crate::driver) fn device_range(&self, width: u64, height: u64, depth: u64) -> Option<(u64, u64)> {
        let CopyLocation::Device(base) = self.place else { return None };
        Some((base, base.saturating_add(self.span(width, height, depth))))
    }

    /// The same in host memory.
    fn host_range(&self, width: u64, height: u64, depth: u64) -> Option<Range<u64>> {
        let CopyLocation::Host(base) = self.place else { return None };
        Some(base as u64..base as u64 + self.span(width, height, depth))
    }

    /// Bytes from the first to past the last.
    fn span(&self, width: u64, height: u64, depth: u64) -> u64 {
        (depth.max(1) - 1) * self.plane + (height.max(1) - 1) * self.pitch + width
    }
}

fn copy_row(
    memory: &Memory,
    to: &CopyLocation,
    to_at: u64,
    from: &CopyLocation,
    from_at: u64,
    bytes: u64,
    checked: bool,
) -> Result<Option<u64>, Failure> {
    let failed = |fault: exec::MemoryFault| (Status::ILLEGAL_ADDRESS, fault.to_string());
    let len = bytes as usize;
    let mut unwritten = None;
    if let (CopyLocation::Device(target), CopyLocation::Device(source)) = (to, from) {
        return memory.copy(target + to_at, source + from_at, bytes).map(|()| None).map_err(failed);
    }
    let row = match from {
        CopyLocation::Device(source) => {
            let (start, mut row) = (source + from_at, vec![0; len]);
            memory.read(start, &mut row).map_err(failed)?;
            if checked {
                unwritten = poison_gaps(memory, start, &mut row).map_err(failed)?;
            }
            row
        }
        CopyLocation::Staged(bytes) => bytes[from_at as usize..][..len].to_vec(),
        CopyLocation::Host(source) => host_row(source + from_at as usize, bytes),
    };
    match to {
        CopyLocation::Device(target) => memory.write(target + to_at, &row).map_err(failed)?,
        CopyLocation::Staged(_) => return Err((Status::INVALID_VALUE, "a copy into its own staged source".into())),
        CopyLocation::Host(target) => {
            let target = with_exposed_provenance_mut::<u8>(target + to_at as usize);
            // SAFETY: the caller of the driver keeps the target valid and untouched until the copy is known to be done.
            unsafe { target.copy_from_nonoverlapping(row.as_ptr(), len) };
        }
    }
    Ok(unwritten)
}

/// Writes the fill byte over bytes of `row` that nothing has written.
///
/// `row` was read from `start` on. Returns the first such byte.
fn poison_gaps(memory: &Memory, start: u64, row: &mut [u8]) -> Result<Option<u64>, exec::MemoryFault> {
    let (end, mut at) = (start + row.len() as u64, start);
    let mut first = None;
    while at < end
        && let Some(gap) = memory.first_unwritten(at, end - at)?
    {
        row[(gap - start) as usize] = POISON;
        first = first.or(Some(gap));
        at = gap + 1;
    }
    Ok(first)
}

impl Fill {
    /// The bytes that it writes.
    pub(in crate::driver) fn ranges(&self) -> Vec<Range<u64>> {
        let bytes = self.width * u64::from(self.element);
        joined((0..self.height).map(|row| self.target + row * self.pitch).map(|start| start..start + bytes))
    }

    pub(in crate::driver) fn run(&self, memory: &Memory) -> Result<(), Failure> {
        let pattern = &self.value.to_le_bytes()[..self.element as usize];
        for row in 0..self.height {
            let fill = memory.fill(self.target + row * self.pitch, pattern, self.width);
            fill.map_err(|fault| (Status::ILLEGAL_ADDRESS, fault.to_string()))?;
        }
        Ok(())
    }
}
