//! The parts of a proof that the host reads back.
//!
//! Answers of one type are contiguous. The final read-back covers all of them as words, so the host
//! waits once.

use core::ops::Range;

use backend_api::{BackendError, Buffer as _, BufferRef as _, Element, Queue, Ref, from_words, words_of};
use core_types::{
    blake2s::Digest,
    field::{M31, QM31},
    params::channel::ChannelState,
};

use crate::{plan::layer::LayerForm, plan::shape::StatementShape};

/// The location of each answer within the buffer of its type.
pub(crate) struct AnswerPlaces {
    /// The values of every column of a tree at the queries, for trees with all levels stored.
    ///
    /// They are stored block by block; each query lies in one block.
    pub(crate) opened: Vec<Range<usize>>,
    /// The values of every column around the queries, for truncated trees.
    ///
    /// They are stored in groups of four columns, block by block.
    pub(crate) opened_groups: Vec<Range<usize>>,
    /// The samples, in the order of the proof.
    pub(crate) sampled: Range<usize>,
    /// The claimed sum of each component; nothing without look-ups.
    pub(crate) claimed_sums: Range<usize>,
    /// The parameter of the out-of-domain point.
    pub(crate) parameter: Range<usize>,
    /// The challenge that combines the constraints.
    pub(crate) composition_challenge: Range<usize>,
    /// The challenges that each component reads, and the mean of its claimed sum.
    pub(crate) inputs: Vec<Range<usize>>,
    /// For each query the values of a layer that fold with it or open it.
    pub(crate) groups: Vec<Range<usize>>,
    pub(crate) last_coefficients: Range<usize>,
    /// The authentication-path digests of the queries, in each tree and each layer.
    ///
    /// The digests of a tree are stored part by part; each query lies in one part.
    pub(crate) tree_paths: Vec<Range<usize>>,
    pub(crate) layer_paths: Vec<Range<usize>>,
    /// The nodes above the parts of each tree; nothing without other ranks.
    pub(crate) tree_tops: Vec<Range<usize>>,
    /// The root of each tree, and of each layer.
    pub(crate) tree_roots: Vec<Range<usize>>,
    pub(crate) layer_roots: Vec<Range<usize>>,
    pub(crate) positions: Range<usize>,
    pub(crate) nonce: Range<usize>,
    pub(crate) excess: Range<usize>,
    /// The state of the transcript that each rank has in the end; nothing without other ranks.
    pub(crate) states: Range<usize>,
    /// Where, among the words, everything else begins as words.
    packed: usize,
}

/// The answers on the device.
pub(crate) struct Answers<Q: Queue> {
    pub(crate) elements: Q::Buf<M31>,
    pub(crate) secure: Q::Buf<QM31>,
    pub(crate) digests: Q::Buf<Digest>,
    /// Words, and behind them all others and the challenges of relations.
    pub(crate) words: Q::Buf<u32>,
    pub(crate) places: AnswerPlaces,
}

/// The answers on the host.
pub(crate) struct Read {
    pub(crate) elements: Vec<M31>,
    pub(crate) secure: Vec<QM31>,
    pub(crate) digests: Vec<Digest>,
    pub(crate) words: Vec<u32>,
    /// The challenges of relations, by slot.
    pub(crate) challenges: Vec<QM31>,
}

/// Gives out places one after the other.
struct RangeAllocator(usize);

impl RangeAllocator {
    fn place(&mut self, len: usize) -> Range<usize> {
        let start = self.0;
        self.0 += len;
        start..self.0
    }
}

impl<Q: Queue> Answers<Q> {
    /// Allocates the answers of a proof with the given counts.
    ///
    /// The inputs of components are zeros.
    pub(crate) fn new(
        q: &Q,
        shape: &StatementShape,
        [samples, coefficients]: [usize; 2],
        claimed_sums: usize,
    ) -> Result<Self, BackendError> {
        let (trees, layers, queries) = (&shape.trees, LayerForm::all(shape), shape.queries);
        let [mut elements, mut secure, mut digests, mut words] = [const { RangeAllocator(0) }; 4];
        let inputs = shape.components.iter();
        let states = if shape.place.is_alone() { 0 } else { shape.place.ranks() * words_of::<ChannelState>() };
        let places = AnswerPlaces {
            opened: trees
                .iter()
                .map(|tree| {
                    let columns = if tree.truncated == 0 { tree.columns.len() } else { 0 };
                    elements.place(shape.blocks() * columns * queries)
                })
                .collect(),
            opened_groups: trees
                .iter()
                .map(|tree| secure.place(shape.blocks() * shape.grouped_values(tree) * queries))
                .collect(),
            sampled: secure.place(samples),
            claimed_sums: secure.place(claimed_sums),
            parameter: secure.place(1),
            composition_challenge: secure.place(1),
            inputs: inputs.map(|_| secure.place(shape.challenges + 1)).collect(),
            groups: layers.iter().map(|layer| secure.place(queries << layer.log_gathered())).collect(),
            last_coefficients: secure.place(coefficients),
            tree_paths: trees
                .iter()
                .map(|tree| digests.place((shape.log_kept(tree) as usize * queries) << shape.log_parts(tree)))
                .collect(),
            tree_tops: trees
                .iter()
                .map(|tree| digests.place(if shape.place.is_alone() { 0 } else { (2 << shape.log_parts(tree)) - 1 }))
                .collect(),
            layer_paths: layers.iter().map(|layer| digests.place(queries * layer.kept_levels())).collect(),
            tree_roots: trees.iter().map(|_| digests.place(1)).collect(),
            layer_roots: layers.iter().map(|_| digests.place(1)).collect(),
            positions: words.place(queries),
            nonce: words.place(2),
            excess: words.place(1),
            states: words.place(states),
            packed: words.0,
        };
        let packed = elements.0 + words_of::<QM31>() * (secure.0 + shape.challenges) + words_of::<Digest>() * digests.0;
        Ok(Self {
            elements: q.alloc(elements.0)?,
            secure: q.zeros(secure.0)?,
            digests: q.alloc(digests.0)?,
            words: q.alloc(words.0 + packed)?,
            places,
        })
    }

    /// Reserves room for `challenges` more relation challenges.
    ///
    /// The words are unspecified afterwards.
    pub(crate) fn extend(&mut self, q: &Q, challenges: usize) -> Result<(), BackendError> {
        self.words = q.alloc(self.words.len() + words_of::<QM31>() * challenges)?;
        Ok(())
    }

    /// Copies everything behind the words: when all else was made.
    pub(crate) fn pack(&mut self, q: &Q, challenges: Ref<'_, Q, QM31>) -> Result<(), BackendError> {
        let parts = [
            q.words(self.elements.view()),
            q.words(self.secure.view()),
            q.words(self.digests.view()),
            q.words(q.shorten(challenges)),
        ];
        let mut start = self.places.packed;
        for part in parts {
            let end = start + part.len();
            q.copy(part, self.words.slice_mut(start..end)?)?;
            start = end;
        }
        Ok(())
    }

    /// Waits for them.
    pub(crate) fn read(&self, q: &Q) -> Result<Read, BackendError> {
        let words = q.download(&self.words)?;
        let (own, rest) = words.split_at(self.places.packed);
        let (elements, rest) = take(rest, self.elements.len())?;
        let (secure, rest) = take(rest, self.secure.len())?;
        let (digests, rest) = take(rest, self.digests.len())?;
        Ok(Read { elements, secure, digests, words: own.to_vec(), challenges: from_words(rest)? })
    }
}

/// Splits off the first `elements` elements; returns them and the words after them.
fn take<T: Element>(words: &[u32], elements: usize) -> Result<(Vec<T>, &[u32]), BackendError> {
    let (words, rest) = words.split_at(elements * words_of::<T>());
    Ok((from_words(words)?, rest))
}

/// The root among the nodes of a tree: the last.
pub(crate) const fn root(nodes: usize) -> Range<usize> {
    nodes - 1..nodes
}

/// Where the nodes of a level are in a tree of `2^log_leaves` leaves.
pub(crate) const fn level(log_leaves: u32, level: u32) -> Range<usize> {
    let end = (2 << log_leaves) - (1 << (log_leaves - level));
    end - (1 << (log_leaves - level))..end
}
