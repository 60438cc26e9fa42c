//! `combine_bits` and `combine_words`, compared with sums in wide integers.
//!
//! The sums are formed one element and one term after the other.

use backend_api::{
    BackendError, Buffer as _, Queue, as_words,
    ops::share::{CombineBits, CombineWords, ShareOps},
};
use core_types::params::{
    fss::padded,
    share::{BitParams, BitTerm, MAX_POWER, NO_ROW, ONE_ROW, Threshold, WordParams, WordTerm},
};

use super::{batch::words, refuse::expect_lens};
use crate::{Buf, Case, Conditioned, Failure, OpSpec, list::ListIterator as _, spec::BATCHES};

/// Sums over 33 elements, of a row of each kind.
const ONE_OF_EACH: WordParams = WordParams {
    offset: 0,
    count: 33,
    party: 1,
    bits: 64,
    shift: 0,
    width: 64,
    padded_rows: 1,
    rows: 1,
    opened_rows: 1,
    interleaved: 0,
    reserved: 0,
};

/// Rows of each kind.
const ROWS: u32 = 3;

/// Words from which choices are made.
struct Choices(std::vec::IntoIter<u64>);

impl Choices {
    fn new(seed: u64) -> Self {
        Self(words(seed, 1000).into_iter())
    }

    fn word(&mut self) -> u64 {
        self.0.next().unwrap_or(0)
    }

    fn below(&mut self, end: u32) -> u32 {
        (self.word() % u64::from(end)) as u32
    }

    /// A row, or one of two others.
    fn row(&mut self, rows: u32, others: [u32; 2]) -> u32 {
        let at = self.below(rows + 2);
        if at < rows { at } else { others[(at - rows) as usize] }
    }

    /// A comparison of any width, or none.
    fn threshold(&mut self) -> Threshold {
        let bits = self.below(3) * (1 + self.below(32)); // up to 64
        let bound = if bits == 0 { 0 } else { self.word() >> (64 - bits) };
        Threshold { shift: self.word(), bound, bits, wanted: self.below(2) }
    }
}

/// Whether `x + shift` modulo the ring's size is below the bound.
fn below(threshold: &Threshold, x: u64) -> bool {
    let size = 1u128 << threshold.bits;
    threshold.bits > 0 && (u128::from(x) + u128::from(threshold.shift)) % size < u128::from(threshold.bound)
}

fn bit(rows: &[u32], width: usize, row: u32, e: usize) -> bool {
    rows[row as usize * (width / 32) + e / 32] >> (e % 32) & 1 == 1
}

fn rows_of_bits(seed: u64, count: u32) -> Vec<u32> {
    words(seed, ROWS as usize * padded(count) / 32).into_iter().map(|word| word as u32).list()
}

/// Whether a list was copied ahead of its op, and if so, whether it is still in its place.
const PLACES: [Option<bool>; 3] = [None, Some(true), Some(false)];

/// The place of `list`, or of words that have been written over it since.
///
/// As terms, those have rows, widths and flags out of range.
fn place(q: &Conditioned, list: &[u32], is_there: bool) -> Result<Buf<u32>, Failure> {
    let mut place = q.alloc::<u32>(list.len())?;
    q.write_with_lists(&[list], &[], place.view_mut())?;
    if !is_there {
        q.write(&vec![u32::MAX; list.len()], place.view_mut())?;
    }
    Ok(place)
}

/// The sums by the queue, in memory that held other words.
fn combine_bits(
    q: &Conditioned,
    params: BitParams,
    terms: &[BitTerm],
    placed: Option<Buf<u32>>,
    (x, rows): (&[u64], &[u32]),
    len: usize,
) -> Result<Vec<u32>, BackendError> {
    let (x, rows, mut sums) = (q.upload(x)?, q.upload(rows)?, q.upload(&vec![0xdead_beef_u32; len])?);
    q.combine_bits(CombineBits {
        params: &params,
        terms,
        placed: placed.as_ref().map(|place| place.view()),
        x: x.view(),
        rows: rows.view(),
        sums: sums.view_mut(),
    })?;
    q.download(&sums)
}

fn expect_bits(q: &Conditioned, seed: u64, count: u32) -> Result<(), Failure> {
    let (width, n, mut choices) = (padded(count), count as usize, Choices::new(seed));
    let terms: Vec<BitTerm> = (0..12)
        .map(|i| BitTerm {
            public: choices.threshold(),
            row: choices.row(ROWS, [NO_ROW; 2]),
            last: u32::from(i % 5 == 4 || i == 11),
        })
        .list();
    let (x, rows) = (words(seed + 1, n), rows_of_bits(seed + 2, count));
    for party in [0, 1] {
        let mut expected = Vec::new();
        for sum in terms.split_inclusive(|term| term.last == 1) {
            let mut words = vec![0u32; width / 32];
            for e in 0..n {
                let term = |term: &BitTerm| {
                    let shared = term.row != NO_ROW && bit(&rows, width, term.row, e);
                    shared ^ (party == 0 && below(&term.public, x[e]))
                };
                words[e / 32] |= u32::from(sum.iter().fold(false, |sum, one| sum ^ term(one))) << (e % 32);
            }
            expected.extend(words);
        }
        for is_there in PLACES {
            let placed = is_there.map(|is_there| place(q, as_words(&terms), is_there)).transpose()?;
            let sums = combine_bits(q, BitParams { count, party }, &terms, placed, (&x, &rows), expected.len())?;
            Failure::unless_equal(&expected, &sums)?;
        }
    }
    Ok(())
}

/// The share of a term, with every factor a wide integer modulo 2^64.
fn share(term: &WordTerm, party: u32, word: impl Fn(u32) -> u64, opened: impl Fn(u32) -> bool) -> u128 {
    const SIZE: u128 = 1 << 64;
    let row = |row: u32| match row {
        NO_ROW => 0,
        ONE_ROW => u128::from(party == 0),
        row => u128::from(word(row)),
    };
    match term.opened {
        NO_ROW => row(term.value),
        at if opened(at) => (row(term.value) + SIZE - row(term.product)) % SIZE,
        _ => row(term.product),
    }
}

/// The sums by the queue, in memory that held other words.
fn combine_words(
    q: &Conditioned,
    params: WordParams,
    terms: &[WordTerm],
    placed: Option<Buf<u32>>,
    ([x, held, rows], opened): ([&[u64]; 3], &[u32]),
    len: usize,
) -> Result<Vec<u64>, BackendError> {
    let (x, held, rows) = (q.upload(x)?, q.upload(held)?, q.upload(rows)?);
    let (opened, mut sums) = (q.upload(opened)?, q.upload(&vec![0xdead_beef_u64; len])?);
    q.combine_words(CombineWords {
        params: &params,
        terms,
        placed: placed.as_ref().map(|place| place.view()),
        x: x.view(),
        padded: held.view(),
        rows: rows.view(),
        opened: opened.view(),
        sums: sums.view_mut(),
    })?;
    q.download(&sums)
}

fn expect_words(q: &Conditioned, seed: u64, count: u32, interleaved: u32) -> Result<(), Failure> {
    const SIZE: u128 = 1 << 64;
    let (width, n, mut choices) = (padded(count), count as usize, Choices::new(seed));
    let terms: Vec<WordTerm> = (0..14)
        .map(|i| WordTerm {
            when: choices.threshold(),
            constant: choices.word(),
            value: choices.row(2 * ROWS, [NO_ROW, ONE_ROW]),
            product: choices.row(2 * ROWS, [NO_ROW, ONE_ROW]),
            opened: choices.row(ROWS, [NO_ROW; 2]),
            given: choices.row(ROWS, [NO_ROW; 2]),
            is: choices.below(2),
            power: choices.below(MAX_POWER + 1),
            last: u32::from(i % 6 == 5 || i == 13),
            reserved: 0,
        })
        .list();
    let sums = terms.iter().filter(|term| term.last == 1).count();
    let (x, opened) = (words(seed + 1, n), rows_of_bits(seed + 2, count));
    let (held, rows) = (words(seed + 3, ROWS as usize * width), words(seed + 4, ROWS as usize * n));
    for party in [0, 1] {
        let params = WordParams {
            offset: choices.word(),
            count,
            party,
            bits: 1 + choices.below(64),
            shift: choices.below(64),
            width: 1 + choices.below(64),
            padded_rows: ROWS,
            rows: ROWS,
            opened_rows: ROWS,
            interleaved,
            reserved: 0,
        };
        let mut expected = vec![0; sums * n];
        for e in 0..n {
            let shifted = (u128::from(x[e]) + u128::from(params.offset)) % (1 << params.bits);
            let variable = shifted >> params.shift;
            let word = |row: u32| match row {
                ..ROWS => held[row as usize * width + e],
                _ => rows[(row - ROWS) as usize * n + e],
            };
            for (at, sum) in terms.split_inclusive(|term| term.last == 1).enumerate() {
                let mut total = 0u128;
                for term in sum {
                    let known = term.when.bits == 0 || below(&term.when, x[e]) == (term.when.wanted == 1);
                    let given = term.given == NO_ROW || bit(&opened, width, term.given, e) == (term.is == 1);
                    if known && given {
                        let power = (0..term.power).fold(1, |power, _| power * variable % SIZE);
                        let factor = u128::from(term.constant) * power % SIZE;
                        let share = share(term, party, word, |row| bit(&opened, width, row, e));
                        total = (total + factor * share) % SIZE;
                    }
                }
                let place = if interleaved == 1 { e * sums + at } else { at * n + e };
                expected[place] = (total % (1 << params.width)) as u64;
            }
        }
        for is_there in PLACES {
            let placed = is_there.map(|is_there| place(q, as_words(&terms), is_there)).transpose()?;
            let sums = combine_words(q, params, &terms, placed, ([&x, &held, &rows], &opened), expected.len())?;
            Failure::unless_equal(&expected, &sums)?;
        }
    }
    Ok(())
}

fn expect_refusals(q: &Conditioned) -> Result<(), Failure> {
    let last = BitTerm { public: Threshold::default(), row: 0, last: 1 };
    let bits = |params: BitParams, terms: &[BitTerm], [x, rows, sums]: [usize; 3]| {
        combine_bits(q, params, terms, None, (&vec![0; x], &vec![0; rows]), sums).map(drop)
    };
    let params = BitParams { count: 33, party: 0 };
    bits(params, &[last], [33, 2, 2])?;
    bits(params, &[], [33, 0, 0])?;
    for lens in [[32, 2, 2], [33, 1, 2], [33, 2, 1], [33, 2, 4]] {
        Failure::unless_refused(&format!("combine_bits with views of {lens:?}"), bits(params, &[last], lens))?;
    }
    let wide = Threshold { bits: 65, ..Threshold::default() };
    for term in [
        BitTerm { last: 0, ..last },
        BitTerm { last: 2, ..last },
        BitTerm { row: 1, ..last },
        BitTerm { public: wide, ..last },
    ] {
        Failure::unless_refused(&format!("combine_bits of {term:?}"), bits(params, &[term], [33, 2, 2]))?;
    }
    Failure::unless_refused("combine_bits of party 2", bits(BitParams { party: 2, ..params }, &[last], [33, 2, 2]))?;

    let params = ONE_OF_EACH;
    let words = |params: WordParams, terms: &[WordTerm], [x, held, rows, opened, sums]: [usize; 5]| {
        let operands = [x, held, rows].map(|len| vec![0; len]);
        let operands = operands.each_ref().map(|words| &words[..]);
        combine_words(q, params, terms, None, (operands, &vec![0; opened]), sums).map(drop)
    };
    let (last, lens) = (WordTerm { value: 1, last: 1, ..WordTerm::NONE }, [33, 64, 33, 2, 33]);
    expect_lens("combine_words", lens, |lens| words(params, &[last], lens))?;
    for term in [
        WordTerm { last: 0, ..last },
        WordTerm { value: 2, ..last },
        WordTerm { product: 2, ..last },
        WordTerm { opened: 1, ..last },
        WordTerm { given: 1, ..last },
        WordTerm { power: MAX_POWER + 1, ..last },
        WordTerm { when: wide, ..last },
    ] {
        Failure::unless_refused(&format!("combine_words of {term:?}"), words(params, &[term], lens))?;
    }
    for params in [
        WordParams { party: 2, ..params },
        WordParams { bits: 0, ..params },
        WordParams { width: 65, ..params },
        WordParams { shift: 64, ..params },
        WordParams { padded_rows: u32::MAX, ..params },
    ] {
        Failure::unless_refused(&format!("combine_words with {params:?}"), words(params, &[last], lens))?;
    }
    Ok(())
}

pub(super) fn bit_specs() -> OpSpec {
    let mut cases: Vec<Case> = Vec::new();
    for count in BATCHES.into_iter().chain([64, 1057]) {
        let case = Case::new(format!("{count} elements"), move |q| {
            (0..4).try_for_each(|seed| expect_bits(q, 100 * seed + u64::from(count), count))
        });
        cases.push(case.on_elements(count.into()));
    }
    cases.push(Case::new("views, rows and widths out of range, of words as well", expect_refusals));
    OpSpec { op: "fss.combine_bits", cases }
}

pub(super) fn word_specs() -> OpSpec {
    let mut cases: Vec<Case> = Vec::new();
    for count in BATCHES.into_iter().chain([64, 1057]) {
        let case = Case::new(format!("{count} elements"), move |q| {
            (0..4).try_for_each(|seed| expect_words(q, 100 * seed + u64::from(count), count, (seed % 2) as u32))
        });
        cases.push(case.on_elements(count.into()));
    }
    OpSpec { op: "fss.combine_words", cases }
}
