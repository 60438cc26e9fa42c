//! The public arithmetic at the end of a gate.
//!
//! It forms sums of the dealer's words on the queue.
//!
//! A sum adds terms `constant X^power s`, where `X = ((x + offset) mod 2^bits) >> shift` is public.
//! `s` is the share `[v]` of a word or, with an opened bit `w = b ^ c`, the share
//! `w [v] + (1 - 2w) [c v]` of `b v`.

use core::ops::Range;

use backend_api::{
    BackendError, BufferRef as _, Mut, Queue, Ref,
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
    secret::{
        kept::retrying,
        staging::{SecretInput, StagedSecret},
    },
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
        self.terms.extend(list_of(terms));
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
        let (count, mut out) = (x.len(), Vec::new());
        let all = Elements { range: 0..count, bundle, x, opened };
        self.in_parts(q, &all, |range, sums| {
            let mut part = Zeroizing::new(q.read_secret(sums)?);
            if range.len() == count {
                out = core::mem::take(&mut *part);
                return Ok(());
            }
            if range.start == 0 {
                out = vec![0; self.count() * count];
            }
            for (from, to) in self.places(&range, count) {
                out[to].copy_from_slice(&part[from]);
            }
            Ok(())
        })?;
        Ok(out)
    }

    /// [`run`](Self::run) with the sums left in device memory.
    ///
    /// They are in `room`, secret memory, if it has their length.
    pub(super) fn run_on_device<'q, Q: FssOps>(
        &self,
        q: &'q Q,
        bundle: &KeyBundle,
        x: &[u64],
        opened: &OpenedValues,
        room: Option<StagedSecret<'q, Q, u64>>,
    ) -> Result<StagedSecret<'q, Q, u64>, PfssError> {
        let (count, len) = (x.len(), self.count() * x.len());
        let room = room.filter(|room| room.view().len() == len);
        let mut out = room.map_or_else(|| StagedSecret::alloc(q, len), Ok)?;
        let all = Elements { range: 0..count, bundle, x, opened };
        if count <= self.at_once(q, &all) {
            self.part(q, &all, Some(&mut out), |_| Ok(()))?;
            return Ok(out);
        }
        self.in_parts(q, &all, |range, sums| {
            self.places(&range, count).try_for_each(|(from, to)| q.copy(sums.slice(from)?, out.slice_mut(to)?))
        })?;
        Ok(out)
    }

    /// Passes the sums of all elements to `take`, some consecutive elements at a time.
    fn in_parts<Q: FssOps>(
        &self,
        q: &Q,
        all: &Elements<'_>,
        mut take: impl FnMut(Range<usize>, Ref<'_, Q, u64>) -> Result<(), BackendError>,
    ) -> Result<(), PfssError> {
        let (count, at_once) = (all.range.len(), self.at_once(q, all));
        if count <= at_once {
            return self.part(q, all, None, |sums| take(0..count, sums));
        }
        for start in (0..count).step_by(at_once) {
            let range = start..count.min(start + at_once);
            let opened = &all.opened.part(range.clone());
            let part = Elements { range: range.clone(), bundle: all.bundle, x: &all.x[range.clone()], opened };
            self.part(q, &part, None, |sums| take(range, sums))?;
        }
        Ok(())
    }

    /// Number of elements whose sums are formed at once.
    fn at_once<Q: Queue>(&self, q: &Q, all: &Elements<'_>) -> usize {
        let (count, bundle) = (all.range.len(), all.bundle);
        // Operands that are read in place take no memory, and the sums of all elements then less than the trees did,
        // whose memory a batch has reserved.
        let results = 8 * self.count() as u64 * count as u64;
        let in_place = results <= bundle.device_bytes() && q.host_view(&bundle.keys.words).is_some();
        if in_place { count } else { summed_at_once(bundle.word_rows()) }
    }

    /// The places of the sums of the elements `range`, in their part and in the whole.
    fn places(&self, range: &Range<usize>, count: usize) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
        let (sums, len, start) = (self.count(), range.len(), range.start);
        // One run, if all sums of an element lie together or the elements are all.
        let (runs, len, step, start) = match self.interleaved || len == count {
            true => (1, sums * len, 0, sums * start),
            false => (sums, len, count, start),
        };
        (0..runs).map(move |run| (run * len..(run + 1) * len, run * step + start..run * step + start + len))
    }

    /// [`run`](Self::run) in a walk, over words of the bundle and rows on the device.
    ///
    /// The rows on the device come after the words.
    pub(in crate::gates) fn run_with<W: Evaluator>(
        &self,
        trees: &Trees<'_, W>,
        rows: Ref<'_, W::Queue, u64>,
    ) -> Result<Vec<u64>, PfssError> {
        let evaluator = trees.evaluator();
        let sums = self.sums_with(evaluator.queue(), trees, rows)?;
        evaluator.meanwhile()?;
        Ok(evaluator.during(Activity::CopyOut, || evaluator.results().read_secret(sums.view()))?)
    }

    /// [`run_with`](Self::run_with) with the sums left in device memory.
    pub(in crate::gates) fn sums_with<'q, W: Evaluator>(
        &self,
        q: &'q W::Queue,
        trees: &Trees<'_, W>,
        rows: Ref<'_, W::Queue, u64>,
    ) -> Result<StagedSecret<'q, W::Queue, u64>, PfssError> {
        let (evaluator, bundle) = (trees.evaluator(), trees.bundle());
        let words = match trees.bundle_words()? {
            Some(words) => SecretInput::<W::Queue, u64>::InPlace(words),
            None => evaluator.during(Activity::CopyIn, || bundle_words(q, bundle))?,
        };
        Ok(evaluator.during(Activity::Walk, || {
            let mut sums = StagedSecret::<_, u64>::alloc(q, self.count() * bundle.count())?;
            let x = trees.x_hat()?;
            let opened = q.words::<u64>(x).slice(0..0)?; // a walk opens nothing
            // A device may copy the terms.
            retrying(q, || {
                let placed = trees.placed(self.list())?;
                let over = SumOperands { placed, x, opened, words: words.view(), rows: q.shorten(rows) };
                self.combine(q, bundle, over, sums.view_mut())
            })?;
            Ok::<_, BackendError>(sums)
        })?)
    }

    /// Writes the sums of some elements to `out`, or passes them to `take`.
    ///
    /// The operands are read in place, or go to the device in one copy with the terms. Without
    /// `out`, the buffer of the copy has room for the sums.
    fn part<Q: FssOps>(
        &self,
        q: &Q,
        &Elements { ref range, bundle, x, opened }: &Elements<'_>,
        mut out: Option<&mut StagedSecret<'_, Q, u64>>,
        take: impl FnOnce(Ref<'_, Q, u64>) -> Result<(), BackendError>,
    ) -> Result<(), PfssError> {
        let (whole, padded, results) = (range.len() == bundle.count(), bundle.padded(), self.count() * range.len());
        if whole
            && let Some(x) = q.host_view(x)
            && let Some(opened) = q.host_view(opened.bits())
            && let Some(words) = q.host_view(&bundle.keys.words)
        {
            let over = SumOperands { placed: None, x, opened, words, rows: x.slice(0..0)? };
            if let Some(out) = out {
                return Ok(self.combine(q, bundle, over, out.view_mut())?);
            }
            let mut sums = StagedSecret::<_, u64>::alloc(q, results)?;
            self.combine(q, bundle, over, sums.view_mut())?;
            return Ok(take(sums.view())?);
        }
        // Each row of the bundle's words, cut to whole words of bits. A device expands many of them from their seed.
        let width = range.len().next_multiple_of(LANES as usize);
        let held = bundle.word_rows() * width;
        let expanded = match bundle.seeded_rows(q, size_of::<u64>() * held) {
            Some(rows) => {
                let mut expanded = StagedSecret::<_, u64>::alloc(q, held)?;
                rows.words(q, 0..bundle.word_rows(), range.start..range.start + width, expanded.view_mut())?;
                Some(expanded)
            }
            None => None,
        };
        let words: Vec<&[u64]> = if expanded.is_some() {
            Vec::new()
        } else if whole {
            vec![&bundle.keys.words[..]]
        } else {
            bundle.keys.words.chunks_exact(padded).map(|row| &row[range.start..][..width]).collect()
        };
        // The list of terms and public operands come before the words and the sums, which are wiped.
        let (list, pairs) = (self.list(), in_pairs(opened.bits()));
        let after_x = list.len() + x.len();
        let after_opened = after_x + pairs.len();
        let operands = after_opened + if expanded.is_some() { 0 } else { held };
        let (public, room) = ([x, &pairs[..]], if out.is_some() { 0 } else { results });
        let mut staged = StagedSecret::upload_with_lists(q, &[list], [&public[..], &words[..]], room)?;
        // A device may copy the terms again.
        retrying(q, || {
            let (read, room) = staged.split_at(operands)?;
            let sums = match &mut out {
                Some(out) => out.view_mut(),
                None => room,
            };
            let over = SumOperands {
                placed: Some(q.words::<u64>(read.slice(0..list.len())?)),
                x: read.slice(list.len()..after_x)?,
                opened: q.words::<u64>(read.slice(after_x..after_opened)?).slice(0..opened.bits().len())?,
                words: match &expanded {
                    Some(words) => words.view(),
                    None => read.slice(after_opened..operands)?,
                },
                rows: read.slice(0..0)?,
            };
            self.combine(q, bundle, over, sums)
        })?;
        match out {
            Some(_) => Ok(()),
            None => Ok(take(staged.slice(operands..operands + results)?)?),
        }
    }

    /// Writes the sums over operands that ops can read.
    pub(in crate::gates) fn combine<'a, Q: FssOps + 'a>(
        &self,
        q: &Q,
        bundle: &KeyBundle,
        over: SumOperands<'a, Q>,
        sums: Mut<'_, Q, u64>,
    ) -> Result<(), BackendError> {
        let SumOperands { placed, x, opened, words, rows } = over;
        let count = x.len();
        if count == 0 {
            return Ok(()); // rows without elements do not say how many they are
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
        q.combine_words(CombineWords {
            params: &params,
            terms: &self.terms,
            placed: placed.map(|list| q.shorten::<u32>(list)),
            x: q.shorten(x),
            padded: q.shorten(words),
            rows: q.shorten(rows),
            opened: q.shorten(opened),
            sums: q.shorten_mut(sums),
        })
    }

    /// The terms as words.
    pub(in crate::gates) fn list(&self) -> &[u64] {
        bytemuck::cast_slice(&self.terms)
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

/// All words of `bundle` where `q` reads them. A device expands many of them from their seed.
fn bundle_words<'a, Q: FssOps>(q: &'a Q, bundle: &'a KeyBundle) -> Result<SecretInput<'a, Q, u64>, BackendError> {
    let words = &bundle.keys.words;
    let Some(rows) = bundle.seeded_rows(q, size_of_val(&words[..])) else { return SecretInput::of(q, words) };
    let mut expanded = StagedSecret::<_, u64>::alloc(q, words.len())?;
    rows.words(q, 0..bundle.word_rows(), 0..bundle.padded(), expanded.view_mut())?;
    Ok(SecretInput::Staged(expanded))
}

/// Some elements of a bundle.
struct Elements<'a> {
    /// Their places in the bundle, from a multiple of 32 on.
    range: Range<usize>,
    bundle: &'a KeyBundle,
    /// Their public words.
    x: &'a [u64],
    opened: &'a OpenedValues,
}

/// The list of one sum. Without terms, the sum is 0.
fn list_of(terms: impl IntoIterator<Item = WordTerm>) -> Vec<WordTerm> {
    let mut list: Vec<WordTerm> = terms.into_iter().collect();
    if list.is_empty() {
        list.push(WordTerm::NONE);
    }
    if let Some(last) = list.last_mut() {
        last.last = 1;
    }
    list
}

/// What sums of some elements are over, where ops read it.
pub(in crate::gates) struct SumOperands<'a, Q: FssOps + 'a> {
    /// The list of terms, if it was copied with them.
    pub(in crate::gates) placed: Option<Ref<'a, Q, u32>>,
    /// The public words.
    pub(in crate::gates) x: Ref<'a, Q, u64>,
    pub(in crate::gates) opened: Ref<'a, Q, u32>,
    /// The words of the bundle.
    pub(in crate::gates) words: Ref<'a, Q, u64>,
    /// Rows after these.
    pub(in crate::gates) rows: Ref<'a, Q, u64>,
}

/// Words of 32 bits as words of 64 bits with the same bytes, up to zeros at the end.
fn in_pairs(words: &[u32]) -> Vec<u64> {
    let mut pairs = vec![0u64; words.len().div_ceil(2)];
    bytemuck::cast_slice_mut::<u64, u32>(&mut pairs)[..words.len()].copy_from_slice(words);
    pairs
}

#[cfg(test)]
mod tests {
    use runtime::AnyQueue;

    use super::*;
    use crate::{Dealer, secret::kept::tests::expect_eviction};

    #[test]
    fn terms_that_an_op_copies_replace_unused_copies() {
        let (gate, ring) = (Gate::relu(64).unwrap(), Ring::new(64).unwrap());
        let [bundle, _] = Dealer::insecure_from_seed(3).deal(&runtime::cpu().unwrap(), &gate, 96).unwrap();
        let x_hat: Vec<u64> = (7..103).collect();
        let sums = BundleSums::new(ring, ring).sum([WordTerm::ONE.power(1), WordTerm::word(0)]);
        expect_eviction(|q: &AnyQueue| {
            // The list of the sums is not copied before.
            let trees = Trees::at(q, &bundle, &x_hat, [], [], true)?;
            sums.run_with(&trees, trees.x_hat()?.slice(0..0)?)
        });
    }

    #[test]
    fn sums_of_parts_have_their_places_among_all() {
        let ring = Ring::new(64).unwrap();
        let two = BundleSums::new(ring, ring).sum([WordTerm::ONE]).sum([WordTerm::ONE]);
        let places = |sums: &BundleSums, range, count| sums.places(&range, count).collect::<Vec<_>>();
        assert_eq!(places(&two, 0..7, 7), [(0..14, 0..14)]);
        assert_eq!(places(&two, 32..35, 35), [(0..3, 32..35), (3..6, 67..70)]);
        let interleaved = two.interleaved();
        assert_eq!(places(&interleaved, 0..7, 7), [(0..14, 0..14)]);
        assert_eq!(places(&interleaved, 32..35, 35), [(0..6, 64..70)]);
    }

    #[test]
    fn pairs_are_read_as_the_words_they_are_made_of() {
        for len in 0..4 {
            let words: Vec<u32> = (1..=len).collect();
            let pairs = in_pairs(&words);
            assert_eq!(pairs.len(), words.len().div_ceil(2));
            let (got, zeros) = backend_api::as_words(&pairs).split_at(words.len());
            assert!(got == words && zeros.iter().all(|&zero| zero == 0), "{len}");
        }
    }

    #[test]
    fn as_many_elements_are_summed_at_once_as_take_8_mib() {
        assert_eq!([1, 3, 9].map(summed_at_once), [1 << 20, 349_504, 116_480]);
    }
}
