//! Columns of look-ups by their definition, sums of columns of two heights, and powers.

use backend_api::{
    Buffer as _, Queue,
    ops::air::{AirOps, LogUpColumns, SecureAddLifted, SecurePowers},
};
use core_types::{
    field::{M31, QM31},
    params::air::{LogUpColumnsParams, SecureAddLiftedParams, SecurePowersParams},
};

use super::model::positions;
use crate::{Case, Conditioned, Failure, OpSpec, circle::model::ElementStream, list::ListIterator as _, spec::BATCHES};

/// The element at a position of four planes of `len` words.
fn element(planes: &[M31], len: usize, position: usize) -> QM31 {
    QM31::from_coordinates([0, 1, 2, 3].map(|c| planes[c * len + position]))
}

fn write(planes: &mut [M31], len: usize, position: usize, value: QM31) {
    value.coordinates().into_iter().enumerate().for_each(|(c, word)| planes[c * len + position] = word);
}

fn expect_columns(q: &Conditioned, log_rows: u32, columns: u32, zeros: &[usize]) -> Result<(), Failure> {
    let (len, width) = (1usize << log_rows, columns as usize);
    let mut stream = ElementStream::new(u64::from(log_rows) << 32 | u64::from(columns));
    let mut fractions = stream.column(8 * len * width);
    for &position in zeros {
        let denominators = &mut fractions[8 * len * (position % width) + 4 * len..];
        write(denominators, len, position, QM31::ZERO);
    }
    let mut expected = vec![M31::ZERO; 4 * len * width];
    let mut total = QM31::ZERO;
    for position in 0..len {
        let mut sum = QM31::ZERO;
        for k in 0..width {
            let (numerators, denominators) = fractions[8 * len * k..8 * len * (k + 1)].split_at(4 * len);
            let inverse = element(denominators, len, position).inverse().unwrap_or(QM31::ZERO);
            sum += element(numerators, len, position) * inverse;
            write(&mut expected[4 * len * k..], len, position, sum);
        }
        total += sum;
    }
    let mean = total * M31::from_u32(len as u32).inverse().unwrap_or(M31::ZERO);
    let last = &mut expected[4 * len * (width - 1)..];
    let mut sum = QM31::ZERO;
    for position in positions(log_rows) {
        sum += element(last, len, position) - mean;
        write(last, len, position, sum);
    }
    let fractions = q.upload(&fractions)?;
    let (mut made, mut sums) = (q.upload(&vec![M31::ONE; expected.len()])?, q.upload(&[QM31::ONE; 2])?);
    q.logup_columns(LogUpColumns {
        params: &LogUpColumnsParams { log_rows, columns },
        fractions: fractions.view(),
        columns: made.view_mut(),
        sums: sums.view_mut(),
    })?;
    Failure::unless_equal(&expected, &q.download(&made)?)?;
    Failure::unless_equal(&[total, mean], &q.download(&sums)?)
}

pub(super) fn logup_columns() -> OpSpec {
    let mut cases = Vec::new();
    for log_rows in 1..=15 {
        let case = Case::new(format!("2^{log_rows} rows"), move |q| {
            expect_columns(q, log_rows, 1, &[])?;
            expect_columns(q, log_rows, 3, &[])
        });
        cases.push(case.on_elements(3 << log_rows));
    }
    cases.push(Case::new("2^20 rows", |q| expect_columns(q, 20, 2, &[5, 77_777])).on_elements(2 << 20));
    cases.push(Case::new("17 columns", |q| expect_columns(q, 6, 17, &[])));
    cases.push(Case::new("a denominator of zero", |q| {
        expect_columns(q, 1, 1, &[1])?;
        expect_columns(q, 3, 2, &[0, 1, 2, 3, 4, 5, 6, 7])?;
        expect_columns(q, 12, 2, &[0, 1, 1023, 1024, 2050, 4095])
    }));
    OpSpec { op: "air.logup_columns", cases }
}

fn expect_added(q: &Conditioned, log_small: u32, log_large: u32) -> Result<(), Failure> {
    let mut stream = ElementStream::new(u64::from(log_small << 8 | log_large));
    let (small, mut large) = (stream.column(4 << log_small), stream.column(4 << log_large));
    let mut sums = q.upload(&large)?;
    for (at, value) in large.iter_mut().enumerate() {
        let (plane, position) = (at >> log_large, at % (1 << log_large));
        // Positions 2 h and 2 h + 1 are a point and its conjugate at either height; doubling drops the lowest bits of
        // h.
        let below = position >> (log_large - log_small + 1) << 1 | position & 1;
        *value += small[(plane << log_small) + below];
    }
    let device_small = q.upload(&small)?;
    q.secure_add_lifted(SecureAddLifted {
        params: &SecureAddLiftedParams { log_small, log_large },
        small: device_small.view(),
        large: sums.view_mut(),
    })?;
    Failure::unless_equal(&large, &q.download(&sums)?)
}

pub(super) fn add_lifted() -> OpSpec {
    let mut cases = Vec::new();
    for log_large in (1..=10).chain([14, 16]) {
        let case = Case::new(format!("to 2^{log_large} values"), move |q| {
            (1..=log_large).try_for_each(|log_small| expect_added(q, log_small, log_large))
        });
        cases.push(case.on_elements(u64::from(log_large) << log_large));
    }
    OpSpec { op: "air.add_lifted", cases }
}

fn expect_powers(q: &Conditioned, count: u32) -> Result<(), Failure> {
    let base = ElementStream::new(u64::from(count)).qm31();
    let mut expected: Vec<QM31> =
        (0..count).scan(QM31::ONE, |power, _| Some(core::mem::replace(power, *power * base))).list();
    for descending in [0, 1] {
        let (device_base, mut powers) = (q.upload(&[base])?, q.zeros(count as usize)?);
        q.secure_powers(SecurePowers {
            params: &SecurePowersParams { count, descending },
            base: device_base.view(),
            powers: powers.view_mut(),
        })?;
        Failure::unless_equal(&expected, &q.download(&powers)?)?;
        expected.reverse();
    }
    Ok(())
}

pub(super) fn powers() -> OpSpec {
    let mut cases: Vec<Case> = Vec::new();
    for count in BATCHES.into_iter().chain([2, 3, 1000, 5000]) {
        cases.push(Case::new(format!("{count} powers"), move |q| expect_powers(q, count)));
    }
    cases.push(Case::new("an order that there is not is refused", |q| {
        let (base, mut powers) = (q.zeros(1)?, q.zeros(3)?);
        let params = &SecurePowersParams { count: 3, descending: 2 };
        let op = SecurePowers { params, base: base.view(), powers: powers.view_mut() };
        Failure::unless_refused("descending: 2", q.secure_powers(op))
    }));
    OpSpec { op: "air.powers", cases }
}
