//! Transforms, and values of polynomials at points.

use std::{borrow::Cow, sync::Arc};

use backend_api::{
    Buffer as _, Queue,
    ops::circle::{CircleExtend, CircleInterpolatePart, CircleOps as _},
};
use core_types::{
    circle::CirclePoint as Point,
    field::M31,
    params::{
        circle::{CircleExtendParams, CirclePartParams},
        columns::ColumnAt,
    },
};
use runtime::AnyBuf;
use stark_fft::CanonicDomain;
use stwo::{
    core::{
        circle::{CirclePoint, Coset},
        fields::{m31::BaseField, qm31::SecureField},
        poly::circle::{CanonicCoset, CircleDomain},
    },
    prover::{
        Poly,
        backend::{Col, Column, CpuBackend},
        mempool::BaseColumnPool,
        poly::{
            BitReversedOrder,
            circle::{CircleCoefficients, CircleEvaluation, PolyOps},
            twiddles::TwiddleTree,
        },
    },
};

use crate::{
    DeviceColumn, TrefoilBackend, Twiddles, Value,
    device::{done, queue},
    memory::arena::{ArenaContents, DeviceArena, Slice},
    reads::samples::sample,
    twiddles::{is_canonic, twiddles},
    value::secure,
};

type Evaluation = CircleEvaluation<TrefoilBackend, BaseField, BitReversedOrder>;
type Coefficients = CircleCoefficients<TrefoilBackend>;

/// Columns on one domain that follow each other.
struct DomainRun {
    log_size: u32,
    /// Log of the canonic domain that theirs is, or is the first part of.
    log_domain: u32,
    columns: usize,
    /// Words before them.
    first: usize,
}

impl DomainRun {
    const fn words(&self) -> core::ops::Range<usize> {
        self.first..self.first + (self.columns << self.log_size)
    }

    /// Where its columns are.
    fn columns(&self) -> impl Iterator<Item = ColumnAt> {
        (0..self.columns).map(|column| ColumnAt::new((self.first + (column << self.log_size)) as u64, self.log_size))
    }
}

/// Sorts columns by the logs of size and domain, stably.
///
/// Returns the order and the runs of equal logs.
fn by_domain(logs: &[[u32; 2]]) -> (Vec<usize>, Vec<DomainRun>) {
    let mut order: Vec<usize> = (0..logs.len()).collect();
    order.sort_by_key(|&column| logs[column]);
    let mut first = 0;
    let runs = order.chunk_by(|&a, &b| logs[a] == logs[b]).map(|columns| {
        let [log_size, log_domain] = logs[columns[0]];
        let run = DomainRun { log_size, log_domain, columns: columns.len(), first };
        first = run.words().end;
        run
    });
    let runs = runs.collect();
    (order, runs)
}

/// Puts columns together, in this order, to be changed.
fn gathered(columns: Vec<DeviceColumn<BaseField>>) -> AnyBuf<M31> {
    if let Some(parts) = columns.iter().map(DeviceColumn::host).collect::<Option<Vec<_>>>() {
        let parts: Vec<Cow<'_, [M31]>> = parts.into_iter().map(BaseField::to_device).collect();
        let parts: Vec<&[M31]> = parts.iter().map(AsRef::as_ref).collect();
        let mut buf = done(queue().alloc(parts.iter().map(|part| part.len()).sum()));
        done(queue().write_parts(&parts, buf.view_mut()));
        return buf;
    }
    Slice::into_buf(columns.into_iter().map(DeviceColumn::into_slice).collect())
}

/// Interpolates columns.
fn interpolate(run: &DomainRun, twiddles: &Twiddles, buf: &mut AnyBuf<M31>) {
    let log_domain = run.log_domain;
    let domain = done(CanonicDomain::new(log_domain));
    done(queue().circle_interpolate_part(CircleInterpolatePart {
        params: &CirclePartParams { log_size: run.log_size, log_domain, columns: run.columns as u32 },
        inverse_twiddles: done(twiddles.factors().inverse(domain)),
        columns: done(buf.slice_mut(run.words())),
    }));
}

/// Evaluates columns of coefficients that follow each other.
pub(crate) fn extend(
    coefficients: &Slice<M31>,
    log_coefficients: u32,
    log_size: u32,
    twiddles: &Twiddles,
    values: runtime::AnyMut<'_, M31>,
) {
    let columns = (coefficients.len >> log_coefficients) as u32;
    done(queue().circle_extend(CircleExtend {
        params: &CircleExtendParams { log_coefficients, log_size, columns },
        twiddles: done(twiddles.factors().forward(done(CanonicDomain::new(log_size)))),
        coefficients: coefficients.view(),
        values,
    }));
}

/// Coefficients, by place.
struct Placed {
    number: usize,
    log_size: u32,
    slice: Slice<M31>,
}

/// Evaluates polynomials on domains `2^log_blowup` times as large as they are.
///
/// Returns the place of the values of each polynomial.
pub(crate) fn evaluate_all(polynomials: &[&Coefficients], log_blowup: u32, twiddles: &Twiddles) -> Vec<Slice<M31>> {
    if polynomials.is_empty() {
        return Vec::new();
    }
    let mut placed: Vec<_> = polynomials
        .iter()
        .enumerate()
        .map(|(number, poly)| Placed { number, log_size: poly.log_size(), slice: poly.coeffs.slice() })
        .collect();
    placed.sort_by_key(|column| (column.log_size, Arc::as_ptr(&column.slice.arena), column.slice.start));
    let words = placed.iter().map(|column| column.slice.len << log_blowup).sum();
    let mut buf: AnyBuf<M31> = done(queue().alloc(words));
    let (mut first, mut columns) = (0, Vec::with_capacity(placed.len()));
    for run in placed.chunk_by(|a, b| a.log_size == b.log_size && a.slice.is_followed_by(&b.slice)) {
        let (log_rows, log_size) = (run[0].log_size, run[0].log_size + log_blowup);
        let coefficients = Slice { len: run.len() << log_rows, ..run[0].slice.clone() };
        let end = first + (run.len() << log_size);
        extend(&coefficients, log_rows, log_size, twiddles, done(buf.slice_mut(first..end)));
        columns.extend((0..run.len()).map(|k| ColumnAt::new((first + (k << log_size)) as u64, log_size)));
        first = end;
    }
    let arena = DeviceArena::new(buf, ArenaContents::Columns(columns.clone()));
    let mut values = vec![Slice::new(arena.clone(), 0, 0); placed.len()];
    for (column, at) in placed.iter().zip(columns) {
        values[column.number] = Slice::new(arena.clone(), at.first as usize, 1 << at.log_len);
    }
    values
}

impl PolyOps for TrefoilBackend {
    type Twiddles = Twiddles;

    fn interpolate(eval: Evaluation, itwiddles: &TwiddleTree<Self>) -> Coefficients {
        let log_size = eval.domain.log_size();
        let log_domain = itwiddles.itwiddles.log_domain(eval.domain);
        let slice = eval.values.slice();
        let (arena, len) = (&slice.arena, slice.len);
        if !matches!(arena.form(), ArenaContents::Planes(_)) || arena.len() != 4 * len {
            drop(slice);
            return Self::interpolate_columns(vec![eval], itwiddles).swap_remove(0);
        }
        // One of four planes: the others come next.
        let arena = arena.interpolated(log_domain, || {
            let mut buf = Slice::copied(&[Slice::all(arena.clone())]);
            let run = DomainRun { log_size, log_domain, columns: 4, first: 0 };
            interpolate(&run, &itwiddles.itwiddles, &mut buf);
            DeviceArena::new(buf, ArenaContents::Columns(run.columns().collect()))
        });
        CircleCoefficients::new(DeviceColumn::on_device(Slice::new(arena, slice.start, len)))
    }

    fn interpolate_columns(columns: Vec<Evaluation>, twiddles: &TwiddleTree<Self>) -> Vec<Coefficients> {
        if columns.is_empty() {
            return Vec::new();
        }
        let twiddles = &twiddles.itwiddles;
        let logs = |column: &Evaluation| [column.domain.log_size(), twiddles.log_domain(column.domain)];
        let (order, runs) = by_domain(&columns.iter().map(logs).collect::<Vec<_>>());
        let mut columns: Vec<_> = columns.into_iter().map(|column| Some(column.values)).collect();
        let mut buf = gathered(order.iter().filter_map(|&column| columns[column].take()).collect());
        for run in &runs {
            interpolate(run, twiddles, &mut buf);
        }
        let places: Vec<_> = runs.iter().flat_map(DomainRun::columns).collect();
        let arena = DeviceArena::new(buf, ArenaContents::Columns(places.clone()));
        let mut made: Vec<_> = order.into_iter().zip(places).collect();
        made.sort_unstable_by_key(|(column, _)| *column);
        let coefficients =
            made.into_iter().map(|(_, at)| Slice::new(arena.clone(), at.first as usize, 1 << at.log_len));
        coefficients.map(|slice| CircleCoefficients::new(DeviceColumn::on_device(slice))).collect()
    }

    fn eval_at_point(poly: &Coefficients, point: CirclePoint<SecureField>) -> SecureField {
        let point = Point { x: secure(point.x), y: secure(point.y) };
        SecureField::from_device(sample(&poly.coeffs.slice(), point))
    }

    /// The weights are computed on the host if anybody reads them.
    ///
    /// Polynomials that were committed to here have coefficients, and need none.
    fn barycentric_weights(coset: CanonicCoset, p: CirclePoint<SecureField>) -> Col<Self, SecureField> {
        DeviceColumn::later(coset.size(), move || CpuBackend::barycentric_weights(coset, p))
    }

    fn barycentric_eval_at_point(evals: &Evaluation, weights: &Col<Self, SecureField>) -> SecureField {
        let evals = CircleEvaluation::new(evals.domain, evals.values.to_cpu());
        CpuBackend::barycentric_eval_at_point(&evals, &weights.to_cpu())
    }

    fn eval_at_point_by_folding(
        evals: &Evaluation,
        point: CirclePoint<SecureField>,
        twiddles: &TwiddleTree<Self>,
    ) -> SecureField {
        Self::eval_at_point(&Self::interpolate(evals.clone(), twiddles), point)
    }

    fn extend(poly: &Coefficients, log_size: u32) -> Coefficients {
        let slice = poly.coeffs.slice();
        assert!(slice.len <= 1 << log_size, "a polynomial of {} coefficients in 2^{log_size}", slice.len);
        let mut buf = done(queue().zeros(1 << log_size));
        done(queue().copy(slice.view(), done(buf.slice_mut(0..slice.len))));
        CircleCoefficients::new(DeviceColumn::on_device(Slice::all(DeviceArena::new(buf, ArenaContents::Other))))
    }

    fn evaluate(poly: &Coefficients, domain: CircleDomain, twiddles: &TwiddleTree<Self>) -> Evaluation {
        let log_size = twiddles.twiddles.log_domain(domain);
        let log_blowup = log_size.checked_sub(poly.log_size());
        let Some(log_blowup) = log_blowup.filter(|_| is_canonic(domain)) else {
            panic!(
                "trefoil: polynomials are evaluated on canonic domains at least as large as they are, not on {domain:?}"
            );
        };
        let values = evaluate_all(&[poly], log_blowup, &twiddles.twiddles).swap_remove(0);
        CircleEvaluation::new(domain, DeviceColumn::on_device(values))
    }

    fn evaluate_into(
        poly: &Coefficients,
        domain: CircleDomain,
        twiddles: &TwiddleTree<Self>,
        _buffer: Col<Self, BaseField>,
    ) -> Evaluation {
        Self::evaluate(poly, domain, twiddles)
    }

    /// Coefficients are kept in any case: values outside the domain are cheapest from them.
    fn evaluate_polynomials(
        polynomials: Vec<Coefficients>,
        log_blowup_factor: u32,
        twiddles: &TwiddleTree<Self>,
        _store_polynomials_coefficients: bool,
        pool: &BaseColumnPool<Self>,
    ) -> Vec<Poly<Self>> {
        // Slices returned to a pool belong to an earlier proof's values, which the pool would only keep from
        // being freed.
        for polynomial in &polynomials {
            drop(pool.take_or_alloc(polynomial.log_size() + log_blowup_factor));
        }
        let values = evaluate_all(&polynomials.iter().collect::<Vec<_>>(), log_blowup_factor, &twiddles.twiddles);
        let polys = polynomials.into_iter().zip(values).map(|(coefficients, values)| {
            let domain = CanonicCoset::new(coefficients.log_size() + log_blowup_factor).circle_domain();
            Poly::new(Some(coefficients), CircleEvaluation::new(domain, DeviceColumn::on_device(values)))
        });
        polys.collect()
    }

    fn precompute_twiddles(coset: Coset) -> TwiddleTree<Self> {
        twiddles(coset)
    }

    fn split_at_mid(poly: Coefficients) -> (Coefficients, Coefficients) {
        let (left, right) = poly.coeffs.split_at_mid();
        (CircleCoefficients::new(left), CircleCoefficients::new(right))
    }
}
