//! Bundles to bytes and back.

use std::sync::Arc;

use zeroize::Zeroizing;

use super::{
    BundleKeys, CommonKeys, KeyBundle,
    header::{DIGEST_AT, Header, array, content_digest},
    layout::{BundleLayout, ENTRY_BYTES, HEADER_BYTES, SectionEntry, SectionId},
};
use crate::{BundleError, secret::section::Section, secret::seed::Seed};

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
        let (header, layout, claimed) = Header::read(bytes, bytes.len())?;
        check_table(bytes, &layout)?;
        check_gaps(bytes, &layout)?;
        let computed = content_digest(bytes);
        if computed != claimed {
            return Err(BundleError::Digest { what: "content", expected: computed, got: claimed });
        }
        let (mut keys, mut common, mut seed) = (BundleKeys::default(), CommonKeys::default(), None);
        for section in &layout.sections {
            let start = section.offset as usize; // the whole layout fits `bytes`
            let body = &bytes[start..start + section.length as usize];
            match section.id {
                SectionId::Program => {} // read with the header
                SectionId::Seed => {
                    let found = Seed::read(body);
                    keys.expand(&found, &header.gate, layout.count_padded as usize);
                    seed = Some(found);
                }
                SectionId::Root => keys.roots = Section::from_le_bytes(body),
                SectionId::Cw => common.cw = Section::from_le_bytes(body),
                SectionId::Leaf => keys.leaf = Section::from_le_bytes(body),
                SectionId::Vcw => common.vcw = Section::from_le_bytes(body),
                SectionId::Last => common.last = Section::from_le_bytes(body),
                SectionId::Words => keys.words = Section::from_le_bytes(body),
                SectionId::Bits => keys.bits = Section::from_le_bytes(body),
            }
        }
        keys.common = Arc::new(common);
        keys.check(&header)?;
        Ok(Self { header, keys, seed, reusable: false })
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
        let digest = content_digest(&out);
        out[DIGEST_AT..HEADER_BYTES].copy_from_slice(&digest);
        Zeroizing::new(out)
    }
}

fn write_entry(section: &SectionEntry, out: &mut Vec<u8>) {
    out.extend_from_slice(&section.id.number().to_le_bytes());
    out.extend_from_slice(&section.elem_bytes.to_le_bytes());
    for value in section.dims.into_iter().chain([section.offset, section.length]) {
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
            ("element bytes", u64::from(section.elem_bytes), narrow(4)),
            ("dimension 0", dim0, wide(8)),
            ("dimension 1", dim1, wide(16)),
            ("dimension 2", dim2, wide(24)),
            ("offset", section.offset, wide(32)),
            ("length", section.length, wide(40)),
        ];
        for (field, expected, got) in fields {
            if expected != got {
                return Err(BundleError::Section { index, field, expected, got });
            }
        }
    }
    Ok(())
}

/// Checks that the bytes between sections are zero.
fn check_gaps(bytes: &[u8], layout: &BundleLayout) -> Result<(), BundleError> {
    let mut end = HEADER_BYTES + ENTRY_BYTES * layout.sections.len();
    for section in &layout.sections {
        let start = section.offset as usize;
        if let Some(at) = bytes[end..start].iter().position(|&byte| byte != 0) {
            return Err(BundleError::Gap { offset: end + at, got: bytes[end + at] });
        }
        end = start + section.length as usize;
    }
    Ok(())
}
