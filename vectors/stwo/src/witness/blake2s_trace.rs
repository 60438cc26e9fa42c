//! Rows of the AIRs of Blake2s, computed with whole words.

use stwo::core::fields::m31::BaseField;

use crate::{
    blake2s::{IV, MIXES, ORDERS, TABLES, cuts},
    statement::message_word,
    witness::rows::Rows,
};

/// Rows of numbers, by column.
#[derive(Default)]
struct TableColumns(Vec<Vec<BaseField>>);

impl TableColumns {
    fn push(&mut self, row: Vec<u32>) {
        self.0.resize(row.len(), Vec::new());
        self.0.iter_mut().zip(row).for_each(|(column, word)| column.push(BaseField::from(word)));
    }
}

/// A row in the making, and the pairs whose exclusive ors it looks up, with their bits.
#[derive(Default)]
struct Row {
    words: Vec<u32>,
    xors: Vec<(u32, u32, u32)>,
}

fn halves(word: u32) -> [u32; 2] {
    [word & 0xffff, word >> 16]
}

impl Row {
    fn state(&mut self, words: &[u32]) {
        self.words.extend(words.iter().flat_map(|&word| halves(word)));
    }

    fn sum(&mut self, sum: u32) -> u32 {
        self.state(&[sum]);
        sum
    }

    fn parts(&mut self, half: u32, cuts: &[u32]) -> Vec<u32> {
        let parts: Vec<_> = cuts.windows(2).map(|at| (half & ((1 << at[1]) - 1)) >> at[0]).collect();
        self.words.extend(&parts[1..]);
        parts
    }

    fn xor(&mut self, cuts: &[u32], p: &[u32], q: &[u32]) -> Vec<u32> {
        let bits = cuts.windows(2).map(|at| at[1] - at[0]);
        self.xors.extend(bits.zip(p.iter().zip(q)).map(|(bits, (&p, &q))| (bits, p, q)));
        let results: Vec<_> = p.iter().zip(q).map(|(p, q)| p ^ q).collect();
        self.words.extend(&results);
        results
    }

    fn turned(&mut self, p: u32, q: u32, turn: u32) -> u32 {
        let cuts = cuts(turn);
        let [p_parts, q_parts] = [p, q].map(|word| halves(word).map(|half| self.parts(half, cuts)));
        for half in 0..2 {
            self.xor(cuts, &p_parts[half], &q_parts[half]);
        }
        (p ^ q).rotate_right(turn)
    }

    fn mix(&mut self, v: &mut [u32; 16], [a, b, c, d]: [usize; 4], x: u32, y: u32) {
        v[a] = self.sum(v[a].wrapping_add(v[b]).wrapping_add(x));
        v[d] = self.turned(v[d], v[a], 16);
        v[c] = self.sum(v[c].wrapping_add(v[d]));
        v[b] = self.turned(v[b], v[c], 12);
        v[a] = self.sum(v[a].wrapping_add(v[b]).wrapping_add(y));
        v[d] = self.turned(v[d], v[a], 8);
        v[c] = self.sum(v[c].wrapping_add(v[d]));
        v[b] = self.turned(v[b], v[c], 7);
    }
}

/// The rows of a message of `2^log_blocks` blocks, and its digest.
pub fn hash(log_blocks: u32) -> (Rows, [u32; 8]) {
    let mut compressions = TableColumns::default();
    let mut rounds = [TableColumns::default(), TableColumns::default()];
    let mut places = TableColumns::default();
    let mut xors = Vec::new();
    let mut chain = IV;
    chain[0] ^= 0x0101_0020;
    for index in 0..1u32 << log_blocks {
        let message: [u32; 16] = std::array::from_fn(|k| message_word(16 * index + k as u32));
        let last = u32::from(index + 1 == 1 << log_blocks);
        let mut v = [0; 16];
        v[..8].copy_from_slice(&chain);
        v[8..].copy_from_slice(&IV);
        v[12] ^= 64 * (index + 1);
        v[14] ^= 0u32.wrapping_sub(last);
        places.push([vec![index], halves(v[12]).to_vec(), vec![last]].concat());
        for (round, order) in ORDERS.iter().enumerate() {
            let ordered = order.map(|k| message[k]);
            let mut row = Row::default();
            row.words.push(16 * index + round as u32);
            row.state(&v);
            row.state(&ordered);
            for (k, words) in MIXES.into_iter().enumerate() {
                row.mix(&mut v, words, ordered[2 * k], ordered[2 * k + 1]);
            }
            xors.extend(row.xors);
            rounds[usize::from(round >= 8)].push(row.words);
        }
        let mut row = Row::default();
        row.state(&chain);
        row.state(&message);
        row.state(&v);
        for k in 0..8 {
            for half in 0..2 {
                let [p, q, r] = [chain[k], v[k], v[k + 8]].map(|word| row.parts(halves(word)[half], cuts(16)));
                let both = row.xor(cuts(16), &p, &q);
                row.xor(cuts(16), &both, &r);
            }
        }
        xors.extend(row.xors);
        compressions.push(row.words);
        for k in 0..8 {
            chain[k] ^= v[k] ^ v[k + 8];
        }
    }
    let [first, last] = rounds;
    let mut trace = vec![compressions.0, first.0, last.0];
    for (low, high) in TABLES {
        let mut counts = vec![vec![0u32; 1 << (2 * low)]; 1 << (2 * high)];
        let mask = (1 << low) - 1;
        for &(_, a, b) in xors.iter().filter(|&&(bits, ..)| bits == low + high) {
            let (column, row) = (((a >> low) << high) + (b >> low), ((a & mask) << low) + (b & mask));
            counts[column as usize][row as usize] += 1;
        }
        trace.push(counts.into_iter().map(|column| column.into_iter().map(BaseField::from).collect()).collect());
    }
    let mut preprocessed = places.0;
    for low in [5, 4] {
        let mut table = TableColumns::default();
        (0..1u32 << (2 * low)).for_each(|row| {
            let (a, b) = (row >> low, row % (1 << low));
            table.push(vec![a, b, a ^ b]);
        });
        preprocessed.extend(table.0);
    }
    (Rows { preprocessed, trace }, chain)
}
