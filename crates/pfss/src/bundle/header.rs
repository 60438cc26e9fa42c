//! The fixed header of a bundle: its fields, their bytes, and how they are checked.

use super::layout::{BundleLayout, ENTRY_BYTES, HEADER_BYTES, check_size};
use crate::{BundleError, Gate, GateKind, Party, PfssError, gate::HeaderParameters, suf::SufProgram};

const MAGIC: [u8; 4] = *b"PFK1";
/// All sections as they are.
const VERSION: u16 = 1;
/// A seed in place of party 0's uniform sections.
const SEEDED_VERSION: u16 = 2;
/// AES-128 in Matyas-Meyer-Oseas mode under keys derived from the nonce.
const PRG_AES_MMO: u64 = 1;
/// log2 of the leaves in a comparison key's last block.
const LEAF_LOG2: u64 = 7;
/// Flag: output words come under masks.
const MASKED_OUTPUTS: u8 = 1;
/// Flag: the input masks are the output masks of an earlier gate.
const OPEN_INPUTS: u8 = 2;
/// The content digest covers the header up to here and everything after the header.
pub(super) const DIGEST_AT: usize = 96;

/// The public facts of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) gate: Gate,
    pub(crate) party: Party,
    pub(crate) count: usize,
    pub(crate) nonce: [u8; 16],
    /// Whether the input masks are the output masks of an earlier gate, which opens them.
    pub(crate) open_inputs: bool,
}

impl Header {
    /// Checks that the bundle belongs to `party`.
    pub(crate) fn check_party(&self, party: Party) -> Result<(), PfssError> {
        if self.party == party { Ok(()) } else { Err(PfssError::WrongParty { expected: party, got: self.party }) }
    }

    /// Adds to a transcript what both parties must agree on: gate, nonce, count and `facts`.
    pub(crate) fn record(&self, facts: &[u64], transcript: &mut blake3::Hasher) {
        transcript.update(&self.gate.digest());
        transcript.update(&self.nonce);
        transcript.update(&(self.count as u64).to_le_bytes());
        transcript.update(&(facts.len() as u64).to_le_bytes());
        for fact in facts {
            transcript.update(&fact.to_le_bytes());
        }
    }
}

/// Fields in the order of the bytes; both directions walk the same list of widths.
impl Header {
    /// Writes the header with the given content digest.
    pub(super) fn write(&self, layout: &BundleLayout, digest: &[u8; 32], out: &mut Vec<u8>) {
        let gate = &self.gate;
        out.extend_from_slice(&MAGIC);
        let version = if layout.seeded { SEEDED_VERSION } else { VERSION };
        out.extend_from_slice(&version.to_le_bytes());
        out.extend_from_slice(&[gate.kind().number(), self.party.number()]);
        // n, f and the width of outputs are at most 64, the caps keep the other parameters far below 2^16
        out.extend_from_slice(&[gate.n() as u8, gate.f() as u8, PRG_AES_MMO as u8, LEAF_LOG2 as u8]);
        for small in [gate.payload_words(), u64::from(gate.masks()), u64::from(gate.degree())] {
            out.extend_from_slice(&(small as u16).to_le_bytes());
        }
        let flag = |flag: u8, set: bool| if set { flag } else { 0 };
        let flags = flag(MASKED_OUTPUTS, gate.masks_outputs()) | flag(OPEN_INPUTS, self.open_inputs);
        out.extend_from_slice(&[flags, gate.wider_out() as u8]);
        out.extend_from_slice(&(layout.sections.len() as u32).to_le_bytes());
        for large in [self.count as u64, layout.count_padded, layout.total_len as u64] {
            out.extend_from_slice(&large.to_le_bytes());
        }
        out.extend_from_slice(&self.nonce);
        out.extend_from_slice(&gate.digest());
        out.extend_from_slice(digest);
        debug_assert_eq!(out.len(), HEADER_BYTES);
    }

    /// Reads a header and the layout it implies, and returns the content digest it claims.
    ///
    /// `bytes` are the first of a bundle of `len` bytes: at least the header, the section table and
    /// the program.
    pub(super) fn read(bytes: &[u8], len: usize) -> Result<(Self, BundleLayout, [u8; 32]), BundleError> {
        let Some((header, _)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
            return Err(BundleError::Truncated { expected: HEADER_BYTES, got: bytes.len() });
        };
        let version = u16::from_le_bytes(array(header, 4));
        check_start(header, MAGIC, version.clamp(VERSION, SEEDED_VERSION))?;
        let kind = GateKind::from_number(header[6]).ok_or(BundleError::Kind { got: header[6] })?;
        let party = Party::try_from(header[7]).map_err(|e| BundleError::Party { got: e.got })?;
        let small = |at: usize| u64::from(u16::from_le_bytes(array(header, at)));
        let refused = |e: PfssError| BundleError::Gate { reason: e.to_string() };
        let gate = match kind {
            GateKind::Suf => Gate::suf(program(bytes, len)?),
            _ => {
                let (degree, masks) = (small(16) as u32, small(14) as u32);
                let parameters = HeaderParameters { f: header[9].into(), degree, masks, out: header[19].into() };
                Gate::checked(kind, header[8].into(), parameters).map_err(refused)?
            }
        };
        let flags = header[18];
        let gate = if flags & MASKED_OUTPUTS == 0 { gate } else { gate.with_masked_outputs().map_err(refused)? };
        let fields = [
            ("n", gate.n(), u64::from(header[8])),
            ("f", gate.f(), u64::from(header[9])),
            ("masks", gate.masks(), small(14)),
            ("degree", gate.degree(), small(16)),
            ("output width", gate.wider_out(), header[19].into()),
        ];
        for (field, expected, got) in fields {
            expect(field, expected.into(), got)?;
        }
        expect("prg", PRG_AES_MMO, header[10].into())?;
        expect("leaf log2", LEAF_LOG2, header[11].into())?;
        expect("payload words", gate.payload_words(), small(12))?;
        expect("flags", u64::from(flags & (MASKED_OUTPUTS | OPEN_INPUTS)), flags.into())?;

        let large = |at: usize| u64::from_le_bytes(array(header, at));
        let count = large(24);
        let seeded = version == SEEDED_VERSION;
        if seeded && !gate.is_seeded(party) {
            return Err(BundleError::Version { expected: VERSION, got: version });
        }
        if seeded {
            check_size(&gate, count)?; // of the keys that the seed expands to
        }
        let layout = BundleLayout::new(&gate, count, seeded)?;
        expect("sections", layout.sections.len() as u64, u32::from_le_bytes(array(header, 20)).into())?;
        expect("padded count", layout.count_padded, large(32))?;
        expect("total length", layout.total_len as u64, large(40))?;
        if layout.total_len != len {
            return Err(BundleError::Length { expected: layout.total_len, got: len });
        }
        let (expected, got) = (gate.digest(), array(header, 64));
        if expected != got {
            return Err(BundleError::Digest { what: "gate", expected, got });
        }
        // `layout` holds `count` elements of at least 16 bytes each, so `count` fits
        let count = usize::try_from(count).map_err(|_| BundleError::Overflow { count })?;
        let open_inputs = flags & OPEN_INPUTS != 0;
        Ok((Self { gate, party, count, nonce: array(header, 48), open_inputs }, layout, array(header, DIGEST_AT)))
    }
}

/// The end of the public bytes at the start of a bundle of `len` bytes.
///
/// They are the header, the table of `sections` and the program of a descriptor. `bytes` are at
/// least the header and the table, of one section or more. Nothing in them is trusted, so the end
/// may lie anywhere up to `len`.
pub(super) fn public_end(bytes: &[u8], sections: usize, len: usize) -> usize {
    let table = HEADER_BYTES + ENTRY_BYTES * sections;
    if GateKind::from_number(bytes[6]) != Some(GateKind::Suf) {
        return table.min(len);
    }
    let large = |at: usize| u64::from_le_bytes(array(bytes, at));
    let end = large(HEADER_BYTES + 32).saturating_add(large(HEADER_BYTES + 40));
    usize::try_from(end).unwrap_or(usize::MAX).clamp(table.min(len), len)
}

/// Reads the program from the first section of a bundle of that kind, of `len` bytes in all.
///
/// The section's table entry is not trusted here; it is compared with the layout afterwards.
fn program(bytes: &[u8], len: usize) -> Result<SufProgram, BundleError> {
    let large = |at: usize| u64::from_le_bytes(array(bytes, at));
    let claimed = usize::try_from(large(40)).unwrap_or(usize::MAX);
    if claimed != len {
        return Err(BundleError::Length { expected: claimed, got: len });
    }
    if bytes.len() < HEADER_BYTES + ENTRY_BYTES {
        return Err(BundleError::Truncated { expected: HEADER_BYTES + ENTRY_BYTES, got: bytes.len() });
    }
    let (offset, length) = (large(HEADER_BYTES + 32), large(HEADER_BYTES + 40));
    let body = usize::try_from(offset).ok().and_then(|start| bytes.get(start..));
    let body =
        body.ok_or(BundleError::Section { index: 0, field: "offset", expected: bytes.len() as u64, got: offset })?;
    let program = usize::try_from(length).ok().and_then(|length| body.get(..length));
    let outside = BundleError::Section { index: 0, field: "length", expected: body.len() as u64, got: length };
    SufProgram::from_bytes(program.ok_or(outside)?).map_err(BundleError::Program)
}

/// Checks a header field whose value follows from other facts.
pub(crate) fn expect(field: &'static str, expected: u64, got: u64) -> Result<(), BundleError> {
    if expected == got { Ok(()) } else { Err(BundleError::Field { field, expected, got }) }
}

/// Checks the magic and the version at the start of a header.
pub(crate) fn check_start(header: &[u8], magic: [u8; 4], version: u16) -> Result<(), BundleError> {
    let got = array::<4>(header, 0);
    if got != magic {
        return Err(BundleError::Magic { expected: magic, got });
    }
    let got = u16::from_le_bytes(array(header, 4));
    if got != version {
        return Err(BundleError::Version { expected: version, got });
    }
    Ok(())
}

/// `N` bytes from `at`; the callers stay inside the fixed header or a table entry.
pub(crate) fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    core::array::from_fn(|i| bytes[at + i])
}

/// The hasher of the digest at [`DIGEST_AT`], after the bytes of `start`.
///
/// `start` has the first bytes of a bundle, at least its header; the digest itself is left out.
pub(super) fn content_hasher(start: &[u8]) -> blake3::Hasher {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&start[..DIGEST_AT]);
    hasher.update(&start[HEADER_BYTES..]);
    hasher
}
