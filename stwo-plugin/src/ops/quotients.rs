//! DEEP quotients.

use std::sync::Arc;

use backend_api::{
    Buffer as _, Queue,
    ops::{
        air::{AirOps as _, SecureAddLifted},
        circle::{CircleInterpolatePart, CircleOps as _},
        deep::{DeepNumerators, DeepOps as _, DeepQuotients},
    },
};
use core_types::{
    field::{M31, QM31},
    params::{
        air::SecureAddLiftedParams,
        circle::CirclePartParams,
        columns::ColumnAt,
        deep::{DeepBatch, DeepNumeratorsParams, DeepQuotientsParams, DeepTerm},
    },
};
use runtime::AnyBuf;
use stark_fft::CanonicDomain;
use stwo::{
    core::{
        fields::{m31::BaseField, qm31::SecureField},
        pcs::quotients::{ColumnSampleBatch, quotient_constants},
        poly::circle::CanonicCoset,
    },
    prover::{
        QuotientOps,
        pcs::quotient_ops::AccumulatedNumerators,
        poly::{
            BitReversedOrder,
            circle::{CircleEvaluation, SecureEvaluation},
            twiddles::TwiddleTree,
        },
    },
};

use super::poly::extend;
use crate::{
    TrefoilBackend,
    device::{done, queue},
    layer::{column, column_of, into_planes},
    memory::{
        arena::{ArenaContents, DeviceArena, Slice},
        folds::Folds,
    },
    value::secure,
};

/// The terms of the columns in one arena.
#[derive(Default)]
struct ArenaTerms {
    columns: Vec<ColumnAt>,
    terms: Vec<DeepTerm>,
    factors: Vec<QM31>,
    /// Numbers of the batches that have terms here.
    numbers: Vec<usize>,
    batches: Vec<DeepBatch>,
}

/// Adds `value` to all values of four planes.
fn add_constant(planes: &mut AnyBuf<M31>, words: core::ops::Range<usize>, value: QM31) {
    let twice: Vec<_> = value.coordinates().into_iter().flat_map(|word| [word; 2]).collect();
    let small = done(queue().upload(&twice));
    let log_large = (words.len() / 4).ilog2();
    done(queue().secure_add_lifted(SecureAddLifted {
        params: &SecureAddLiftedParams { log_small: 1, log_large },
        small: small.view(),
        large: done(planes.slice_mut(words)),
    }));
}

impl QuotientOps for TrefoilBackend {
    /// Computes separate numerators for columns that were committed to in different trees.
    ///
    /// They are added up together with the numerators of other heights.
    fn accumulate_numerators(
        columns: &[&CircleEvaluation<Self, BaseField, BitReversedOrder>],
        sample_batches: &[ColumnSampleBatch],
        accumulated_numerators_vec: &mut Vec<AccumulatedNumerators<Self>>,
        log_blowup_factor: u32,
    ) {
        let q = queue();
        let slices: Vec<_> = columns.iter().map(|column| column.values.slice()).collect();
        let log_size = slices[0].len.ilog2() - log_blowup_factor;
        let lines = quotient_constants(sample_batches).line_coeffs;
        let mut arenas: Vec<_> = slices.iter().map(|slice| &slice.arena).collect();
        arenas.sort_by_key(|arena| Arc::as_ptr(arena));
        arenas.dedup_by(|a, b| Arc::ptr_eq(a, b));
        let mut is_new = vec![true; sample_batches.len()];
        for arena in arenas {
            let part = part(arena, &slices, sample_batches, &lines, log_size);
            let words = 4usize << log_size;
            let mut numerators = done(q.alloc(part.batches.len() * words));
            let factors = done(q.upload(&part.factors));
            done(q.deep_numerators(DeepNumerators {
                params: &DeepNumeratorsParams { log_size },
                columns: &part.columns,
                terms: &part.terms,
                batches: &part.batches,
                values: arena.view(),
                factors: factors.view(),
                numerators: numerators.view_mut(),
            }));
            // The constants of a batch come with its first part.
            let mut slopes = Vec::with_capacity(part.numbers.len());
            for (k, &batch) in part.numbers.iter().enumerate() {
                let is_first = std::mem::take(&mut is_new[batch]);
                let (mut slope, mut constant) = (SecureField::default(), SecureField::default());
                if is_first {
                    for (a, b, _) in &lines[batch] {
                        slope += *a;
                        constant -= *b;
                    }
                    add_constant(&mut numerators, k * words..(k + 1) * words, secure(constant));
                }
                slopes.push(slope);
            }
            let arena = DeviceArena::new(numerators, ArenaContents::Other);
            for ((k, &batch), slope) in part.numbers.iter().enumerate().zip(slopes) {
                accumulated_numerators_vec.push(AccumulatedNumerators {
                    sample_point: sample_batches[batch].point,
                    partial_numerators_acc: column(&Slice::new(arena.clone(), k * words, words)),
                    first_linear_term_acc: slope,
                });
            }
        }
    }

    fn compute_quotients_and_combine(
        accs: Vec<AccumulatedNumerators<Self>>,
        lifting_log_size: u32,
        log_blowup_factor: u32,
        twiddles: &TwiddleTree<Self>,
    ) -> SecureEvaluation<Self, BitReversedOrder> {
        let q = queue();
        let (log_size, log_domain) = (lifting_log_size - log_blowup_factor, lifting_log_size);
        let (mut points, mut lines, mut batches, mut parts) = (vec![], vec![], vec![], vec![]);
        for acc in accs {
            let point = batches.len() as u32;
            points.extend([acc.sample_point.x, acc.sample_point.y].map(secure));
            lines.extend([secure(acc.first_linear_term_acc), QM31::ZERO]);
            let planes = into_planes(acc.partial_numerators_acc);
            batches.push(DeepBatch { first: point, count: 1, point, log_size: (planes.len / 4).ilog2() });
            parts.push(planes);
        }
        let numerators = Slice::in_one_piece(&parts, ArenaContents::Other);
        let (points, lines) = (done(q.upload(&points)), done(q.upload(&lines)));
        let mut quotients = done(q.alloc(4 << log_size));
        done(q.deep_quotients(DeepQuotients {
            params: &DeepQuotientsParams { log_size, log_domain },
            batches: &batches,
            points: points.view(),
            lines: lines.view(),
            numerators: numerators.view(),
            quotients: quotients.view_mut(),
        }));
        done(q.circle_interpolate_part(CircleInterpolatePart {
            params: &CirclePartParams { log_size, log_domain, columns: 4 },
            inverse_twiddles: done(twiddles.itwiddles.factors().inverse(done(CanonicDomain::new(log_domain)))),
            columns: quotients.view_mut(),
        }));
        let mut values = done(q.alloc(4 << log_domain));
        let coefficients = Slice::all(DeviceArena::new(quotients, ArenaContents::Other));
        extend(&coefficients, log_size, log_domain, &twiddles.twiddles, values.view_mut());
        let domain = CanonicCoset::new(lifting_log_size).circle_domain();
        SecureEvaluation::new(domain, column_of(values, Folds::default()))
    }
}

/// The terms of the columns in `arena`.
fn part(
    arena: &Arc<DeviceArena<M31>>,
    slices: &[Slice<M31>],
    sample_batches: &[ColumnSampleBatch],
    lines: &[Vec<(SecureField, SecureField, SecureField)>],
    log_size: u32,
) -> ArenaTerms {
    let mut part = ArenaTerms::default();
    let mut places = vec![None; slices.len()];
    for (slice, place) in slices.iter().zip(&mut places) {
        if Arc::ptr_eq(&slice.arena, arena) {
            *place = Some(part.columns.len() as u32);
            part.columns.push(ColumnAt::new(slice.start as u64, slice.len.ilog2()));
        }
    }
    for (number, (batch, lines)) in sample_batches.iter().zip(lines).enumerate() {
        let first = part.terms.len();
        for (data, (_, _, c)) in batch.cols_vals_randpows.iter().zip(lines) {
            if let Some(column) = places[data.column_index] {
                let value = part.terms.len() as u32;
                part.terms.push(DeepTerm { column, value, power: 0, reserved: 0 });
                part.factors.push(secure(*c));
            }
        }
        let count = (part.terms.len() - first) as u32;
        if count > 0 {
            part.numbers.push(number);
            part.batches.push(DeepBatch { first: first as u32, count, point: 0, log_size });
        }
    }
    part
}
