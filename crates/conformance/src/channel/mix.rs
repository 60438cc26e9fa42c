//! Absorbs digests, elements and words, then draws challenges.

use backend_api::{
    BackendError, Buffer as _, Element, Mut, Queue, Ref,
    ops::channel::{ChannelMixDigests, ChannelMixFelts, ChannelMixWords, ChannelOps},
};
use core_types::{
    blake2s::Digest,
    field::{M31, QM31},
    params::channel::ChannelState,
};

use super::model::{TranscriptModel, random_words};
use crate::{Case, Conditioned, Failure, OpSpec, list::ListIterator as _, spec::BATCHES};

/// Counts around the words of a block, and large ones.
///
/// The first block has room for eight. They complement `BATCHES`.
const COUNTS: [usize; 14] = [2, 3, 4, 6, 7, 8, 9, 23, 24, 25, 40, 41, 70, 1000];

/// Numbers of challenges: none, halves of draws and whole ones.
const DRAWS: [usize; 6] = [0, 1, 2, 3, 4, 7];

/// The absorbed elements, the transcript and the challenges.
type Views<'a, S> = (Ref<'a, Conditioned, S>, Mut<'a, Conditioned, ChannelState>, Mut<'a, Conditioned, QM31>);

/// An element type that a transcript absorbs.
trait Absorbed: Element {
    /// Words of one element.
    const WORDS: usize;
    /// Builds an element from these words.
    fn from_words(words: &[u32]) -> Self;
    /// The words absorbed for one element.
    fn words(self) -> Vec<u32>;
    /// Runs the op that absorbs elements of this type.
    fn mix(q: &Conditioned, views: Views<'_, Self>) -> Result<(), BackendError>;
}

impl Absorbed for Digest {
    const WORDS: usize = 8;

    fn from_words(words: &[u32]) -> Self {
        Self(core::array::from_fn(|i| words[i]))
    }

    fn words(self) -> Vec<u32> {
        self.0.to_vec()
    }

    fn mix(q: &Conditioned, (absorbed, channel, challenges): Views<'_, Self>) -> Result<(), BackendError> {
        q.channel_mix_digests(ChannelMixDigests { absorbed, channel, challenges })
    }
}

impl Absorbed for QM31 {
    const WORDS: usize = 4;

    fn from_words(words: &[u32]) -> Self {
        Self::from_coordinates(core::array::from_fn(|i| M31::from_u32(words[i])))
    }

    fn words(self) -> Vec<u32> {
        self.coordinates().map(M31::word).to_vec()
    }

    fn mix(q: &Conditioned, (absorbed, channel, challenges): Views<'_, Self>) -> Result<(), BackendError> {
        q.channel_mix_felts(ChannelMixFelts { absorbed, channel, challenges })
    }
}

impl Absorbed for u32 {
    const WORDS: usize = 1;

    fn from_words(words: &[u32]) -> Self {
        words[0]
    }

    fn words(self) -> Vec<u32> {
        vec![self]
    }

    fn mix(q: &Conditioned, (absorbed, channel, challenges): Views<'_, Self>) -> Result<(), BackendError> {
        q.channel_mix_words(ChannelMixWords { absorbed, channel, challenges })
    }
}

/// Absorbs messages of these lengths on one transcript, drawing challenges after each.
fn expect_absorbed<S: Absorbed>(q: &Conditioned, seed: u32, messages: &[(usize, usize)]) -> Result<(), Failure> {
    let mut model = TranscriptModel::used(seed);
    let mut channel = q.upload(&[model.state()])?;
    let (mut expected, mut got) = (Vec::new(), Vec::new());
    for (salt, &(count, draws)) in (seed..).zip(messages) {
        let absorbed: Vec<S> = random_words(count * S::WORDS, salt).chunks_exact(S::WORDS).map(S::from_words).list();
        model.mix(&absorbed.iter().flat_map(|one| one.words()).list());
        expected.push((model.draw(draws), model.state()));
        let (absorbed, mut challenges) = (q.upload(&absorbed)?, q.zeros(draws)?);
        S::mix(q, (absorbed.view(), channel.view_mut(), challenges.view_mut()))?;
        got.push((q.download(&challenges)?, q.download(&channel)?[0]));
    }
    Failure::unless_equal(&expected, &got)
}

fn cases<S: Absorbed>() -> Vec<Case> {
    let mut counts: Vec<usize> = BATCHES.iter().map(|&count| count as usize).chain(COUNTS).list();
    counts.sort_unstable();
    let each = (0u32..).zip(counts).map(|(seed, count)| {
        let draws = DRAWS[seed as usize % DRAWS.len()];
        let name = format!("{count} absorbed, {draws} challenges");
        Case::new(name, move |q| expect_absorbed::<S>(q, seed, &[(count, draws)])).on_elements(count as u64)
    });
    let mut cases: Vec<_> = each.list();
    cases.push(Case::new("one after the other", |q| {
        expect_absorbed::<S>(q, 40, &[(3, 0), (0, 0), (0, 2), (1, 1), (1, 1), (9, 7), (2, 3), (70, 1)])
    }));
    for draws in DRAWS {
        cases.push(Case::new(format!("{draws} challenges"), move |q| expect_absorbed::<S>(q, 50, &[(1, draws)])));
    }
    cases
}

pub(super) fn digests() -> OpSpec {
    OpSpec { op: "channel.mix_digests", cases: cases::<Digest>() }
}

pub(super) fn felts() -> OpSpec {
    OpSpec { op: "channel.mix_felts", cases: cases::<QM31>() }
}

pub(super) fn words() -> OpSpec {
    OpSpec { op: "channel.mix_words", cases: cases::<u32>() }
}
