//! `table_sums`, compared with sums over set bits and with entries of tables.

use backend_api::{
    BackendError, Buffer as _, Queue,
    ops::share::{ShareOps, TableSums},
};
use core_types::{
    cmp::{CMP_ALL_BITS, CMP_TABLE_BITS, cmp_blocks},
    params::share::{MAX_TABLES, TableSumsParams},
};

use super::{batch::words, refuse::expect_lens};
use crate::{Case, Conditioned, Failure, OpSpec, list::ListIterator as _, spec::BATCHES};

/// Widths with one point or a few, with half a block, one block and several blocks of points.
const WIDTHS: [u32; 7] = [1, 2, 6, 7, 8, 10, CMP_ALL_BITS];

/// The bits of a block that belong to points.
fn points_of_block(bits: u32) -> u128 {
    if bits < CMP_TABLE_BITS { (1 << (1u32 << bits)) - 1 } else { u128::MAX }
}

/// Both parties' shares of the unit vectors of `positions`; party 0's look random.
fn shares(bits: u32, positions: &[u64]) -> [Vec<u128>; 2] {
    let (blocks, count) = (cmp_blocks(bits) as usize, positions.len());
    let random = words(u64::from(bits), 2 * blocks * count);
    let block = |pair: &[u64]| (u128::from(pair[0]) | u128::from(pair[1]) << 64) & points_of_block(bits);
    let first: Vec<u128> = random.chunks_exact(2).map(block).list();
    let mut second = first.clone();
    for (e, position) in positions.iter().enumerate() {
        second[(position / 128) as usize * count + e] ^= 1 << (position % 128);
    }
    [first, second]
}

/// The place `x - i` in a table of `size` entries.
fn place(x: u64, i: u64, size: u64) -> usize {
    ((u128::from(x) + u128::from(size) - u128::from(i)) % u128::from(size)) as usize
}

/// The sums and the numbers of set bits, one point after the other.
fn model(params: TableSumsParams, units: &[u128], x: &[u64], tables: &[u64]) -> [Vec<u64>; 2] {
    let (count, size) = (params.count as usize, 1u64 << params.bits);
    let positions = |e: usize| -> Vec<u64> {
        (0..size).filter(|i| units[(i / 128) as usize * count + e] >> (i % 128) & 1 == 1).list()
    };
    let positions: Vec<Vec<u64>> = (0..count).map(positions).list();
    let mut sums = Vec::with_capacity(params.tables as usize * count);
    for table in tables.chunks_exact(size as usize) {
        for (&x, positions) in x.iter().zip(&positions) {
            let sum: u128 = positions.iter().map(|&i| u128::from(table[place(x, i, size)])).sum();
            sums.push(sum as u64);
        }
    }
    [sums, positions.iter().map(|positions| positions.len() as u64).list()]
}

/// The queue's sums and numbers of set bits, in memory of `lens` that held other words.
fn run(
    q: &Conditioned,
    params: TableSumsParams,
    units: &[u128],
    x: &[u64],
    tables: &[u64],
    lens: [usize; 2],
) -> Result<[Vec<u64>; 2], BackendError> {
    let (units, x, table) = (q.upload(units)?, q.upload(x)?, q.upload(tables)?);
    let [sums, ones] = lens.map(|len| q.upload(&vec![0xdead_beef_u64; len]));
    let (mut sums, mut ones) = (sums?, ones?);
    q.table_sums(TableSums {
        params: &params,
        units: units.view(),
        x: x.view(),
        table: table.view(),
        sums: sums.view_mut(),
        ones: ones.view_mut(),
    })?;
    Ok([q.download(&sums)?, q.download(&ones)?])
}

/// Compares the results with the model.
fn expect_model(
    q: &Conditioned,
    params: TableSumsParams,
    units: &[u128],
    x: &[u64],
    tables: &[u64],
) -> Result<[Vec<u64>; 2], Failure> {
    let [sums, ones] = model(params, units, x, tables);
    let got = run(q, params, units, x, tables, [sums.len(), ones.len()])?;
    Failure::unless_equal(&sums, &got[0])?;
    Failure::unless_equal(&ones, &got[1])?;
    Ok(got)
}

/// Compares both parties' results with the model, their differences with table entries.
fn expect_entries(q: &Conditioned, bits: u32, rows: u32, x: &[u64], positions: &[u64]) -> Result<(), Failure> {
    let (count, size) = (x.len(), 1u64 << bits);
    let params = TableSumsParams { count: count as u32, bits, tables: rows };
    let tables = words(u64::from(rows) + 7, rows as usize * size as usize);
    let [first, second] = shares(bits, positions);
    let first = expect_model(q, params, &first, x, &tables)?;
    let second = expect_model(q, params, &second, x, &tables)?;
    for (row, table) in tables.chunks_exact(size as usize).enumerate() {
        for (e, (&x, &position)) in x.iter().zip(positions).enumerate() {
            let [difference, sign] =
                [(0usize, row * count + e), (1, e)].map(|(of, at)| first[of][at].wrapping_sub(second[of][at]));
            let entry = table[place(x, position, size)];
            let expected = if sign == 1 { entry } else { entry.wrapping_neg() };
            if (sign != 1 && sign != u64::MAX) || difference != expected {
                let why = format!("sums differ by {difference:#x} and ones by {sign:#x} at the entry {entry:#x}");
                return Err(Failure::Broken(format!("element {e} of table {row}: {why}")));
            }
        }
    }
    Ok(())
}

/// Any words at any positions.
fn expect_random(q: &Conditioned, bits: u32, count: u32, rows: u32) -> Result<(), Failure> {
    let x = words(u64::from(count) + 1, count as usize);
    let positions: Vec<u64> = words(2, count as usize).into_iter().map(|word| word % (1 << bits)).list();
    expect_entries(q, bits, rows, &x, &positions)
}

/// Every word of `bits` bits, below other bits, at every position.
fn expect_every_position(q: &Conditioned, bits: u32) -> Result<(), Failure> {
    let (size, above) = (1u64 << bits, words(3, 1 << (2 * bits)));
    let x: Vec<u64> = (0..size * size).zip(above).map(|(at, above)| (at / size) | (above << bits)).list();
    let positions: Vec<u64> = (0..size * size).map(|at| at % size).list();
    expect_entries(q, bits, 1, &x, &positions)
}

/// Checks shares with no bit, every bit or the highest alone, and tables of equal words.
fn expect_extremes(q: &Conditioned, bits: u32) -> Result<(), Failure> {
    let (blocks, highest) = (cmp_blocks(bits) as usize, points_of_block(bits) ^ points_of_block(bits) >> 1);
    let units = [0, points_of_block(bits), highest].repeat(blocks);
    let tables = [0, u64::MAX, 1 << 63].map(|word| vec![word; 1 << bits]).concat();
    let params = TableSumsParams { count: 3, bits, tables: 3 };
    for x in [[0; 3], [u64::MAX; 3], [1 << 63, 1, (1 << bits) - 1]] {
        expect_model(q, params, &units, &x, &tables)?;
    }
    Ok(())
}

/// Blocks with bits past the last point, which no key produces.
fn expect_ignored_bits(q: &Conditioned) -> Result<(), Failure> {
    for bits in 1..CMP_TABLE_BITS {
        let (params, x) = (TableSumsParams { count: 2, bits, tables: 1 }, [5, u64::MAX]);
        let tables = words(4, 1 << bits);
        expect_model(q, params, &[u128::MAX, !points_of_block(bits)], &x, &tables)?;
    }
    Ok(())
}

fn expect_refusals(q: &Conditioned) -> Result<(), Failure> {
    let sums = |params: TableSumsParams, [units, x, table, sums, ones]: [usize; 5]| {
        run(q, params, &vec![0; units], &vec![0; x], &vec![0; table], [sums, ones]).map(drop)
    };
    let params = TableSumsParams { count: 5, bits: 8, tables: 2 };
    expect_lens("table_sums", [10, 5, 512, 10, 5], |lens| sums(params, lens))?;
    // Views of the lengths that these parameters state.
    for (bits, tables) in [(0, 1), (CMP_ALL_BITS + 1, 1), (3, 0), (3, MAX_TABLES + 1)] {
        let params = TableSumsParams { count: 1, bits, tables };
        let lens = [cmp_blocks(bits) as usize, 1, (tables as usize) << bits, tables as usize, 1];
        Failure::unless_refused(&format!("table_sums with {params:?}"), sums(params, lens))?;
    }
    for bits in [31, 32, 63, 64, 71, 128, u32::MAX] {
        let params = TableSumsParams { count: 0, bits, tables: 1 };
        Failure::unless_refused(&format!("table_sums with {params:?}"), sums(params, [0; 5]))?;
    }
    Ok(())
}

pub(super) fn specs() -> OpSpec {
    let random = |bits: u32, count: u32, rows: u32| {
        let name = format!("{count} elements, {rows} tables of {bits} bits");
        let case = Case::new(name, move |q| expect_random(q, bits, count, rows));
        case.on_elements(u64::from(count * rows) << bits)
    };
    let mut cases = vec![
        Case::new("views of other lengths, widths and numbers of tables out of range", expect_refusals),
        Case::new("bits past the last point do not count", expect_ignored_bits),
    ];
    for bits in WIDTHS {
        let name = format!("extreme shares and words of {bits} bits");
        cases.push(Case::new(name, move |q| expect_extremes(q, bits)).on_elements(9 << bits));
    }
    for bits in 1..=5 {
        let name = format!("every word of {bits} bits at every position");
        cases.push(Case::new(name, move |q| expect_every_position(q, bits)).on_elements(1 << (3 * bits)));
    }
    for (bits, rows) in WIDTHS.into_iter().zip([1, 2, 3, 8].into_iter().cycle()) {
        cases.push(random(bits, 5, rows));
    }
    for count in BATCHES {
        cases.push(random(8, count, 1));
    }
    cases.extend([random(6, 33, 8), random(10, 33, 2), random(13, 31, 1), random(7, 1057, 3)]);
    OpSpec { op: "fss.table_sums", cases }
}
