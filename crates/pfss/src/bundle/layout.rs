//! Where each section of a bundle lies, computed from its gate and its count alone.

use crate::{BundleError, Gate, lanes::LANES, secret::seed::Seed, tree::TreeRows};

/// Bytes of the fixed header.
pub(super) const HEADER_BYTES: usize = 128;
/// Bytes of one entry of the section table.
pub(super) const ENTRY_BYTES: usize = 48;
/// Every section starts at a multiple of this.
const ALIGN: u64 = 256;
/// The contents of a section; the number is its id in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SectionId {
    /// The encoding of the gate's program, before all other sections; public.
    Program = 8,
    Root = 1,
    Cw = 2,
    Leaf = 3,
    Vcw = 4,
    Last = 5,
    Words = 6,
    Bits = 7,
    /// The seed from which roots, words and bits are expanded, in their place.
    Seed = 9,
}

impl SectionId {
    const fn name(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Root => "roots",
            Self::Cw => "correction words",
            Self::Leaf => "leaves",
            Self::Vcw => "payload corrections",
            Self::Last => "last payloads",
            Self::Words => "additive shares",
            Self::Bits => "xor shares",
            Self::Seed => "seed",
        }
    }

    pub(super) const fn number(self) -> u32 {
        self as u32
    }
}

/// Public facts about a section of a bundle. Its elements are row-major.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleSection {
    pub(super) id: SectionId,
    /// Name of the contents.
    pub name: &'static str,
    /// Bytes of one of its elements.
    pub element_bytes: u32,
    /// Its extents, the innermost last.
    ///
    /// The innermost extent is the padded elements of the batch, or words of 32 elements.
    pub dims: [u64; 3],
    /// Where it starts in the bundle.
    pub offset: u64,
    /// Its length in bytes.
    pub bytes: u64,
}

/// Where everything lies in a bundle: a function of the gate and the count, never of secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BundleLayout {
    pub(super) count_padded: u64,
    /// Whether a seed takes the place of roots, words and bits.
    pub(super) seeded: bool,
    pub(super) sections: Vec<BundleSection>,
    pub(super) total_len: usize,
}

impl BundleLayout {
    pub(super) fn new(gate: &Gate, count: u64, seeded: bool) -> Result<Self, BundleError> {
        let overflow = BundleError::Overflow { count };
        Self::place(gate, count, seeded).ok_or(overflow)
    }

    /// `None` if a length does not fit.
    fn place(gate: &Gate, count: u64, seeded: bool) -> Option<Self> {
        let count_padded = count.checked_next_multiple_of(LANES)?;
        u32::try_from(count_padded).ok()?; // ops count elements in 32 bits
        let (rows, words) = (TreeRows::of(&gate.trees()), gate.payload_words());
        let per_word = |rows: u64| rows.checked_div(words).unwrap_or_default();
        let stored = |rows: u64| if seeded { 0 } else { rows };
        let program = gate.program().map_or(0, |program| program.to_bytes().len() as u64);
        let all = [
            (SectionId::Program, 1u32, [program, 1, 1]),
            (SectionId::Seed, 1, [if seeded { Seed::BYTES as u64 } else { 0 }, 1, 1]),
            (SectionId::Root, 16, [stored(rows.root), 1, count_padded]),
            (SectionId::Cw, 16, [rows.cw, 1, count_padded]),
            (SectionId::Leaf, 16, [rows.leaf, 1, count_padded]),
            (SectionId::Vcw, 8, [per_word(rows.vcw), words, count_padded]),
            (SectionId::Last, 8, [per_word(rows.last), words, count_padded]),
            (SectionId::Words, 8, [stored(gate.word_rows()), 1, count_padded]),
            (SectionId::Bits, 4, [stored(gate.bit_rows()), 1, count_padded / LANES]),
        ];
        // A section that the gate does not have is left out; an empty batch keeps the sections, with length zero.
        let present = all.into_iter().filter(|(_, _, dims)| dims[0] > 0);
        let mut end = (HEADER_BYTES + ENTRY_BYTES * present.clone().count()) as u64;
        let mut sections = Vec::new();
        for (id, element_bytes, dims) in present {
            let elements = dims.iter().try_fold(1u64, |product, &dim| product.checked_mul(dim))?;
            let bytes = elements.checked_mul(u64::from(element_bytes))?;
            let offset = end.checked_next_multiple_of(ALIGN)?;
            end = offset.checked_add(bytes)?;
            sections.push(BundleSection { id, name: id.name(), element_bytes, dims, offset, bytes });
        }
        let total_len = usize::try_from(end).ok().filter(|&len| isize::try_from(len).is_ok())?;
        Some(Self { count_padded, seeded, sections, total_len })
    }
}

/// Whether keys of this size can exist, with all sections as they are.
pub(crate) fn check_size(gate: &Gate, count: u64) -> Result<(), BundleError> {
    BundleLayout::new(gate, count, false).map(|_| ())
}
