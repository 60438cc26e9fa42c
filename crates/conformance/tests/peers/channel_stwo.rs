//! Transcripts against the Blake2s channel of the published crate `stwo` 2.3, step by step.

use backend_api::ops::channel::{
    ChannelDraw, ChannelGrind, ChannelMixDigests, ChannelMixFelts, ChannelMixWords, ChannelOps, ChannelQueries,
};
use core_types::{
    blake2s::Digest,
    field::{M31, QM31},
    params::channel::{ChannelGrindParams, ChannelQueriesParams, ChannelState},
};
use cpu_backend::CpuQueue;
use stwo::core::{
    channel::{Blake2sChannel, Channel, MerkleChannel},
    fields::qm31::SecureField,
    queries::draw_queries,
    vcs::blake2_hash::Blake2sHash,
    vcs_lifted::blake2_merkle::Blake2sMerkleChannel,
};

/// A transcript of each side; after every step they must agree.
struct Both {
    q: CpuQueue,
    ours: [ChannelState; 1],
    theirs: Blake2sChannel,
    /// The state of a stream of words (PCG).
    words: u64,
}

fn theirs(felt: QM31) -> SecureField {
    let [a, b, c, d] = felt.coordinates().map(M31::word);
    SecureField::from_u32_unchecked(a, b, c, d)
}

fn bytes(digest: Digest) -> [u8; 32] {
    core::array::from_fn(|i| digest.0[i / 4].to_le_bytes()[i % 4])
}

impl Both {
    fn word(&mut self) -> u32 {
        self.words = self.words.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.words >> 32) as u32
    }

    fn some_words(&mut self, count: usize) -> Vec<u32> {
        (0..count).map(|_| self.word()).collect()
    }

    fn mix_words(&mut self, count: usize, draws: usize) {
        let absorbed = self.some_words(count);
        let mut challenges = vec![QM31::ZERO; draws];
        self.q
            .channel_mix_words(ChannelMixWords {
                absorbed: &absorbed,
                channel: &mut self.ours,
                challenges: &mut challenges,
            })
            .expect("the op holds");
        self.theirs.mix_u32s(&absorbed);
        self.agree_on(&challenges);
    }

    fn mix_felts(&mut self, count: usize, draws: usize) {
        let absorbed: Vec<QM31> =
            (0..count).map(|_| QM31::from_coordinates([0; 4].map(|_| M31::from_u32(self.word())))).collect();
        let mut challenges = vec![QM31::ZERO; draws];
        self.q
            .channel_mix_felts(ChannelMixFelts {
                absorbed: &absorbed,
                channel: &mut self.ours,
                challenges: &mut challenges,
            })
            .expect("the op holds");
        self.theirs.mix_felts(&absorbed.into_iter().map(theirs).collect::<Vec<_>>());
        self.agree_on(&challenges);
    }

    fn mix_root(&mut self, draws: usize) {
        let root = Digest([0; 8].map(|_| self.word()));
        let mut challenges = vec![QM31::ZERO; draws];
        self.q
            .channel_mix_digests(ChannelMixDigests {
                absorbed: &[root],
                channel: &mut self.ours,
                challenges: &mut challenges,
            })
            .expect("the op holds");
        Blake2sMerkleChannel::mix_root(&mut self.theirs, Blake2sHash(bytes(root)));
        self.agree_on(&challenges);
    }

    fn draw(&mut self, count: usize) {
        let mut challenges = vec![QM31::ZERO; count];
        self.q
            .channel_draw(ChannelDraw { channel: &mut self.ours, challenges: &mut challenges })
            .expect("the op holds");
        self.agree_on(&challenges);
    }

    fn queries(&mut self, log_size: u32, queries: u32) {
        let params = ChannelQueriesParams { log_size, queries };
        let mut positions = vec![0; queries as usize];
        self.q
            .channel_queries(ChannelQueries { params: &params, channel: &mut self.ours, positions: &mut positions })
            .expect("the op holds");
        let expected = draw_queries(&mut self.theirs, log_size, queries as usize);
        assert_eq!(positions.into_iter().map(|position| position as usize).collect::<Vec<_>>(), expected);
    }

    /// Finds the first nonce that stwo accepts, and absorbs it.
    fn grind(&mut self, bits: u32) {
        let mut nonce = [0; 2];
        let params = ChannelGrindParams { bits };
        self.q
            .channel_grind(ChannelGrind { params: &params, channel: &self.ours, nonce: &mut nonce })
            .expect("the op holds");
        let first = (0..1 << 20).find(|&nonce| self.theirs.verify_pow_nonce(bits, nonce));
        let number = u64::from(nonce[0]) | u64::from(nonce[1]) << 32;
        assert_eq!(Some(number), first);
        self.q
            .channel_mix_words(ChannelMixWords { absorbed: &nonce, channel: &mut self.ours, challenges: &mut [] })
            .expect("the op holds");
        self.theirs.mix_u64(number);
        self.agree_on(&[]);
    }

    /// Checks `challenges` and the digest against stwo.
    fn agree_on(&mut self, challenges: &[QM31]) {
        let expected = self.theirs.draw_secure_felts(challenges.len());
        assert_eq!(challenges.iter().copied().map(theirs).collect::<Vec<_>>(), expected);
        assert_eq!(bytes(self.ours[0].digest), self.theirs.digest().0);
    }
}

#[test]
fn transcripts_agree_after_every_step() {
    let q = runtime::cpu().expect("threads start");
    let mut both =
        Both { q, ours: [ChannelState::default()], theirs: Blake2sChannel::default(), words: 0x9e37_79b9_7f4a_7c15 };
    for count in (0..=70).chain([1000]) {
        both.mix_words(count, count % 4);
        both.mix_felts(count, (count + 1) % 4);
        both.mix_root(count % 8);
        both.draw(count % 5);
    }
    for log_size in 1..=30 {
        for queries in [1, 2, 8, 9, 3 * log_size, 100] {
            both.queries(log_size, queries);
            both.draw(1);
        }
    }
    for _ in 0..300 {
        let (kind, count, draws) = (both.word() % 6, both.word() as usize % 70, both.word() as usize % 8);
        match kind {
            0 => both.mix_words(count, draws),
            1 => both.mix_felts(count, draws),
            2 => both.mix_root(draws),
            3 => both.draw(draws),
            4 => both.queries(1 + count as u32 % 30, 1 + draws as u32),
            _ => both.grind(count as u32 % 11),
        }
    }
}
