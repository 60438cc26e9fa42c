//! `linear_words`, compared with sums in wide integers.

use backend_api::{
    Buffer as _, Queue,
    ops::share::{LinearWords, ShareOps},
};
use core_types::params::share::LinearWordsParams;

use super::{batch::words, refuse::expect_lens};
use crate::{Case, Conditioned, Failure, OpSpec, list::ListIterator as _, spec::BATCHES};

/// Rows of one word, of a power of two, of other numbers, and longer than most of the words.
const PERIODS: [u32; 7] = [1, 2, 7, 32, 33, 100, 3000];

/// Public factors and a constant.
const FACTORS: [[u64; 3]; 4] = [[1, 1, 0], [1, u64::MAX, 5], [0x9e37_79b9_7f4a_7c15, 3, u64::MAX], [0, 0, 1 << 63 | 9]];

fn params(count: u32, period: u32, [alpha, beta, constant]: [u64; 3], bits: u32) -> LinearWordsParams {
    LinearWordsParams { alpha, beta, constant, count, period, bits, reserved: 0 }
}

/// Compares sums of `count` words and a row of `period` words with sums in 128 bits.
///
/// Without a period there is no row.
fn expect(q: &Conditioned, count: u32, period: Option<u32>) -> Result<(), Failure> {
    let (x, row) = (words(1, count as usize), words(2, period.unwrap_or_default() as usize));
    let (device_x, device_row) = (q.upload(&x)?, q.upload(&row)?);
    let every = FACTORS.into_iter().flat_map(|factors| [64, 63, 40, 1].map(|bits| (factors, bits)));
    // Factors and widths do not depend on the number of words.
    for (factors, bits) in every.take(if count > 2000 { 1 } else { usize::MAX }) {
        let [alpha, beta, constant] = factors.map(u128::from);
        let sum = |(i, x): (usize, &u64)| {
            let row = period.map_or(0, |period| u128::from(row[i % period as usize]));
            // A carry out of 128 bits is a multiple of 2^64.
            let sum = (alpha * u128::from(*x)).wrapping_add(beta * row).wrapping_add(constant);
            (sum % (1 << bits)) as u64
        };
        let expected = x.iter().enumerate().map(sum).list();
        for is_in_place in [false, true] {
            let mut out = if is_in_place { q.upload(&x)? } else { q.upload(&vec![0xdead_beef_u64; x.len()])? };
            q.linear_words(LinearWords {
                params: &params(count, period.unwrap_or_default(), factors, bits),
                x: (!is_in_place).then(|| device_x.view()),
                row: period.map(|_| device_row.view()),
                out: out.view_mut(),
            })?;
            Failure::unless_equal(&expected, &q.download(&out)?)?;
        }
    }
    Ok(())
}

fn expect_refusals(q: &Conditioned) -> Result<(), Failure> {
    let run = |params: LinearWordsParams, has_row: bool, [x, row, out]: [usize; 3]| {
        let (x, row, mut out) = (q.zeros(x)?, q.zeros(row)?, q.zeros(out)?);
        let row = has_row.then(|| row.view());
        q.linear_words(LinearWords { params: &params, x: Some(x.view()), row, out: out.view_mut() })
    };
    let (factors, lens) = ([1, 1, 0], [33, 7, 33]);
    expect_lens("linear_words", lens, |lens| run(params(33, 7, factors, 64), true, lens))?;
    for bits in [0, 65, u32::MAX] {
        let refused = run(params(33, 7, factors, bits), true, lens);
        Failure::unless_refused(&format!("linear_words of {bits} bits"), refused)?;
    }
    let empty = [33, 0, 33];
    Failure::unless_refused("linear_words with an empty row", run(params(33, 0, factors, 64), true, empty))?;
    // A period without a row is not used.
    [0, 7].into_iter().try_for_each(|period| Ok(run(params(33, period, factors, 64), false, empty)?))
}

pub(super) fn specs() -> OpSpec {
    let mut cases: Vec<Case> = Vec::new();
    for count in BATCHES.into_iter().chain([64, 1057]) {
        let case = Case::new(format!("{count} words"), move |q| {
            expect(q, count, None)?;
            PERIODS.into_iter().try_for_each(|period| expect(q, count, Some(period)))
        });
        cases.push(case.on_elements(count.into()));
    }
    // More words than all threads of a device with few multiprocessors.
    cases.push(Case::new("a row of 999 words over 40,000", |q| expect(q, 40_000, Some(999))).on_elements(40_000));
    cases.push(Case::new("views, widths and rows out of range", expect_refusals));
    OpSpec { op: "fss.linear_words", cases }
}
