//! The public arithmetic at the end of a gate.
//!
//! It forms sums of the dealer's words on the queue.
//!
//! A sum adds terms `constant X^power s`, where `X = ((x + offset) mod 2^bits) >> shift` is public.
//! `s` is the share `[v]` of a word or, with an opened bit `w = b ^ c`, the share
//! `w [v] + (1 - 2w) [c v]` of `b v`.

use core::ops::Range;

use backend_api::{
    Buffer as _, BufferMut as _, BufferRef as _, Queue, Ref,
    ops::{fss::FssOps, share::CombineWords},
};
use core_types::{
    Ring,
    params::share::{WordParams, WordTerm},
};
use zeroize::Zeroizing;

use super::opened::OpenedValues;
use crate::{
    Gate, KeyBundle, PfssError,
    gates::walk::{
        evaluator::{Activity, Evaluator},
        tree::Trees,
    },
    lanes::LANES,
    secret::staging::{SecretInput, StagedSecret},
};

/// Bytes of words sent to the device at once after an exchange.
///
/// This bounds memory and does not change results. In a walk, whose batch has reserved memory for
/// all its elements, all words are sent at once.
const BYTES_AT_ONCE: usize = 8 << 20;

/// Elements of `rows` words each that go to the device at once, a multiple of 32.
///
/// A gate has the row of its input mask at least, and less than 2^15 rows.
pub(crate) fn summed_at_once(rows: usize) -> usize {
    let lanes = LANES as usize;
    BYTES_AT_ONCE / (8 * rows) / lanes * lanes
}

/// Sums over the words of a bundle.
#[derive(Clone, Debug)]
pub(crate) struct BundleSums {
    bits: Ring,
    width: Ring,
    offset: u64,
    shift: u32,
    interleaved: bool,
    terms: Vec<WordTerm>,
}

impl BundleSums {
    /// No sums yet.
    ///
    /// The variable of terms is the public word x, read modulo 2^bits; results have `width`.
    pub(in crate::gates) fn new(bits: Ring, width: Ring) -> Self {
        Self { bits, width, offset: 0, shift: 0, interleaved: false, terms: Vec::new() }
    }

    /// Makes `(x + offset) >> shift` the variable of terms.
    pub(in crate::gates) fn of_shifted(self, offset: u64, shift: u32) -> Self {
        Self { offset, shift, ..self }
    }

    /// Lays the sums of an element one after the other.
    pub(in crate::gates) fn interleaved(self) -> Self {
        Self { interleaved: true, ..self }
    }

    /// Adds a sum. One without terms is 0.
    pub(in crate::gates) fn sum(mut self, terms: impl IntoIterator<Item = WordTerm>) -> Self {
        let first = self.terms.len();
        self.terms.extend(terms);
        if self.terms.len() == first {
            self.terms.push(WordTerm::NONE);
        }
        if let Some(last) = self.terms.last_mut() {
            last.last = 1;
        }
        self
    }

    /// Adds to each sum the mask of its output word, if `gate` masks them.
    ///
    /// There is a sum for each word.
    pub(in crate::gates) fn under_output_masks(mut self, gate: &Gate) -> Self {
        let Some(mut row) = gate.output_mask_row() else { return self };
        for mut term in core::mem::take(&mut self.terms) {
            let last = core::mem::take(&mut term.last);
            self.terms.push(term);
            if last == 1 {
                self.terms.push(WordTerm { last, ..WordTerm::word(row) });
                row += 1;
            }
        }
        self
    }

    /// The sums of every element, `[sums][count]`, or `[count][sums]` if interleaved.
    pub(super) fn run<Q: FssOps>(
        &self,
        q: &Q,
        bundle: &KeyBundle,
        x: &[u64],
        opened: &OpenedValues,
    ) -> Result<Vec<u64>, PfssError> {
        let (count, sums) = (x.len(), self.count());
        // Words that are read in place take no memory, and the sums of all elements then less than the trees did, whose
        // memory a batch has reserved.
        let results = 8 * (1 + sums as u64) * count as u64 + 4 * opened.bits().len() as u64;
        let in_place = results <= bundle.device_bytes() && q.host_view(&bundle.keys.words).is_some();
        let at_once = if in_place { count } else { summed_at_once(bundle.word_rows()) };
        if count <= at_once {
            return Ok(self.part(q, bundle, x, 0..count, opened)?.download()?);
        }
        let mut out = vec![0; sums * count];
        for start in (0..count).step_by(at_once) {
            let range = start..count.min(start + at_once);
            let opened = opened.part(range.clone());
            let part = self.part(q, bundle, &x[range.clone()], range.clone(), &opened)?;
            let part = Zeroizing::new(part.download()?);
            if self.interleaved {
                out[sums * start..][..part.len()].copy_from_slice(&part);
            } else {
                let rows = part.chunks_exact(range.len()).zip(out.chunks_exact_mut(count));
                rows.for_each(|(part, row)| row[range.clone()].copy_from_slice(part));
            }
        }
        Ok(out)
    }

    /// [`run`](Self::run) in a walk, over words of the bundle and rows on the device.
    ///
    /// The rows on the device come after the words.
    pub(in crate::gates) fn run_with<W: Evaluator>(
        &self,
        trees: &Trees<'_, W>,
        rows: Ref<'_, W::Queue, u64>,
    ) -> Result<Vec<u64>, PfssError> {
        let (evaluator, q, bundle) = (trees.evaluator(), trees.evaluator().queue(), trees.bundle());
        let words = evaluator.during(Activity::CopyIn, || stage_words(q, bundle, 0..bundle.count()))?;
        let sums = evaluator.during(Activity::Walk, || {
            let nothing = q.alloc(0)?; // a walk opens nothing
            let over =
                SumOperands { x: trees.x_hat(), opened: nothing.view(), words: words.view(), rows: q.shorten(rows) };
            self.combine(q, bundle, over)
        })?;
        evaluator.meanwhile()?;
        Ok(evaluator.during(Activity::CopyOut, || evaluator.results().read_secret(sums.view()))?)
    }

    /// The sums of the elements `range` of the bundle, with their public words `x`.
    #[expect(clippy::disallowed_methods, reason = "both parties know what was opened")]
    fn part<'q, Q: FssOps>(
        &self,
        q: &'q Q,
        bundle: &KeyBundle,
        x: &[u64],
        range: Range<usize>,
        opened: &OpenedValues,
    ) -> Result<StagedSecret<'q, Q, u64>, PfssError> {
        let (x, opened, words) = (q.upload(x)?, q.upload(opened.bits())?, stage_words(q, bundle, range)?);
        let rows = q.alloc(0)?;
        let over = SumOperands { x: x.view(), opened: opened.view(), words: words.view(), rows: rows.view() };
        self.combine(q, bundle, over)
    }

    /// Computes the sums over operands in device memory.
    fn combine<'q, 'a, Q: FssOps + 'a>(
        &self,
        q: &'q Q,
        bundle: &KeyBundle,
        over: SumOperands<'a, Q>,
    ) -> Result<StagedSecret<'q, Q, u64>, PfssError> {
        let SumOperands { x, opened, words, rows } = over;
        let count = x.len();
        if count == 0 {
            return Ok(StagedSecret::alloc(q, 0)?); // rows without elements do not say how many they are
        }
        // Row counts follow from the lengths of the operands.
        let params = WordParams {
            offset: self.offset,
            count: count as u32, // a bundle holds less than 2^32 elements
            party: bundle.party().number().into(),
            bits: self.bits.bits(),
            shift: self.shift,
            width: self.width.bits(),
            padded_rows: bundle.word_rows() as u32,
            rows: (rows.len() / count) as u32,
            opened_rows: (opened.len() / count.div_ceil(LANES as usize)) as u32,
            interleaved: self.interleaved.into(),
            reserved: 0,
        };
        // One launch forms all sums.
        let mut out = StagedSecret::alloc(q, self.count() * count)?;
        q.combine_words(CombineWords {
            params: &params,
            terms: &self.terms,
            x: q.shorten(x),
            padded: q.shorten(words),
            rows: q.shorten(rows),
            opened: q.shorten(opened),
            sums: out.view_mut(),
        })?;
        Ok(out)
    }

    /// Terms of all sums.
    pub(crate) fn terms(&self) -> u64 {
        self.terms.len() as u64
    }

    /// Number of sums.
    pub(crate) fn count(&self) -> usize {
        self.terms.iter().filter(|term| term.last == 1).count()
    }
}

/// What sums of some elements are over, in device memory.
struct SumOperands<'a, Q: FssOps + 'a> {
    /// The public words.
    x: Ref<'a, Q, u64>,
    opened: Ref<'a, Q, u32>,
    /// The words of the bundle.
    words: Ref<'a, Q, u64>,
    /// Rows after these.
    rows: Ref<'a, Q, u64>,
}

/// The words of the elements `range`, which starts at a multiple of 32, where ops read them.
fn stage_words<'a, Q: FssOps>(
    q: &'a Q,
    bundle: &'a KeyBundle,
    range: Range<usize>,
) -> Result<SecretInput<'a, Q, u64>, PfssError> {
    if range.len() == bundle.count() {
        return Ok(SecretInput::of(q, &bundle.keys.words)?);
    }
    let (padded, width) = (bundle.padded(), range.len().next_multiple_of(LANES as usize));
    let mut staged = StagedSecret::alloc(q, bundle.word_rows() * width)?;
    for (row, words) in bundle.keys.words.chunks_exact(padded).enumerate() {
        let place = staged.view_mut().slice(row * width..(row + 1) * width)?;
        q.write_secret(&words[range.start..][..width], place)?;
    }
    Ok(SecretInput::Staged(staged))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_elements_are_summed_at_once_as_take_8_mib() {
        assert_eq!([1, 3, 9].map(summed_at_once), [1 << 20, 349_504, 116_480]);
    }
}
