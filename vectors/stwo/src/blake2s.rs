//! The AIRs of Blake2s, written again for stwo's constraint framework.
//!
//! Needs no prover: the tests of the verifier include this file too.

use stwo::core::{channel::Channel, fields::m31::BaseField};
use stwo_constraint_framework::{EvalAtRow, RelationEntry, relation};

use super::airs::preprocessed;

relation!(Xors, 4);
relation!(States, 33);
relation!(Messages, 33);
relation!(Links, 17);

/// The initialisation vector.
pub const IV: [u32; 8] =
    [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];

/// The words of a message in the order of each round.
pub const ORDERS: [[usize; 16]; 10] = [
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
    [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
    [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
    [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
    [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
    [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
    [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
    [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
];

/// The words that the mixes of a round take.
pub const MIXES: [[usize; 4]; 8] = [
    [0, 4, 8, 12],
    [1, 5, 9, 13],
    [2, 6, 10, 14],
    [3, 7, 11, 15],
    [0, 5, 10, 15],
    [1, 6, 11, 12],
    [2, 7, 8, 13],
    [3, 4, 9, 14],
];

/// Bits of the tables' numbers by row and by column.
pub const TABLES: [(u32, u32); 4] = [(5, 3), (5, 2), (5, 0), (4, 0)];

/// Names of the preprocessed columns, the tables' by bits of a row.
pub const PLACES: [&str; 4] = ["index", "bytes-low", "bytes-high", "last"];
pub const fn pairs(low: u32) -> [&'static str; 3] {
    if low == 5 { ["five-a", "five-b", "five-xor"] } else { ["four-a", "four-b", "four-xor"] }
}

/// Where the halves of a word are cut before it is turned.
pub const fn cuts(turn: u32) -> &'static [u32] {
    match turn {
        7 => &[0, 7, 12, 16],
        12 => &[0, 8, 12, 16],
        _ => &[0, 8, 16],
    }
}

/// The challenges of all relations.
#[derive(Clone)]
pub struct Blake2sElements {
    pub xors: Xors,
    pub states: States,
    pub messages: Messages,
    pub links: Links,
}

impl Blake2sElements {
    pub fn draw(channel: &mut impl Channel) -> Self {
        Self {
            xors: Xors::draw(channel),
            states: States::draw(channel),
            messages: Messages::draw(channel),
            links: Links::draw(channel),
        }
    }
}

fn constant<E: EvalAtRow>(word: u32) -> E::F {
    E::F::from(BaseField::from(word))
}

fn power(log: u32) -> BaseField {
    BaseField::from(1 << log)
}

/// Lower and upper halves.
type Word<F> = [F; 2];

/// The look-ups of a row in tables, collected until its constraints are stated.
struct RowLookups<'e, E: EvalAtRow> {
    eval: &'e mut E,
    xors: Vec<[E::F; 4]>,
}

impl<'e, E: EvalAtRow> RowLookups<'e, E> {
    const fn new(eval: &'e mut E) -> Self {
        Self { eval, xors: Vec::new() }
    }

    fn word(&mut self) -> Word<E::F> {
        [self.eval.next_trace_mask(), self.eval.next_trace_mask()]
    }

    fn words<const N: usize>(&mut self) -> [Word<E::F>; N] {
        [(); N].map(|()| self.word())
    }

    /// The sum of two words.
    fn add2(&mut self, p: &Word<E::F>, q: &Word<E::F>) -> Word<E::F> {
        let low = self.eval.next_trace_mask();
        let carry = (p[0].clone() + q[0].clone() - low.clone()) * power(15);
        self.eval.add_constraint(carry.clone() * (carry.clone() - constant::<E>(1)));
        let high = self.eval.next_trace_mask();
        let carry = (p[1].clone() + q[1].clone() + carry - high.clone()) * power(15);
        self.eval.add_constraint(carry.clone() * (carry - constant::<E>(1)));
        [low, high]
    }

    /// The sum of three words.
    fn add3(&mut self, p: &Word<E::F>, q: &Word<E::F>, r: &Word<E::F>) -> Word<E::F> {
        let up_to_two = |carry: E::F| carry.clone() * (carry.clone() - constant::<E>(1)) * (carry - constant::<E>(2));
        let low = self.eval.next_trace_mask();
        let carry = (p[0].clone() + q[0].clone() + r[0].clone() - low.clone()) * power(15);
        self.eval.add_constraint(up_to_two(carry.clone()));
        let high = self.eval.next_trace_mask();
        let carry = (p[1].clone() + q[1].clone() + r[1].clone() + carry - high.clone()) * power(15);
        self.eval.add_constraint(up_to_two(carry));
        [low, high]
    }

    /// The parts of a half between cuts; all but the lowest are columns.
    fn parts(&mut self, half: &E::F, cuts: &[u32]) -> Vec<E::F> {
        let upper: Vec<_> = cuts[1..cuts.len() - 1].iter().map(|&at| (at, self.eval.next_trace_mask())).collect();
        let lowest = upper.iter().fold(half.clone(), |rest, (at, part)| rest - part.clone() * power(*at));
        std::iter::once(lowest).chain(upper.into_iter().map(|(_, part)| part)).collect()
    }

    /// The exclusive or of parts, looked up.
    fn xor(&mut self, cuts: &[u32], p: &[E::F], q: &[E::F]) -> Vec<E::F> {
        let mut results = Vec::new();
        for (k, (p, q)) in p.iter().zip(q).enumerate() {
            let result = self.eval.next_trace_mask();
            self.xors.push([constant::<E>(cuts[k + 1] - cuts[k]), p.clone(), q.clone(), result.clone()]);
            results.push(result);
        }
        results
    }

    /// The exclusive or of two words, turned right.
    fn turned(&mut self, p: &Word<E::F>, q: &Word<E::F>, turn: u32) -> Word<E::F> {
        let cuts = cuts(turn);
        let [p_low, p_high, q_low, q_high] = [&p[0], &p[1], &q[0], &q[1]].map(|half| self.parts(half, cuts));
        let low = self.xor(cuts, &p_low, &q_low);
        let high = self.xor(cuts, &p_high, &q_high);
        let half = |same: &[E::F], other: &[E::F]| match turn {
            16 => other[0].clone() + other[1].clone() * power(8),
            12 => same[2].clone() + other[0].clone() * power(4) + other[1].clone() * power(12),
            8 => same[1].clone() + other[0].clone() * power(8),
            7 => same[1].clone() + same[2].clone() * power(5) + other[0].clone() * power(9),
            _ => panic!("words are not turned by {turn} bits"),
        };
        [half(&low, &high), half(&high, &low)]
    }

    fn mix(&mut self, state: &mut [Word<E::F>; 16], [a, b, c, d]: [usize; 4], x: &Word<E::F>, y: &Word<E::F>) {
        state[a] = self.add3(&state[a].clone(), &state[b].clone(), x);
        state[d] = self.turned(&state[d].clone(), &state[a].clone(), 16);
        state[c] = self.add2(&state[c].clone(), &state[d].clone());
        state[b] = self.turned(&state[b].clone(), &state[c].clone(), 12);
        state[a] = self.add3(&state[a].clone(), &state[b].clone(), y);
        state[d] = self.turned(&state[d].clone(), &state[a].clone(), 8);
        state[c] = self.add2(&state[c].clone(), &state[d].clone());
        state[b] = self.turned(&state[b].clone(), &state[c].clone(), 7);
    }

    /// Looks the collected exclusive ors up.
    fn look_up(self, xors: &Xors) {
        for values in self.xors {
            let times = E::EF::from(constant::<E>(1));
            self.eval.add_to_relation(RelationEntry::new(xors, times, &values));
        }
    }
}

fn flat<F: Clone>(first: F, words: &[Word<F>]) -> Vec<F> {
    std::iter::once(first).chain(words.iter().flatten().cloned()).collect()
}

/// Rounds of any compressions.
pub fn rounds<E: EvalAtRow>(eval: &mut E, elements: &Blake2sElements) {
    let key = eval.next_trace_mask();
    let mut lookups = RowLookups::new(eval);
    let before = lookups.words::<16>();
    let message = lookups.words::<16>();
    let mut state = before.clone();
    for (k, words) in MIXES.into_iter().enumerate() {
        lookups.mix(&mut state, words, &message[2 * k], &message[2 * k + 1]);
    }
    lookups.look_up(&elements.xors);
    let one = || E::EF::from(constant::<E>(1));
    eval.add_to_relation(RelationEntry::new(&elements.messages, one(), &flat(key.clone(), &message)));
    eval.add_to_relation(RelationEntry::new(&elements.states, one(), &flat(key.clone(), &before)));
    let next = key + constant::<E>(1);
    eval.add_to_relation(RelationEntry::new(&elements.states, -one(), &flat(next, &state)));
    eval.finalize_logup_in_pairs();
}

/// Compressions of the blocks of a message.
pub fn compressions<E: EvalAtRow>(eval: &mut E, elements: &Blake2sElements) {
    let [index, bytes_low, bytes_high, last] = PLACES.map(|id| eval.get_preprocessed_column(preprocessed(id)));
    let mut lookups = RowLookups::new(eval);
    let chain = lookups.words::<8>();
    let message = lookups.words::<16>();
    let state = lookups.words::<16>();

    let cuts = cuts(16);
    let mut after = Vec::new();
    for k in 0..8 {
        let halves = [0, 1].map(|half| {
            let [p, q, r] = [&chain[k], &state[k], &state[k + 8]].map(|word| lookups.parts(&word[half], cuts));
            let both = lookups.xor(cuts, &p, &q);
            let all = lookups.xor(cuts, &both, &r);
            all[0].clone() + all[1].clone() * power(8)
        });
        after.push(halves);
    }
    lookups.look_up(&elements.xors);

    let one = || E::EF::from(constant::<E>(1));
    let key = |round: u32| index.clone() * BaseField::from(16) + constant::<E>(round);
    for (round, order) in ORDERS.iter().enumerate() {
        let ordered = order.map(|k| message[k].clone());
        let values = flat(key(round as u32), &ordered);
        eval.add_to_relation(RelationEntry::new(&elements.messages, -one(), &values));
    }
    let word = |word: u32| [constant::<E>(word & 0xffff), constant::<E>(word >> 16)];
    let [low, high] = [IV[6] & 0xffff, IV[6] >> 16];
    // Where the block is the last, all bits are flipped.
    let either = |half: u32| {
        let first = E::F::from(BaseField::from(1)) - last.clone();
        first * BaseField::from(half) + last.clone() * BaseField::from(half ^ 0xffff)
    };
    let mut first: Vec<_> = chain.to_vec();
    first.extend([word(IV[0]), word(IV[1]), word(IV[2]), word(IV[3])]);
    first.extend([[bytes_low, bytes_high], word(IV[5]), [either(low), either(high)], word(IV[7])]);
    eval.add_to_relation(RelationEntry::new(&elements.states, -one(), &flat(key(0), &first)));
    eval.add_to_relation(RelationEntry::new(&elements.states, one(), &flat(key(10), &state)));
    eval.add_to_relation(RelationEntry::new(&elements.links, one(), &flat(index.clone(), &chain)));
    let next = index.clone() + constant::<E>(1);
    eval.add_to_relation(RelationEntry::new(&elements.links, -one(), &flat(next, &after)));
    eval.finalize_logup_in_pairs();
}

/// A table of exclusive ors.
///
/// Its numbers have `low` bits by row and `high` by column.
pub fn xor_table<E: EvalAtRow>(eval: &mut E, [low, high]: [u32; 2], elements: &Blake2sElements) {
    let [a, b, c] = pairs(low).map(|id| eval.get_preprocessed_column(preprocessed(id)));
    for k in 0..1 << (2 * high) {
        let (upper_a, upper_b) = (k >> high, k % (1 << high));
        let times = eval.next_trace_mask();
        let raised = |value: &E::F, upper: u32| value.clone() + constant::<E>(upper << low);
        let values =
            [constant::<E>(low + high), raised(&a, upper_a), raised(&b, upper_b), raised(&c, upper_a ^ upper_b)];
        eval.add_to_relation(RelationEntry::new(&elements.xors, -E::EF::from(times), &values));
    }
    eval.finalize_logup_in_pairs();
}
