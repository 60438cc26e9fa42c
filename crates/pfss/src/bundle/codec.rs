//! Bundles to bytes and back.

use zeroize::Zeroizing;

use super::{
    KeyBundle,
    header::{DIGEST_AT, array, content_hasher},
    layout::{BundleLayout, BundleSection, ENTRY_BYTES, HEADER_BYTES, SectionId},
};
use crate::BundleError;

impl KeyBundle {
    /// Reads a bundle from bytes.
    ///
    /// The function is total. Besides a few kilobytes, it allocates at most 4 times `bytes.len()`,
    /// or 26 times for a bundle with a seed, which is refused unless the other keys are at least a
    /// sixteenth of the bytes that the seed replaces. Sections of 4 MiB and more are rounded up to
    /// whole huge pages.
    ///
    /// The content digest finds damage, not malice: whoever can write the bytes can also write a
    /// digest. So everything is checked against the gate and the count as well.
    ///
    /// # Errors
    /// The [`BundleError`] of the first check that fails.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, BundleError> {
        // Nothing is left to fill.
        Self::read_sections(bytes, bytes.len(), &mut |_| Ok(()))
    }

    /// The bytes of the bundle. They are as secret as the keys and are wiped when dropped.
    ///
    /// Little-endian: a header of 128 bytes, the section table, then each section at a multiple of
    /// 256 bytes, structure-of-arrays with the element index innermost. Most bundles of party 0
    /// hold a seed in place of roots and shares: see
    /// [`Gate::key_bits_of`](crate::Gate::key_bits_of).
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let layout = self.layout();
        let mut out = Vec::with_capacity(layout.total_len);
        self.header.write(&layout, &[0; 32], &mut out);
        for section in &layout.sections {
            write_entry(section, &mut out);
        }
        for section in &layout.sections {
            out.resize(section.offset as usize, 0);
            match section.id {
                SectionId::Program => {
                    self.gate().program().iter().for_each(|program| out.extend_from_slice(&program.to_bytes()));
                }
                SectionId::Seed => self.seed.iter().for_each(|seed| out.extend_from_slice(seed.bytes())),
                SectionId::Root => self.keys.roots.put_le_bytes(&mut out),
                SectionId::Cw => self.keys.common.cw.put_le_bytes(&mut out),
                SectionId::Leaf => self.keys.leaf.put_le_bytes(&mut out),
                SectionId::Vcw => self.keys.common.vcw.put_le_bytes(&mut out),
                SectionId::Last => self.keys.common.last.put_le_bytes(&mut out),
                SectionId::Words => self.keys.words.put_le_bytes(&mut out),
                SectionId::Bits => self.keys.bits.put_le_bytes(&mut out),
            }
        }
        debug_assert_eq!(out.len(), layout.total_len);
        let digest = content_hasher(&out).finalize();
        out[DIGEST_AT..HEADER_BYTES].copy_from_slice(digest.as_bytes());
        Zeroizing::new(out)
    }
}

fn write_entry(section: &BundleSection, out: &mut Vec<u8>) {
    out.extend_from_slice(&section.id.number().to_le_bytes());
    out.extend_from_slice(&section.element_bytes.to_le_bytes());
    for value in section.dims.into_iter().chain([section.offset, section.bytes]) {
        out.extend_from_slice(&value.to_le_bytes());
    }
}

/// Checks that the table has the only layout that the header allows.
pub(super) fn check_table(bytes: &[u8], layout: &BundleLayout) -> Result<(), BundleError> {
    for (index, section) in layout.sections.iter().enumerate() {
        let entry = &bytes[HEADER_BYTES + ENTRY_BYTES * index..][..ENTRY_BYTES];
        let [dim0, dim1, dim2] = section.dims;
        let narrow = |at: usize| u64::from(u32::from_le_bytes(array(entry, at)));
        let wide = |at: usize| u64::from_le_bytes(array(entry, at));
        let fields = [
            ("id", u64::from(section.id.number()), narrow(0)),
            ("element bytes", u64::from(section.element_bytes), narrow(4)),
            ("dimension 0", dim0, wide(8)),
            ("dimension 1", dim1, wide(16)),
            ("dimension 2", dim2, wide(24)),
            ("offset", section.offset, wide(32)),
            ("length", section.bytes, wide(40)),
        ];
        for (field, expected, got) in fields {
            if expected != got {
                return Err(BundleError::Section { index, field, expected, got });
            }
        }
    }
    Ok(())
}
