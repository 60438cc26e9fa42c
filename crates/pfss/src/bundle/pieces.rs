//! Bundles read piece by piece, each section straight into its own memory.

use std::sync::Arc;

use bytemuck::Pod;
use zeroize::{Zeroize, Zeroizing};

use super::{
    BundleKeys, CommonKeys, KeyBundle,
    codec::check_table,
    header::{Header, array, content_hasher, public_end},
    layout::{BundleSection, ENTRY_BYTES, HEADER_BYTES, SectionId},
};
use crate::{
    BundleError,
    secret::section::{Section, swap_on_big_endian},
    secret::seed::Seed,
};

/// Bytes that are filled and hashed at once; a whole number of elements of every section.
const PIECE: usize = 1 << 18;
/// The most entries of a section table.
const MAX_SECTIONS: usize = 9;

impl KeyBundle {
    /// Reads a bundle of `len` bytes piece by piece, as from a file.
    ///
    /// `fill` fills each slice with the next bytes of the bundle; an error of it is returned as it
    /// is. Besides the keys, only the header and the program are in memory, so a bundle takes the
    /// bytes of [`memory_bytes`](Self::memory_bytes) and not its file's as well. Lengths are
    /// checked before memory is taken, as by [`from_bytes`](Self::from_bytes).
    ///
    /// ```
    /// use pfss::{BundleError, Dealer, Gate, KeyBundle};
    ///
    /// let [bundle, _] = Dealer::from_os()?.deal(&runtime::cpu()?, &Gate::relu(64)?, 5)?;
    /// let bytes = bundle.to_bytes();
    /// let mut rest = &bytes[..];
    /// let read = KeyBundle::read_pieces(bytes.len(), |piece| {
    ///     let (next, after) = rest.split_at(piece.len());
    ///     piece.copy_from_slice(next);
    ///     rest = after;
    ///     Ok::<(), BundleError>(())
    /// })?;
    /// assert_eq!(*read.to_bytes(), *bytes);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The errors of `fill`, and the [`BundleError`] of the first check that fails.
    pub fn read_pieces<E: From<BundleError>>(
        len: usize,
        mut fill: impl FnMut(&mut [u8]) -> Result<(), E>,
    ) -> Result<Self, E> {
        // The public bytes: the header, the table, and the program of a descriptor.
        let mut start = Zeroizing::new(Vec::new());
        extend(&mut start, HEADER_BYTES.min(len), &mut fill)?;
        if len >= HEADER_BYTES {
            // Every bundle has a section; the claimed number is compared with the layout afterwards.
            let sections = (u32::from_le_bytes(array(&start, 20)) as usize).clamp(1, MAX_SECTIONS);
            extend(&mut start, (HEADER_BYTES + ENTRY_BYTES * sections).min(len), &mut fill)?;
            let end = if start.len() < len { public_end(&start, sections, len) } else { len };
            extend(&mut start, end, &mut fill)?;
        }
        Self::read_sections(&start, len, &mut fill)
    }

    /// Reads a bundle of `len` bytes: first `start`, then the bytes that `fill` writes.
    ///
    /// `start` has at least the public bytes, or the whole of a shorter bundle.
    pub(super) fn read_sections<E: From<BundleError>>(
        start: &[u8],
        len: usize,
        fill: &mut dyn FnMut(&mut [u8]) -> Result<(), E>,
    ) -> Result<Self, E> {
        let (header, layout, claimed) = Header::read(start, len)?;
        check_table(start, &layout)?;

        // Each section, after the gap before it.
        let table = HEADER_BYTES + ENTRY_BYTES * layout.sections.len();
        let mut pieces = Pieces { ready: &start[table..], at: table, hasher: content_hasher(start), fill };
        let (mut keys, mut common, mut seed) = (BundleKeys::default(), CommonKeys::default(), None);
        for section in &layout.sections {
            pieces.gap(section.offset as usize)?;
            match section.id {
                SectionId::Program => pieces.skip(section.bytes as usize), // read with the header
                SectionId::Seed => {
                    let mut bytes = Zeroizing::new([0u8; Seed::BYTES]);
                    pieces.read(&mut bytes[..])?;
                    seed = Some(Seed::read(&bytes[..]));
                }
                SectionId::Root => keys.roots = pieces.section(section)?,
                SectionId::Cw => common.cw = pieces.section(section)?,
                SectionId::Leaf => keys.leaf = pieces.section(section)?,
                SectionId::Vcw => common.vcw = pieces.section(section)?,
                SectionId::Last => common.last = pieces.section(section)?,
                SectionId::Words => keys.words = pieces.section(section)?,
                SectionId::Bits => keys.bits = pieces.section(section)?,
            }
        }

        // The digest, and then everything that is derived from bytes or checked by value.
        let computed = *pieces.hasher.finalize().as_bytes();
        if computed != claimed {
            return Err(BundleError::Digest { what: "content", expected: computed, got: claimed }.into());
        }
        keys.common = Arc::new(common);
        if let Some(seed) = &seed {
            keys.expand(seed, &header.gate, layout.count_padded as usize);
        }
        keys.check(&header)?;
        Ok(Self { header, keys, seed, first: 0, reusable: false })
    }
}

/// Extends `bytes` to `end` bytes, if it is shorter.
fn extend<E>(
    bytes: &mut Zeroizing<Vec<u8>>,
    end: usize,
    fill: &mut impl FnMut(&mut [u8]) -> Result<(), E>,
) -> Result<(), E> {
    while bytes.len() < end {
        // A claimed length takes no more than a piece, or the length that the source has filled. Doubling copies each
        // byte twice at most, however long the claimed program is.
        let from = bytes.len();
        let mut longer = Zeroizing::new(vec![0u8; end.min(from + from.max(PIECE))]);
        longer[..from].copy_from_slice(bytes);
        fill(&mut longer[from..])?;
        *bytes = longer;
    }
    Ok(())
}

/// The bytes of a bundle after its table.
struct Pieces<'a, E> {
    /// Bytes that were read with the header, and hashed there.
    ready: &'a [u8],
    /// The place of the next byte in the bundle.
    at: usize,
    hasher: blake3::Hasher,
    fill: &'a mut dyn FnMut(&mut [u8]) -> Result<(), E>,
}

impl<E: From<BundleError>> Pieces<'_, E> {
    /// Fills `out` with the next bytes, and hashes them.
    fn read(&mut self, out: &mut [u8]) -> Result<(), E> {
        let (first, rest) = self.ready.split_at(self.ready.len().min(out.len()));
        let (known, unread) = out.split_at_mut(first.len());
        known.copy_from_slice(first);
        self.ready = rest;
        for piece in unread.chunks_mut(PIECE) {
            (self.fill)(piece)?;
            self.hasher.update(piece);
        }
        self.at += out.len();
        Ok(())
    }

    /// Reads the zeros before the byte at `end`.
    fn gap(&mut self, end: usize) -> Result<(), E> {
        while self.at < end {
            let (at, mut zeros) = (self.at, [0; 256]);
            let zeros = &mut zeros[..(end - at).min(256)];
            self.read(zeros)?;
            if let Some(place) = zeros.iter().position(|&byte| byte != 0) {
                return Err(BundleError::Gap { offset: at + place, got: zeros[place] }.into());
            }
        }
        Ok(())
    }

    /// Passes over `len` public bytes, which were read with the header.
    fn skip(&mut self, len: usize) {
        self.ready = &self.ready[len..];
        self.at += len;
    }

    /// Reads the elements of a section.
    fn section<T: Pod + Zeroize>(&mut self, section: &BundleSection) -> Result<Section<T>, E> {
        let mut elements = Section::<T>::zeroed(section.bytes as usize / size_of::<T>());
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut elements[..]);
        self.read(bytes)?;
        swap_on_big_endian::<T>(bytes);
        Ok(elements)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Dealer, Gate,
        bundle::layout::BundleLayout,
        suf::{BoolExpr, Piece, Pred, SufDesc, SufModes, SufProgram, SufSpec},
    };

    /// Reads `bytes` with `len` as the length; `None` is a source that ends too early.
    fn read(bytes: &[u8], len: usize) -> Result<KeyBundle, Option<BundleError>> {
        let mut rest = bytes;
        KeyBundle::read_pieces(len, |piece: &mut [u8]| {
            let (next, after) = rest.split_at_checked(piece.len()).ok_or(Ended(None))?;
            piece.copy_from_slice(next);
            rest = after;
            Ok::<(), Ended>(())
        })
        .map_err(|Ended(error)| error)
    }

    /// The error of a bundle, or the end of its source.
    struct Ended(Option<BundleError>);

    impl From<BundleError> for Ended {
        fn from(error: BundleError) -> Self {
            Self(Some(error))
        }
    }

    fn suf() -> Gate {
        let piece = |start, c1| Piece { start, polys: vec![vec![3, c1]], bools: vec![BoolExpr::Var(0)] };
        let desc = SufDesc::new(SufSpec {
            n: 10,
            degree: 1,
            words: vec!["y".into()],
            bools: vec!["b".into()],
            preds: vec![Pred::Msb],
            pieces: vec![piece(0, 1), piece(80, 0)],
        });
        Gate::suf(SufProgram::new(desc.unwrap(), SufModes::default()).unwrap())
    }

    /// Bundles of both parties, with all kinds of sections among them.
    fn samples() -> Vec<Vec<u8>> {
        let gates = [
            Gate::relu(5).unwrap(),
            Gate::interval_powers(9, 2).unwrap(),
            Gate::full_predicates(9).unwrap().with_masks(2).unwrap(),
            Gate::product(64).unwrap(),
            Gate::lut(8, 40).unwrap(),
            suf(),
        ];
        let (q, mut dealer) = (runtime::cpu().unwrap(), Dealer::insecure_from_seed(3));
        let deals = gates.iter().flat_map(|gate| dealer.deal(&q, gate, 3).unwrap());
        deals.map(|bundle| bundle.to_bytes().to_vec()).collect()
    }

    #[test]
    fn bundles_read_piece_by_piece_are_those_read_at_once() {
        for bytes in samples() {
            let (at_once, pieces) = (KeyBundle::from_bytes(&bytes).unwrap(), read(&bytes, bytes.len()).unwrap());
            assert_eq!(*pieces.to_bytes(), bytes);
            let (a, b) = (&pieces.keys, &at_once.keys);
            assert!(*a.roots == *b.roots && *a.leaf == *b.leaf && *a.words == *b.words && *a.bits == *b.bits);
            assert_eq!(pieces.memory_bytes(), at_once.memory_bytes());
            let padded = pieces.padded() as u64;
            let seed = if pieces.seed.is_some() { Seed::BYTES as u64 } else { 0 };
            assert_eq!(pieces.memory_bytes(), padded / 8 * pieces.gate().key_bits_per_element() + seed);
        }
    }

    #[test]
    fn sections_longer_than_a_piece_are_read_whole() {
        let q = runtime::cpu().unwrap();
        let [zero, one] = Dealer::insecure_from_seed(4).deal(&q, &Gate::relu(16).unwrap(), 9000).unwrap();
        for bundle in [zero, one] {
            let bytes = bundle.to_bytes();
            let layout = BundleLayout::new(bundle.gate(), 9000, bundle.seed.is_some()).unwrap();
            assert!(layout.sections.iter().any(|section| section.bytes as usize > 2 * PIECE));
            assert_eq!(*read(&bytes, bytes.len()).unwrap().to_bytes(), *bytes);
        }
    }

    #[test]
    fn sources_that_end_early_and_other_lengths_are_refused() {
        for bytes in samples() {
            for len in (0..bytes.len()).step_by(3) {
                // No such bundle has this length, or the source ends.
                assert!(read(&bytes, len).unwrap_err().is_some(), "{len}");
                assert!(read(&bytes[..len], bytes.len()).unwrap_err().is_none(), "{len}");
            }
            assert!(read(&bytes, bytes.len() + 1).unwrap_err().is_some());
            assert!(read(&bytes, usize::MAX).unwrap_err().is_some());
        }
    }
}
